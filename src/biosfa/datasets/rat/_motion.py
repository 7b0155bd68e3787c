"""How the simulated rat walks: random turns with momentum, away from walls, as RatLab's does."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from biosfa.typing import Float64Array

REDRAWS = 1000  # attempts to stay off the walls, before a setting counts as having no way out


class Trajectory(NamedTuple):
    """Where the rat is and where its head points, step by step."""

    position: Float64Array  # (n_steps, 2)
    heading: Float64Array  # (n_steps,), degrees in [0, 360)


@dataclass(frozen=True)
class Walk:
    """Constants of the walk; the defaults are RatLab's (Schönfeld & Wiskott 2013), in units of its room of 60 × 40.

    The step is ``speed`` · normalise(m v + (1 − m) n): v the last step, m the momentum, n a unit vector whose angle is
    drawn evenly from ``arc`` degrees about that of v. Where it would end nearer to a wall than ``margin``, v is halved
    and n is drawn again.
    """

    speed: float = 1.0
    momentum: float = 0.55
    arc: float = 320.0
    margin: float = 5.0
    rotation: float | None = None
    """Degrees, RMS, that the head turns in a step, wherever the rat goes; None: it points along the step."""

    def __call__(self, n_steps: int, size: tuple[float, float], random_state: int = 0) -> Trajectory:
        """Walk in a room of this size.

        Raises
        ------
        ValueError
            If the walls leave no way out.
        """
        rng = np.random.default_rng(random_state)
        low, high = np.full(2, self.margin), np.array(size) - self.margin
        if not np.all(low < high):
            raise ValueError(f"margin={self.margin} leaves no room in {size[0]} × {size[1]}")
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
