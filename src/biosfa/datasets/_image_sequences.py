"""Makes sequences of windows that move, turn and zoom over natural images, after Berkes & Wiskott (2005)."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from biosfa.datasets._image_sources import dead_leaves, photographs, pink_noise, read_images, to_gray
from biosfa.kernels.jit import jit
from biosfa.typing import Float64Array, FloatArray

# The motion has four coordinates. Each moves between two limits as a sum of n sines of random amplitude and phase, with
# 0, …, n − 1 periods per sequence. Constants of Berkes & Wiskott's program, in pixels, radians and magnifications.
TRANSLATION_SINES, TRANSLATION = 4, 75.0
ROTATION_SINES, ROTATION = 8, 2 * np.pi
ZOOM_SINES, ZOOM_MIN, ZOOM_MAX = 8, 0.3, 2.0
BORDER = 48  # smallest distance of the centre of the motion from the edge, in pixels

# A motion that leaves the image is drawn again. After this many attempts the image counts as too small.
ATTEMPTS = 10_000


@dataclass(frozen=True)
class Motion:
    """The position, angle and zoom of the window in each frame of a sequence."""

    image: int
    x: Float64Array
    y: Float64Array
    angle: Float64Array
    zoom: Float64Array


class ImageSequences:
    """Sequences of frames from a window that moves over images, as made by :func:`image_sequences`.

    Each sequence is an episode. Frames are computed when they are needed. Iterate over this object for chunks of
    frames, and pass each chunk to ``partial_fit`` with ``lengths=sequences.lengths(chunk)``. Every sequence has its own
    seed, so that its frames do not depend on the order in which sequences are read.

    Examples
    --------
    >>> from biosfa import SFA
    >>> from biosfa.datasets import image_sequences, pink_noise
    >>> sequences = image_sequences(4, images=pink_noise(1, side=256), side=8, chunk=2)
    >>> sfa = SFA(3)
    >>> for frames in sequences:
    ...     sfa = sfa.partial_fit(frames, lengths=sequences.lengths(frames))
    >>> sfa.n_samples_seen_
    400
    """

    def __init__(
        self, images: list[FloatArray], n_sequences: int, n_frames: int, side: int, chunk: int, random_state: int
    ) -> None:
        self.images = images
        self.n_sequences = n_sequences
        self.n_frames = n_frames
        self.side = side
        self.chunk = chunk
        self.random_state = random_state

    def __len__(self) -> int:
        return -(-self.n_sequences // self.chunk)

    def __iter__(self) -> Iterator[FloatArray]:
        for begin in range(0, self.n_sequences, self.chunk):
            yield self.frames(begin, min(begin + self.chunk, self.n_sequences))

    @property
    def n_pixels(self) -> int:
        """Number of pixels per frame."""
        return self.side**2

    def lengths(self, frames: FloatArray) -> list[int]:
        """Return the lengths of the episodes in a chunk of frames."""
        return [self.n_frames] * (len(frames) // self.n_frames)

    def frames(self, begin: int = 0, end: int | None = None) -> FloatArray:
        """Return the frames of the sequences ``begin`` to ``end`` - 1, as float32 of shape (frames, side²)."""
        end = self.n_sequences if end is None else end
        frames = np.empty(((end - begin) * self.n_frames, self.n_pixels), np.float32)
        for i in range(begin, end):
            self._draw(i, frames[(i - begin) * self.n_frames : (i - begin + 1) * self.n_frames])
        return frames

    def motion(self, index: int) -> Motion:
        """Return the motion of the window in a sequence."""
        return self._draw(index, np.empty((self.n_frames, self.n_pixels), np.float32))

    def _draw(self, index: int, frames: FloatArray) -> Motion:
        rng = np.random.default_rng([self.random_state, index])
        which = int(rng.integers(len(self.images)))
        image = self.images[which]
        height, width = image.shape
        for _ in range(ATTEMPTS):
            x = rng.uniform(BORDER, width - BORDER) + _driver(
                rng, self.n_frames, TRANSLATION_SINES, -TRANSLATION, TRANSLATION
            )
            y = rng.uniform(BORDER, height - BORDER) + _driver(
                rng, self.n_frames, TRANSLATION_SINES, -TRANSLATION, TRANSLATION
            )
            angle = _driver(rng, self.n_frames, ROTATION_SINES, 0.0, ROTATION)
            zoom = _driver(rng, self.n_frames, ZOOM_SINES, ZOOM_MIN, ZOOM_MAX)
            if _look(image, x, y, angle, zoom, self.side, frames):
                return Motion(which, x, y, angle, zoom)
        raise ValueError(
            f"image {which} has {width} × {height} pixels, which is too small: the moving window always leaves it"
        )


def image_sequences(
    n_sequences: int = 2500,
    *,
    images: str | os.PathLike[str] | Sequence[ArrayLike] = "dead leaves",
    n_frames: int = 100,
    side: int = 16,
    chunk: int = 50,
    random_state: int = 0,
) -> ImageSequences:
    """Make sequences of frames from a square window that moves, turns and zooms over images (Sec. 6.2 of the paper).

    Parameters
    ----------
    n_sequences : int, default=2500
        Number of sequences.
    images : {"dead leaves", "noise", "photographs"}, folder or list of arrays, default="dead leaves"
        The images. "dead leaves" and "noise" are made from the seed; "photographs" come from scikit-image (install
        ``biosfa[images]``). Files and arrays may be in colour; they are converted to gray.
    n_frames : int, default=100
        Number of frames per sequence.
    side : int, default=16
        Side of the window in pixels.
    chunk : int, default=50
        Number of sequences per chunk when you iterate.
    random_state : int, default=0
        Seed of the motion, and of images that are made.

    Returns
    -------
    ImageSequences

    Raises
    ------
    ValueError
        If a file is not an image, or if an image is too small for the motion. The message names the image.

    Examples
    --------
    >>> from biosfa.datasets import image_sequences
    >>> sequences = image_sequences(4, images="noise", chunk=2)
    >>> [frames.shape for frames in sequences]
    [(200, 256), (200, 256)]
    """
    for name, value in (("n_sequences", n_sequences), ("n_frames", n_frames), ("side", side), ("chunk", chunk)):
        if not isinstance(value, int | np.integer) or value < 1:
            raise ValueError(f"{name} must be a whole number, at least 1; got {value!r}")
    named = _find(images, random_state)
    smallest = 2 * BORDER + side
    for name, image in named.items():
        if min(image.shape) < smallest:
            height, width = image.shape
            raise ValueError(
                f"{name} has {width} × {height} pixels, but the moving window needs at least {smallest} × {smallest}"
            )
    float32 = [np.ascontiguousarray(image, dtype=np.float32) for image in named.values()]
    return ImageSequences(float32, n_sequences, n_frames, side, chunk, random_state)


def _find(images: str | os.PathLike[str] | Sequence[ArrayLike], random_state: int) -> dict[str, Float64Array]:
    if isinstance(images, str) and images in ("dead leaves", "noise", "photographs"):
        made = {"dead leaves": dead_leaves, "noise": pink_noise}
        found = made[images](random_state=random_state) if images in made else photographs()
        return {f"{images} {i}": image for i, image in enumerate(found)}
    if isinstance(images, str | os.PathLike):
        if not Path(images).is_dir():
            raise ValueError(
                'images must be "dead leaves", "noise", "photographs", a folder, or arrays; '
                f"got {os.fspath(images)!r}, which is not a folder"
            )
        return {str(Path(images) / name): image for name, image in read_images(images).items()}
    arrays = {f"images[{i}]": to_gray(image) for i, image in enumerate(images)}
    for name, image in arrays.items():
        if image.ndim != 2:
            raise ValueError(
                f"{name} has the shape {image.shape}, but an image has (height, width) or (height, width, colours): "
                "give a list of images"
            )
        if not np.isfinite(image).all():
            raise ValueError(f"{name} has NaN or infinite values")
    if not arrays:
        raise ValueError("images is empty: give at least one image")
    return arrays


def _driver(rng: np.random.Generator, n_frames: int, n_sines: int, low: float, high: float) -> Float64Array:
    """Return x(t) = low + (high − low)[½ + (1/2n) Σ a_k sin(2πkt/T + φ_k)], k = 0, …, n − 1."""
    k = np.arange(n_sines)
    amplitude, phase = rng.random(n_sines), rng.uniform(0, 2 * np.pi, n_sines)
    waves = amplitude * np.sin(2 * np.pi * np.arange(n_frames)[:, None] * k / n_frames + phase)
    moved: Float64Array = low + (high - low) * (0.5 + waves.sum(axis=1) / (2 * n_sines))
    return moved


@jit
def _look(
    image: FloatArray,
    x: Float64Array,
    y: Float64Array,
    angle: Float64Array,
    zoom: Float64Array,
    side: int,
    frames: FloatArray,
) -> bool:
    """Sample frames bilinearly at side × side points over ±side/2 · zoom; return False if a point is off the image."""
    height, width = image.shape
    half = side / 2.0
    step = side / max(1.0, side - 1.0)
    for t in range(len(x)):
        cosine, sine = np.cos(angle[t]) * zoom[t], np.sin(angle[t]) * zoom[t]
        for i in range(side):
            v = i * step - half
            for j in range(side):
                u = j * step - half
                px, py = x[t] + cosine * u - sine * v, y[t] + sine * u + cosine * v
                left, top = int(np.floor(px)), int(np.floor(py))
                if left < 0 or top < 0 or left >= width - 1 or top >= height - 1:
                    return False
                dx, dy = px - left, py - top
                above = (1.0 - dx) * image[top, left] + dx * image[top, left + 1]
                below = (1.0 - dx) * image[top + 1, left] + dx * image[top + 1, left + 1]
                frames[t, i * side + j] = (1.0 - dy) * above + dy * below
    return True
