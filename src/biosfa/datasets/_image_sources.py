"""Sources of images: made from a seed, photographs of scikit-image, or a folder of the user. Nothing is downloaded."""

import os
from pathlib import Path
from typing import Any

import numpy as np
from scipy.ndimage import gaussian_filter

from biosfa.extras import imported
from biosfa.kernels.jit import jit
from biosfa.typing import Float64Array

# Dead leaves are discs that hide each other. The density of their radii is ∝ r⁻³ between these limits, in pixels, and
# the image is slightly blurred. Its spectrum, edges and occlusions are similar to those of photographs.
SMALLEST_RADIUS, LARGEST_RADIUS = 1.5, 200.0
BLUR = 0.6

N_IMAGES, SIDE = 13, 512  # the number of images of the paper; pixels per side

# The photographs in scikit-image's wheel that are in the public domain or CC0.
PHOTOGRAPHS = ("astronaut", "camera", "chelsea", "coffee", "rocket", "brick", "grass", "gravel")

SUFFIXES = (".png", ".jpg", ".jpeg", ".tif", ".tiff")

LUMINANCE = np.array([0.299, 0.587, 0.114])  # ITU-R BT.601, as in most image readers


def dead_leaves(n_images: int = N_IMAGES, side: int = SIDE, *, random_state: int = 0) -> list[Float64Array]:
    """Make images of discs of all sizes that hide each other, in shades of gray from 0 to 1.

    Parameters
    ----------
    n_images : int, default=13
        Number of images.
    side : int, default=512
        Side of an image in pixels.
    random_state : int, default=0
        Seed of the images.

    Returns
    -------
    list of arrays of shape (side, side)

    Examples
    --------
    >>> from biosfa.datasets import dead_leaves
    >>> images = dead_leaves(2, side=64)
    >>> images[0].shape
    (64, 64)
    """
    seeds = np.random.SeedSequence(random_state).generate_state(n_images)
    return [gaussian_filter(_leaves(side, int(seed)), BLUR) for seed in seeds]


@jit
def _leaves(side: int, seed: int) -> Float64Array:
    """Draw discs from the front to the back, until they cover the image."""
    np.random.seed(seed)  # the generator of compiled code, not NumPy's global one  # noqa: NPY002
    image = np.full((side, side), -1.0)
    left = side * side
    margin = LARGEST_RADIUS
    while left > 0:
        # if the density of r is ∝ r⁻³, then r⁻² is uniform
        u = np.random.random()  # noqa: NPY002
        radius = (SMALLEST_RADIUS**-2 - u * (SMALLEST_RADIUS**-2 - LARGEST_RADIUS**-2)) ** -0.5
        x = np.random.random() * (side + 2.0 * margin) - margin  # noqa: NPY002
        y = np.random.random() * (side + 2.0 * margin) - margin  # noqa: NPY002
        shade = np.random.random()  # noqa: NPY002
        for i in range(max(0, int(np.ceil(y - radius))), min(side, int(y + radius) + 1)):
            for j in range(max(0, int(np.ceil(x - radius))), min(side, int(x + radius) + 1)):
                if image[i, j] < 0.0 and (i - y) ** 2 + (j - x) ** 2 <= radius**2:
                    image[i, j] = shade
                    left -= 1
    return image


def pink_noise(n_images: int = N_IMAGES, side: int = SIDE, *, random_state: int = 0) -> list[Float64Array]:
    """Make images of noise with the amplitude spectrum of photographs, 1/frequency, and random phases.

    Parameters
    ----------
    n_images : int, default=13
        Number of images.
    side : int, default=512
        Side of an image in pixels.
    random_state : int, default=0
        Seed of the images.

    Returns
    -------
    list of arrays of shape (side, side)
        Values are from 0 to 1.

    Examples
    --------
    >>> from biosfa.datasets import pink_noise
    >>> images = pink_noise(2, side=64)
    >>> float(images[0].min()), float(images[0].max())
    (0.0, 1.0)
    """
    rng = np.random.default_rng(random_state)
    frequency = np.hypot(np.fft.fftfreq(side)[:, None], np.fft.rfftfreq(side))
    frequency[0, 0] = np.inf
    images = []
    for _ in range(n_images):
        phases = np.fft.rfft2(rng.standard_normal((side, side)))
        image = np.fft.irfft2(phases / np.abs(phases) / frequency, s=(side, side))
        images.append((image - image.min()) / (image.max() - image.min()))
    return images


def photographs() -> list[Float64Array]:
    """Return the eight photographs of scikit-image that are free of rights, in gray. Needs ``biosfa[images]``."""
    data = imported("skimage.data", "images")
    return [to_gray(getattr(data, name)()) for name in PHOTOGRAPHS]


def read_images(folder: str | os.PathLike[str]) -> dict[str, Float64Array]:
    """Read all PNG, JPEG and TIFF files of a folder, in gray. The keys are the names of the files.

    Raises
    ------
    ValueError
        If the folder has no such file, or if one of them is not an image.
    """
    from PIL import Image, UnidentifiedImageError

    paths = sorted(
        path for path in Path(folder).iterdir() if path.suffix.lower() in SUFFIXES and not path.name.startswith(".")
    )
    if not paths:
        raise ValueError(f"{os.fspath(folder)} has no images: there are no files that end in {', '.join(SUFFIXES)}")
    images = {}
    for path in paths:
        try:
            with Image.open(path) as image:
                plain = image.mode in ("L", "RGB", "RGBA", "I", "I;16", "F")
                images[path.name] = to_gray(np.asarray(image if plain else image.convert("RGB")))
        except (UnidentifiedImageError, OSError, SyntaxError, ValueError) as error:
            reason = "not an image" if isinstance(error, UnidentifiedImageError) else str(error)
            raise ValueError(
                f"{path} cannot be read: {reason}. Remove it from the folder, or choose another folder"
            ) from None
    return images


def to_gray(image: Any) -> Float64Array:
    """Return the luminance of an image. Integers are divided by the largest number of their type."""
    pixels = np.asarray(image)
    gray = pixels.astype(np.float64)
    if pixels.dtype == np.bool_:
        return gray
    if np.issubdtype(pixels.dtype, np.integer):
        gray /= float(np.iinfo(pixels.dtype).max) if pixels.dtype != np.int32 else 65535.0  # 16 bits, as Pillow has it
    if gray.ndim == 3:
        gray = gray[:, :, :3] @ LUMINANCE if gray.shape[2] >= 3 else gray[:, :, 0]
    return gray
