"""Renders the view of the simulated rat: a ray caster for a panorama of its room."""

import math
from typing import Any

import numpy as np

from biosfa.kernels.jit import jit
from biosfa.typing import Float64Array

Bytes = np.ndarray[Any, np.dtype[np.uint8]]

# RatLab's camera: eyes at height 3, a field of 320° × 40°. There is one column per degree of azimuth. Rows are evenly
# spaced in the tangent of the elevation.
EYE = 3.0
COLUMNS, ROWS = 320, 40
FIELD = 320
STEEPEST = math.tan(math.radians(20.0))

# The far scene is painted on the sides of a box around the origin, far outside the room.
FAR, FAR_HEIGHT = 300.0, 300.0


@jit
def render(
    x: Float64Array,
    y: Float64Array,
    heading: Float64Array,
    width: float,
    depth: float,
    height: float,
    walls: Bytes,
    floor: Bytes,
    scenes: Bytes,
    frames: Bytes,
) -> None:
    """Fill ``frames`` of shape (n, 40, 320, 3) with the views from (x, y). Each ray takes the nearest texel.

    The sides have numbers: 0 at x = 0, 1 at the largest y, 2 at the largest x, 3 at y = 0. Each texture is stretched
    over its side, from left to right as seen from inside, or over the floor.
    """
    for t in range(len(x)):
        first = int(heading[t] - FIELD / 2)  # truncated towards zero, as RatLab does
        for column in range(COLUMNS):
            azimuth = math.radians(first + column)
            cosine, sine = math.cos(azimuth), math.sin(azimuth)
            wall, u, distance = _side(x[t], y[t], cosine, sine, 0.0, width, 0.0, depth)
            scene, far_u, far = _side(x[t], y[t], cosine, sine, -FAR, FAR, -FAR, FAR)
            for row in range(ROWS):
                slope = STEEPEST * (1.0 - (row + 0.5) / (ROWS / 2))
                level = EYE + distance * slope
                if level < 0.0:
                    ground = -EYE / slope
                    i = _texel((y[t] + ground * sine) / depth, floor.shape[0])
                    j = _texel((x[t] + ground * cosine) / width, floor.shape[1])
                    for c in range(3):
                        frames[t, row, column, c] = floor[i, j, c]
                elif level <= height:
                    i, j = _texel(1.0 - level / height, walls.shape[1]), _texel(u, walls.shape[2])
                    for c in range(3):
                        frames[t, row, column, c] = walls[wall, i, j, c]
                else:
                    i = _texel(1.0 - (EYE + far * slope) / FAR_HEIGHT, scenes.shape[1])
                    j = _texel(far_u, scenes.shape[2])
                    for c in range(3):
                        frames[t, row, column, c] = scenes[scene, i, j, c]


@jit
def _side(
    x: float, y: float, cosine: float, sine: float, left: float, right: float, low: float, high: float
) -> tuple[int, float, float]:
    """Return the side of a box that a level ray hits: its number, the place on it from left to right, the distance."""
    along_x = (right - x) / cosine if cosine > 0.0 else (left - x) / cosine if cosine < 0.0 else np.inf
    along_y = (high - y) / sine if sine > 0.0 else (low - y) / sine if sine < 0.0 else np.inf
    if along_x < along_y:
        share = (y + along_x * sine - low) / (high - low)
        # facing larger x, larger y is on the left
        return (2, 1.0 - share, along_x) if cosine > 0.0 else (0, share, along_x)
    share = (x + along_y * cosine - left) / (right - left)
    return (1, share, along_y) if sine > 0.0 else (3, 1.0 - share, along_y)


@jit
def _texel(share: float, count: int) -> int:
    """Return the number of the texel at a share from 0 to 1 of all."""
    return min(max(int(share * count), 0), count - 1)
