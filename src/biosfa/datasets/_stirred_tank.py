"""A simulated plant: a cooled stirred tank with two controllers, in normal operation and with faults."""

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from scipy.signal import lfilter

from biosfa.kernels.jit import jit
from biosfa.typing import Float64Array

Fault = Literal["set_point", "stuck_valve", "lost_controller", "bias", "drift", "noise"]

# Each column with the standard deviation of its sensor, and its standard deviation in normal operation.
COLUMNS = {
    "feed_flow": (0.3, 2.1),
    "feed_temperature": (0.1, 1.0),
    "feed_concentration": (0.002, 0.01),
    "coolant_inlet_temperature": (0.1, 1.0),
    "level": (0.003, 0.005),
    "temperature": (0.1, 0.3),
    "concentration": (0.002, 0.01),
    "jacket_temperature": (0.1, 0.6),
    "coolant_flow": (0.3, 10.0),
    "outlet_flow": (0.3, 2.5),
    "coolant_valve": (0.0002, 0.03),
    "outlet_valve": (0.0001, 0.012),
}

# What disturbs the plant: feed flow (relative), feed temperature (K), feed concentration (relative) and temperature of
# the coolant (K), with their standard deviations and their correlation times in samples.
SPREADS = np.array([0.02, 1.0, 0.01, 1.0])
TIMES = np.array([40.0, 60.0, 50.0, 80.0])

SET_POINT, HIGHER = 320.0, 3.0  # of the temperature, and what a change of the set point adds (K)
WARM_UP = 500  # samples before the first one that is returned


@dataclass(frozen=True)
class StirredTank:
    """Samples of a simulated plant, as made by :func:`stirred_tank`.

    Attributes
    ----------
    samples : array of shape (n_samples, 12)
        What the sensors show, and the signals of the two controllers to their valves. One row per 6 seconds.
    columns : tuple of str
        Names of the columns.
    fault : str or None
        What happens.
    start : int
        Row at which it happens.

    Examples
    --------
    >>> from biosfa.datasets import stirred_tank
    >>> stirred_tank(1000, random_state=0).columns[:3]
    ('feed_flow', 'feed_temperature', 'feed_concentration')
    """

    samples: Float64Array
    columns: tuple[str, ...]
    fault: str | None
    start: int


def stirred_tank(
    n_samples: int,
    *,
    fault: Fault | None = None,
    start: int = 0,
    sensor: str = "jacket_temperature",
    fouling: float = 0.0,
    random_state: int | np.random.Generator | None = None,
) -> StirredTank:
    """Simulate a stirred tank in which a reaction releases heat, with a cooling jacket and two controllers.

    One controller keeps the temperature with the flow of the coolant. The other keeps the level with the outlet. Slow
    disturbances come from the feed and from the coolant.

    Parameters
    ----------
    n_samples : int
        Number of samples.
    fault : str, optional
        What happens. By default the plant operates normally.

        =====================  ======================================================================================
        ``"set_point"``        the set point of the temperature is 3 K higher; this is not a fault
        ``"stuck_valve"``      the valve of the coolant no longer moves, whatever the controller says
        ``"lost_controller"``  the controller of the temperature repeats its last signal
        ``"bias"``             ``sensor`` shows 5 of its usual standard deviations too much
        ``"drift"``            ``sensor`` shows more and more, 10 standard deviations per 1,000 samples
        ``"noise"``            the noise of ``sensor`` is five times as strong
        =====================  ======================================================================================
    start : int, default=0
        Row at which it happens.
    sensor : str, default="jacket_temperature"
        The faulty sensor: a name of a column other than the signals of the controllers.
    fouling : float, default=0.0
        Share of the cooling jacket's heat transfer that deposits take away per 1,000 samples, from the first sample on.
    random_state : int, Generator or None, default=None
        Seed of the disturbances and of the noise.

    Returns
    -------
    StirredTank

    Raises
    ------
    ValueError
        If the fault or the sensor is unknown.

    Examples
    --------
    >>> from biosfa.datasets import stirred_tank
    >>> plant = stirred_tank(1000, fault="set_point", start=500, random_state=0)
    >>> temperature = plant.samples[:, plant.columns.index("temperature")]
    >>> temperature[:500].mean().round(), temperature[600:].mean().round()
    (np.float64(320.0), np.float64(323.0))
    """
    if fault not in (None, *get_args(Fault)):
        raise ValueError(f"fault must be one of {', '.join(get_args(Fault))}; got {fault!r}")
    deviations = np.array([noise for noise, _ in COLUMNS.values()])
    sensors = [name for name in COLUMNS if not name.endswith("_valve")]
    if sensor not in sensors:
        raise ValueError(f"sensor must be one of {', '.join(sensors)}; got {sensor!r}")
    rng = np.random.default_rng(random_state)
    n, begin = n_samples + WARM_UP, start + WARM_UP
    memory = np.exp(-1 / TIMES)
    drawn = rng.standard_normal((n, len(TIMES)))
    disturbances = np.stack([lfilter([np.sqrt(1 - p**2)], [1, -p], drawn[:, i]) for i, p in enumerate(memory)], axis=1)
    error = rng.standard_normal((n, len(COLUMNS))) * deviations
    faulty, usual = list(COLUMNS).index(sensor), COLUMNS[sensor][1]
    if fault == "bias":
        error[begin:, faulty] += 5 * usual
    elif fault == "drift":
        error[begin:, faulty] += 10 * usual * np.arange(n - begin) / 1000
    elif fault == "noise":
        error[begin:, faulty] *= 5
    set_point = np.full(n, SET_POINT)
    if fault == "set_point":
        set_point[begin:] += HIGHER
    transfer = np.maximum(0.0, 1.0 - fouling * np.maximum(0, np.arange(n) - WARM_UP) / 1000)
    stuck, lost = (begin if fault == name else n for name in ("stuck_valve", "lost_controller"))
    samples = _simulate(disturbances * SPREADS, error, set_point, transfer, stuck, lost)[WARM_UP:]
    return StirredTank(samples, tuple(COLUMNS), fault, start)


