"""Textures of the walls, the floor and the far scene of the rat's room: made from a seed, or pictures of the user."""

import os
from pathlib import Path
from typing import Any

import numpy as np
from scipy.ndimage import gaussian_filter

from biosfa.datasets._image_sources import SUFFIXES
from biosfa.typing import Float64Array

Texture = np.ndarray[Any, np.dtype[np.uint8]]

SIDE = 256  # texels along a side
NAMES = ("wall0", "wall1", "wall2", "wall3", "floor", "scene0", "scene1", "scene2", "scene3")

# Mean colours of the walls and their contrast, measured on RatLab's textures, so that frames have similar statistics.
WALL_COLORS = ((148, 139, 134), (152, 121, 105), (88, 84, 77), (114, 106, 93))
CONTRAST = 35.0
FLOOR = 123.0
# Far scenes: colours of ground and sky on each side.
SCENES = (
    ((96, 110, 70), (150, 175, 205)),
    ((130, 105, 75), (190, 170, 150)),
    ((70, 85, 95), (120, 140, 175)),
    ((115, 120, 60), (205, 200, 160)),
)


def made_textures(random_state: int = 0) -> dict[str, Texture]:
    """Make textures of shape (256, 256, 3), the top row first: four walls, a floor, and four far scenes.

    Each wall has its own pattern (blotches, bars, discs, slanted waves). It is bright in the middle and dark at the
    edges, which shows where on the wall a patch is. A wall has only one colour: if the colour changed along the wall,
    linear functions of the pixels would reveal much of the position, and the task would be too easy for a hierarchy.
    """
    rng = np.random.default_rng(random_state)
    patterns = (_blotches(rng, 6.0), _bars(rng), _discs(rng), _waves(rng))
    vignette = _vignette()
    textures = {}
    for i, (color, pattern) in enumerate(zip(WALL_COLORS, patterns, strict=True)):
        textures[f"wall{i}"] = _colored(np.array(color), 0.5 * vignette + 0.75 * pattern)
    textures["floor"] = _colored(np.full(3, FLOOR), _blotches(rng, 3.0))
    for i, (ground, sky) in enumerate(SCENES):
        height = np.linspace(1, 0, SIDE)[:, None] + 0.12 * _standard(gaussian_filter(rng.standard_normal(SIDE), 12))
        share = 1 / (1 + np.exp(-(height - 0.3) / 0.02))[:, :, None]  # the horizon is hilly
        base = share * np.array(sky) + (1 - share) * np.array(ground)
        textures[f"scene{i}"] = _bytes(base + 18.0 * _blotches(rng, 8.0)[:, :, None])
    return textures


def read_textures(folder: str | os.PathLike[str]) -> dict[str, Texture]:
    """Read textures from the pictures wall0 to wall3, floor, and scene0 to scene3 in a folder (PNG, JPEG or TIFF).

    Raises
    ------
    ValueError
        If a picture is missing, or is not an image. The message names it.
    """
    from PIL import Image, UnidentifiedImageError

    textures = {}
    for name in NAMES:
        found = [path for path in sorted(Path(folder).glob(f"{name}.*")) if path.suffix.lower() in SUFFIXES]
        if not found:
            raise ValueError(f"{folder} has no picture {name} (.png, .jpg or .tiff); it must have {', '.join(NAMES)}")
        try:
            with Image.open(found[0]) as picture:
                textures[name] = np.asarray(picture.convert("RGB"), dtype=np.uint8)
        except (UnidentifiedImageError, OSError) as error:
            raise ValueError(f"{found[0]} cannot be read as an image: {error}") from None
    return textures


def _vignette() -> Float64Array:
    x = np.linspace(-1, 1, SIDE)
    return _standard(np.cos(0.5 * np.pi * x)[None, :] * np.cos(0.35 * np.pi * x)[:, None])


def _blotches(rng: np.random.Generator, size: float) -> Float64Array:
    return _standard(gaussian_filter(rng.standard_normal((SIDE, SIDE)), size, mode="wrap"))


def _bars(rng: np.random.Generator) -> Float64Array:
    edges = np.sort(rng.choice(np.arange(8, SIDE - 8, 8), 13, replace=False))
    shades = rng.permutation(np.linspace(-1, 1, len(edges) + 1))
    return _standard(np.tile(np.repeat(shades, np.diff(np.r_[0, edges, SIDE])), (SIDE, 1)))


def _discs(rng: np.random.Generator) -> Float64Array:
    y, x = np.mgrid[:SIDE, :SIDE]
    pattern = np.zeros((SIDE, SIDE))
    for _ in range(40):
        x0, y0, radius, shade = rng.uniform(0, SIDE), rng.uniform(0, SIDE), rng.uniform(8, 30), rng.uniform(-1, 1)
        pattern[(x - x0) ** 2 + (y - y0) ** 2 < radius**2] = shade
    return _standard(pattern)


def _waves(rng: np.random.Generator) -> Float64Array:
    y, x = np.mgrid[:SIDE, :SIDE] / SIDE
    bend = 0.06 * _blotches(rng, 20.0)
    return _standard(np.sin(2 * np.pi * (7 * (x + bend) + 4 * y)) + 0.6 * np.sin(2 * np.pi * (3 * x - 5 * (y + bend))))


def _standard(values: Float64Array) -> Float64Array:
    standard: Float64Array = (values - values.mean()) / values.std()
    return standard


def _colored(color: np.ndarray[Any, Any], shade: Float64Array) -> Texture:
    """Return a texture with this mean colour and the contrast of the walls, from shades of any scale."""
    return _bytes(color + CONTRAST * _standard(shade)[:, :, None])


def _bytes(values: Float64Array) -> Texture:
    return np.clip(np.rint(values), 0, 255).astype(np.uint8)
