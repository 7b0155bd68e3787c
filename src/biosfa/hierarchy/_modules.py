"""The output of trained layers, computed slice by slice of time, so that it never has to fit into memory."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from biosfa.hierarchy._layers import Layer, Pair
from biosfa.kernels.expansion import quadratic, quadratic_size
from biosfa.typing import Float64Array, FloatArray

CHUNK_BYTES = 2**26  # size of the largest array that is computed for a chunk of frames
CACHED_ROWS = 512  # number of rows whose monomials fit into the cache


class FrameSource(Protocol):
    """Frames, or samples, that are computed for slices of time."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the array of all frames; the first axis is time."""
        ...

    def __getitem__(self, index: slice) -> np.ndarray[Any, Any]: ...


@dataclass(frozen=True)
class Step:
    """A linear map to slow features. They are clipped, so that rare large values do not dominate their squares."""

    mean: Float64Array
    components: Float64Array
    clip: float

    def __call__(self, X: FloatArray) -> FloatArray:
        """Return the features of X, whose last axis has the inputs of a module."""
        Y: FloatArray = X.reshape(-1, X.shape[-1]) @ self.components.T.astype(X.dtype)
        Y -= (self.components @ self.mean).astype(X.dtype)
        np.clip(Y, -self.clip, self.clip, out=Y)
        return Y.reshape(*X.shape[:-1], -1)


@dataclass(frozen=True)
class Pixels:
    """Frames as float32 maps of shape (n, rows, columns, channels), with the mean subtracted, times the scale."""

    frames: FrameSource
    mean: float
    scale: float

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the array of all maps."""
        return self.frames.shape if len(self.frames.shape) == 4 else (*self.frames.shape, 1)

    def __getitem__(self, index: slice) -> FloatArray:
        maps = (np.asarray(self.frames[index], dtype=np.float32) - np.float32(self.mean)) * np.float32(self.scale)
        if not np.isfinite(maps).all():
            bad = int(np.flatnonzero(~np.isfinite(maps).reshape(len(maps), -1).all(axis=1))[0])
            raise ValueError(f"frame {(index.start or 0) + bad} has NaN or infinity: remove or fill such frames first")
        return maps if maps.ndim == 4 else maps[..., None]


@dataclass(frozen=True)
class Fields:
    """Receptive fields of a layer on the maps below, of shape (n, modules, inputs): the input of the linear step."""

    layer: Layer
    maps: FrameSource

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the array of all fields."""
        n, rows, columns, channels = self.maps.shape
        down, across = self.layer.tiles((rows, columns))
        return n, down * across, self.layer.field[0] * self.layer.field[1] * channels

    def __getitem__(self, index: slice) -> FloatArray:
        return self.layer.patches(self.maps[index])


@dataclass(frozen=True)
class Expanded:
    """Monomials of the features of a step, of shape (n, modules, monomials): the input of the quadratic step."""

    step: Step
    fields: FrameSource

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the array of all monomials."""
        n, modules, _ = self.fields.shape
        return n, modules, quadratic_size(len(self.step.components))

    def __getitem__(self, index: slice) -> FloatArray:
        Y = self.step(self.fields[index])
        n, modules, k = Y.shape
        return quadratic(Y.reshape(-1, k)).reshape(n, modules, -1)


@dataclass(frozen=True)
class Maps:
    """Output of a trained layer, of shape (n, rows, columns, features): the input of the next layer."""

    layer: Layer
    linear: Step
    quadratic: Step
    maps: FrameSource

    @property
    def tiles(self) -> Pair:
        """Number of rows and columns of modules."""
        return self.layer.tiles((self.maps.shape[1], self.maps.shape[2]))

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the array of all maps."""
        return (self.maps.shape[0], *self.tiles, len(self.quadratic.components))

    def __getitem__(self, index: slice) -> FloatArray:
        Y = self.linear(Fields(self.layer, self.maps)[index])
        rows = Y.reshape(-1, Y.shape[2])
        features = np.empty((len(rows), self.shape[3]), Y.dtype)
        for begin in range(0, len(rows), CACHED_ROWS):
            block = slice(begin, begin + CACHED_ROWS)
            features[block] = self.quadratic(quadratic(rows[block]))
        return features.reshape(len(Y), *self.tiles, -1)


def numbers_per_frame(source: FrameSource) -> int:
    """Return the size, per frame, of the largest array that is computed for a source."""
    own = int(np.prod(source.shape[1:]))
    if isinstance(source, Maps):
        return max(own, numbers_per_frame(Fields(source.layer, source.maps)))
    if isinstance(source, Fields):
        return max(own, numbers_per_frame(source.maps))
    if isinstance(source, Expanded):
        return max(own, numbers_per_frame(source.fields))
    return own


def chunks(source: FrameSource) -> Iterator[slice]:
    """Yield slices of time, so short that the arrays computed for each stay small."""
    size = max(1, CHUNK_BYTES // (4 * numbers_per_frame(source)))
    for begin in range(0, source.shape[0], size):
        yield slice(begin, min(begin + size, source.shape[0]))


def held(source: FrameSource, budget: float) -> FrameSource:
    """Return the source as an array, computed chunk by chunk, if it fits into ``budget`` bytes; else the source."""
    if 4 * np.prod(source.shape, dtype=float) > budget:
        return source
    whole = np.empty(source.shape, np.float32)
    for chunk in chunks(source):
        whole[chunk] = source[chunk]
    return whole