@jit
def _simulate(
    disturbances: Float64Array,
    error: Float64Array,
    set_point: Float64Array,
    transfer: Float64Array,
    stuck: int,
    lost: int,
) -> Float64Array:
    """Integrate the balances of the tank by Euler's method, with ten steps per sample.

    The tank, its reaction A → B and its jacket have the usual constants of the textbook example (Seborg, Edgar &
    Mellichamp, Process Dynamics and Control), but the reaction releases less heat, and the tank is colder, so that it
    does not run away without a controller. Units: litres, minutes, kelvins; concentrations relative to the feed's.
    """
    steps, dt = 10, 0.01
    samples = np.empty((len(error), 12))
    level, concentration, temperature, jacket = 1.0, 0.91, SET_POINT, 302.1
    coolant_valve, coolant, outlet_valve = 0.5, 0.5, 0.5
    last_heat, last_level = 0.0, 0.0
    for t in range(len(error)):
        feed, feed_temperature = 100.0 * (1.0 + disturbances[t, 0]), 350.0 + disturbances[t, 1]
        feed_concentration, inlet = 1.0 + disturbances[t, 2], 280.0 + disturbances[t, 3]
        samples[t, 0], samples[t, 1], samples[t, 2], samples[t, 3] = feed, feed_temperature, feed_concentration, inlet
        samples[t, 4], samples[t, 5], samples[t, 6], samples[t, 7] = level, temperature, concentration, jacket
        samples[t, 8], samples[t, 9] = 338.0 * coolant, 200.0 * outlet_valve * np.sqrt(max(level, 0.01))
        samples[t, 10], samples[t, 11] = coolant_valve, outlet_valve
        for column in range(12):
            samples[t, column] += error[t, column]
        too_hot, too_full = samples[t, 5] - set_point[t], samples[t, 4] - 1.0
        if t < lost:  # both controllers are PI, with the measured values
            coolant_valve = min(1.0, max(0.0, coolant_valve + 0.03 * (too_hot - last_heat) + 0.0015 * too_hot))
        outlet_valve = min(1.0, max(0.0, outlet_valve + 2.0 * (too_full - last_level) + 0.1 * too_full))
        last_heat, last_level = too_hot, too_full
        cooling = 5e4 / 239.0 * transfer[t]
        for _ in range(steps):
            if t < stuck:
                coolant += dt / 0.02 * (coolant_valve - coolant)
            volume, flow = 100.0 * level, 338.0 * coolant
            reaction = 7.2e10 * np.exp(-8750.0 / temperature) * concentration
            concentration += dt * (feed / volume * (feed_concentration - concentration) - reaction)
            heat = feed / volume * (feed_temperature - temperature) + 2e4 / 239.0 * reaction
            heat, taken = heat + cooling / volume * (jacket - temperature), cooling / 25.0 * (temperature - jacket)
            temperature += dt * heat
            jacket += dt * (flow / 25.0 * (inlet - jacket) + taken)
            level += dt * (feed - 200.0 * outlet_valve * np.sqrt(max(level, 0.01))) / 100.0
    return samples
