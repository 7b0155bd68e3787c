"""The walk of the simulated rat: random turns with momentum, away from the walls, as in RatLab."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from biosfa.typing import Float64Array

REDRAWS = 1000  # attempts to find a step that stays off the walls, before the walk gives up


class Trajectory(NamedTuple):
    """The position and heading of the rat at each step.

    Attributes
    ----------
    position : array of shape (n_steps, 2)
        x and y.
    heading : array of shape (n_steps,)
        Direction of the head in degrees, from the x axis towards the y axis.

    Examples
    --------
    >>> from biosfa.datasets.rat import Room
    >>> position, heading = Room().grid(step=10)
    >>> position.shape, heading.shape
    ((192, 2), (192,))
    """

    position: Float64Array
    heading: Float64Array


@dataclass(frozen=True)
class Walk:
    """A random walk. The defaults are those of RatLab (Schönfeld & Wiskott 2013), for a room of 60 × 40.

    A step is ``speed`` · normalise(m v + (1 − m) n), where v is the last step, m the momentum, and n a unit vector in a
    random direction within ``arc`` degrees around v. If the step would end nearer to a wall than ``margin``, v is
    halved and n is drawn again.

    Attributes
    ----------
    speed : float, default=1.0
        Length of a step.
    momentum : float, default=0.55
        Weight of the last step, from 0 to 1.
    arc : float, default=320.0
        Range of random directions around the last step, in degrees.
    margin : float, default=5.0
        Smallest distance from the walls.
    rotation : float or None, default=None
        Degrees (RMS) by which the head turns per step, independently of the walk. None: the head points along the step.

    Examples
    --------
    >>> from biosfa.datasets.rat import Walk
    >>> path = Walk()(100, (60.0, 40.0), random_state=0)
    >>> path.position.shape, path.heading.shape
    ((100, 2), (100,))
    """

    speed: float = 1.0
    momentum: float = 0.55
    arc: float = 320.0
    margin: float = 5.0
    rotation: float | None = None

    def __call__(self, n_steps: int, size: tuple[float, float], random_state: int = 0) -> Trajectory:
        """Walk ``n_steps`` steps in a room of this size.

        Raises
        ------
        ValueError
            If the rat finds no step that stays off the walls.
        """
        rng = np.random.default_rng(random_state)
        low, high = self.bounds(size)
        position = np.empty((n_steps, 2))
        here = rng.uniform(low, high)
        angle = rng.uniform(0, 2 * np.pi)
        v = self.speed * np.array([np.cos(angle), np.sin(angle)])
        directions = np.empty(n_steps)
        for t in range(n_steps):
            v = self._step(v, here, low, high, rng)
            here = here + v
            position[t], directions[t] = here, np.degrees(np.arctan2(v[1], v[0]))
        if self.rotation is not None:
            directions = rng.uniform(0, 360) + np.cumsum(rng.normal(0, self.rotation, n_steps))
        return Trajectory(position, directions % 360.0)

    def bounds(self, size: tuple[float, float]) -> tuple[Float64Array, Float64Array]:
        """Return the least and the greatest position in a room of this size.

        Raises
        ------
        ValueError
            If the margin leaves no room.
        """
        low, high = np.full(2, self.margin), np.array(size) - self.margin
        if not np.all(low < high):
            raise ValueError(
                f"margin={self.margin} leaves no room to walk in {size[0]} × {size[1]}: choose a smaller one"
            )
        return low, high

    def _step(
        self, v: Float64Array, here: Float64Array, low: Float64Array, high: Float64Array, rng: np.random.Generator
    ) -> Float64Array:
        half = np.radians(self.arc) / 2
        for _ in range(REDRAWS):
            angle = np.arctan2(v[1], v[0]) + rng.uniform(-half, half)
            step = self.momentum * v + (1 - self.momentum) * np.array([np.cos(angle), np.sin(angle)])
            step = self.speed * step / np.linalg.norm(step)
            if np.all(here + step >= low) and np.all(here + step <= high):
                return step
            v = v / 2
        raise ValueError(
            f"the rat finds no way off the wall with speed={self.speed}, momentum={self.momentum}, arc={self.arc}: "
            "widen arc, or lower momentum or speed"
        )
