"""The room, the views in it, and the stream of views on a walk."""

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from biosfa.datasets.rat._camera import COLUMNS, ROWS, Bytes, render
from biosfa.datasets.rat._motion import Trajectory, Walk
from biosfa.datasets.rat._recorded import resampled
from biosfa.datasets.rat._textures import made_textures, read_textures
from biosfa.typing import Float64Array

HEADINGS = 8  # headings over which firing maps are averaged, as in RatLab
MARGIN = 5.0  # distance from the walls


@dataclass(frozen=True)
class Room:
    """A rectangular room with four walls, a floor, and a far scene that is visible above the walls.

    Attributes
    ----------
    width, depth, height : float, default=60.0, 40.0, 10.0
        Size of the room along x and y, and height of the walls.
    textures : folder or int, default=0
        A folder with the pictures wall0 to wall3, floor, and scene0 to scene3; or the seed of textures that are made.

    Examples
    --------
    >>> from biosfa.datasets.rat import Room
    >>> Room().look([[30.0, 20.0]], [90.0]).shape
    (1, 40, 320, 3)
    """

    width: float = 60.0
    depth: float = 40.0
    height: float = 10.0
    textures: str | os.PathLike[str] | int = 0

    walls: Bytes = field(init=False, repr=False, compare=False)
    floor: Bytes = field(init=False, repr=False, compare=False)
    scenes: Bytes = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        seeded = isinstance(self.textures, int | np.integer)
        found = made_textures(int(self.textures)) if seeded else read_textures(self.textures)  # type: ignore[arg-type]
        for name, kind in (("walls", "wall"), ("scenes", "scene")):
            object.__setattr__(self, name, _stack([found[f"{kind}{i}"] for i in range(4)]))
        object.__setattr__(self, "floor", found["floor"])

    @property
    def size(self) -> tuple[float, float]:
        """Width and depth of the room."""
        return self.width, self.depth

    def look(self, position: ArrayLike, heading: ArrayLike) -> Bytes:
        """Return the views from positions in the room: 320° around the heading, and 40° of elevation.

        Parameters
        ----------
        position : array-like of shape (n, 2)
            x and y.
        heading : array-like of shape (n,)
            Degrees, counted from the x axis towards the y axis.

        Returns
        -------
        array of shape (n, 40, 320, 3)
            Colours as bytes.

        Raises
        ------
        ValueError
            If a position is not inside the room.
        """
        where = np.asarray(position, dtype=np.float64).reshape(-1, 2)
        headings = np.asarray(heading, dtype=np.float64).reshape(-1)
        if len(where) != len(headings):
            raise ValueError(
                f"there are {len(where)} positions but {len(headings)} headings: give one heading per position"
            )
        self.check_inside(where, headings)
        frames = np.empty((len(where), ROWS, COLUMNS, 3), np.uint8)
        x, y = np.ascontiguousarray(where[:, 0]), np.ascontiguousarray(where[:, 1])
        render(x, y, headings % 360.0, self.width, self.depth, self.height, self.walls, self.floor, self.scenes, frames)
        return frames

    def check_inside(self, position: Float64Array, heading: Float64Array) -> None:
        """Raise ValueError if a position is not inside the room; the message has its number."""
        outside = ~np.all((position > 0.0) & (position < np.array(self.size)), axis=1) | ~np.isfinite(heading)
        if outside.any():
            i = int(outside.argmax())
            raise ValueError(
                f"position {i}, {position[i].tolist()} with heading {heading[i]}, is not inside the room of "
                f"{self.width:g} × {self.depth:g}"
            )

    def grid(self, *, step: int = 1, headings: int = HEADINGS, margin: float = MARGIN) -> Trajectory:
        """Return a grid of positions and headings, for firing maps.

        Positions are ``step`` apart, have whole coordinates, and are at least ``margin`` from the walls. Each position
        has evenly spaced headings. Rows are in the order y, x, heading; :meth:`grid_shape` returns how many there are.
        """
        ny, nx, n_headings = self.grid_shape(step=step, headings=headings, margin=margin)
        first = np.ceil(margin)
        y, x, h = np.meshgrid(
            first + step * np.arange(ny),
            first + step * np.arange(nx),
            360.0 / n_headings * np.arange(n_headings),
            indexing="ij",
        )
        return Trajectory(np.stack([x.ravel(), y.ravel()], axis=1), h.ravel())

    def grid_shape(self, *, step: int = 1, headings: int = HEADINGS, margin: float = MARGIN) -> tuple[int, int, int]:
        """Return the numbers of rows (y), columns (x) and headings of the grid."""
        first = np.ceil(margin)
        ny, nx = (int((size - margin - first) // step) + 1 for size in (self.depth, self.width))
        return ny, nx, headings


@dataclass(frozen=True)
class RatStream:
    """The path of a rat and its views, as made by :func:`rat_stream`. Frames are rendered when they are needed.

    Iterate over the stream for chunks of frames. ``stream[i:j]`` returns the frames i to j - 1.

    Attributes
    ----------
    room : Room
        The room.
    path : Trajectory
        Positions and headings of the rat.
    chunk : int, default=500
        Number of frames per chunk when you iterate.

    Examples
    --------
    >>> from biosfa.datasets import rat_stream
    >>> [frames.shape for frames in rat_stream(30, chunk=20)]
    [(20, 40, 320, 3), (10, 40, 320, 3)]
    """

    room: Room
    path: Trajectory
    chunk: int = 500

    def __len__(self) -> int:
        return len(self.path.heading)

    def __getitem__(self, index: int | slice) -> Bytes:
        frames = self.room.look(self.path.position[index], self.path.heading[index])
        return frames if isinstance(index, slice) else frames[0]

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        """Return all frames as one array."""
        return self[:].astype(self[:1].dtype if dtype is None else dtype, copy=False)

    def __iter__(self) -> Iterator[Bytes]:
        for begin in range(0, len(self), self.chunk):
            yield self[begin : begin + self.chunk]

    @property
    def shape(self) -> tuple[int, int, int, int]:
        """Shape of all frames as one array."""
        return (len(self), ROWS, COLUMNS, 3)


def rat_stream(
    n_frames: int = 10_000,
    *,
    walk: Walk | None = None,
    path: tuple[ArrayLike, ArrayLike] | ArrayLike | None = None,
    head: Literal["path", "walk"] = "path",
    textures: str | os.PathLike[str] | int = 0,
    room: Room | None = None,
    chunk: int = 500,
    random_state: int = 0,
) -> RatStream:
    """Simulate a rat that walks through a room, and its views (Sec. 6.3 of the paper).

    Parameters
    ----------
    n_frames : int, default=10,000
        Number of frames. A path without times has its own number.
    walk : Walk, optional
        Constants of the walk; by default those of RatLab.
    path : pair of arrays, or array of shape (n, 3) or (n, 4), optional
        A given path instead of a walk. Headings are in degrees, counted from the x axis towards the y axis.

        - A pair of positions (n, 2) and headings (n,): one frame each. Positions must be inside the room: by default, x
          is between 0 and 60, and y between 0 and 40.
        - A recorded path: rows of time, x, y and, if it was recorded, the heading, in any units of time and length.
          Times must increase. The path is interpolated at ``n_frames`` times that are evenly spaced from the first to
          the last. x and y are each stretched, so that the path reaches the margin of ``walk`` at all four walls, and
          headings are stretched alike.
    head : {"path", "walk"}, default="path"
        Where the head points on a given path. "path": where the path says; if it has no headings, in the direction of
        the movement. "walk": it turns as on the simulated walk of ``walk`` and ``random_state``.
    textures : folder or int, default=0
        Pictures for the walls, or the seed of textures that are made; see :class:`Room`.
    room : Room, optional
        Another room, with its own textures.
    chunk : int, default=500
        Number of frames per chunk when you iterate.
    random_state : int, default=0
        Seed of the walk.

    Returns
    -------
    RatStream

    Raises
    ------
    ValueError
        If the path cannot be used, or the rat cannot walk.

    Examples
    --------
    >>> from biosfa.datasets import rat_stream
    >>> stream = rat_stream(100)
    >>> stream[:10].shape, stream.path.position.shape
    ((10, 40, 320, 3), (100, 2))

    A recorded path, in metres and seconds, which turns the corner after a second:

    >>> recorded = [[0.0, 0.0, 0.0], [1.0, 0.3, 0.0], [2.0, 0.3, 0.2]]
    >>> position, heading = rat_stream(5, path=recorded).path
    >>> position.tolist()
    [[5.0, 5.0], [30.0, 5.0], [55.0, 5.0], [55.0, 20.0], [55.0, 35.0]]
    >>> heading.tolist()
    [0.0, 0.0, 0.0, 90.0, 90.0]
    """
    room, walk = Room(textures=textures) if room is None else room, walk or Walk()
    if head not in ("path", "walk"):
        raise ValueError(f"head must be 'path' or 'walk'; got {head!r}")
    if not isinstance(n_frames, int | np.integer) or n_frames < 1:
        raise ValueError(f"n_frames must be a whole number, at least 1; got {n_frames!r}")
    if path is None:
        return RatStream(room, walk(n_frames, room.size, random_state), chunk)
    given = _trajectory(path, n_frames, walk, room)
    if head == "walk":
        given = given._replace(heading=walk(len(given.heading), room.size, random_state).heading)
    room.check_inside(*given)
    return RatStream(room, given, chunk)


def _trajectory(path: Any, n_frames: int, walk: Walk, room: Room) -> Trajectory:
    """Return a path of the user as positions and headings in the room."""
    if isinstance(path, np.ndarray) or len(path) != 2:
        return resampled(path, n_frames, *walk.bounds(room.size))
    positions: Float64Array = np.asarray(path[0], dtype=np.float64)
    headings: Float64Array = np.asarray(path[1], dtype=np.float64)
    if positions.ndim != 2 or positions.shape[1] != 2 or headings.shape != (len(positions),):
        raise ValueError(
            f"path must have positions of shape (n, 2) and headings of shape (n,); got {positions.shape} and "
            f"{headings.shape}"
        )
    return Trajectory(positions, headings % 360.0)


def _stack(pictures: list[Bytes]) -> Bytes:
    """Return the pictures as one array, each enlarged to the size of the largest."""
    rows, columns = (max(picture.shape[axis] for picture in pictures) for axis in (0, 1))
    return np.stack(
        [
            picture[np.ix_(np.arange(rows) * len(picture) // rows, np.arange(columns) * picture.shape[1] // columns)]
            for picture in pictures
        ]
    )
