"""Labelled arrays as rows and episodes: arrays of xarray and pynapple, frames with times, arrays of other libraries.

None of these libraries is imported: an array is recognised by its attributes.
"""

import math
import sys
from collections.abc import Callable, Hashable
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from biosfa.episodes._frames import repeated_name, unread
from biosfa.episodes._labels import lengths_of
from biosfa.episodes._starts import episode_lengths
from biosfa.episodes._times import JUMP, Times, read_times, steps_of
from biosfa.floats import to_floats
from biosfa.typing import BoolArray
from biosfa.wording import listed

TIME, FEATURE = "time", "feature"  # names of dimensions
KNOWN = ("features", *(f"{name}{s}" for name in ("channel", "neuron", "sensor", "unit", "variable") for s in ("", "s")))
IN_MEMORY = (1, 3, 11)  # devices of DLPack: memory of the machine, which CUDA or ROCm may have allocated


class Rows(NamedTuple):
    """Samples as rows, their episodes, and their times."""

    samples: Any  # an array, a frame, or what it was if it is not labelled
    lengths: ArrayLike | None
    time: ArrayLike | bool | None


class Layout(NamedTuple):
    """How the rows of a labelled array follow one another."""

    samples: Any
    begins: BoolArray | None = None  # which rows begin an episode, apart from gaps in time; None: it has no labels
    times: np.ndarray[Any, Any] | None = None  # of the rows
    words: Any = None  # the same, as messages show them
    sort: str = ""  # what sorts the rows in time
    closed: bool = False  # whether its last row is the last one of an episode
    problem: str = ""  # why its labels do not say what an episode is

    def starts(self) -> BoolArray:
        """Return which rows begin an episode: also those after a gap in time.

        Raises
        ------
        ValueError
            If times are missing, do not increase within an episode, or cannot be read.
        """
        assert self.begins is not None
        if self.problem:
            raise ValueError(f"{self.problem}, or give lengths")
        if self.times is None:
            return self.begins
        times = _as_times(self.times)
        lost = np.flatnonzero(np.isnat(times) if times.dtype.kind in "mM" else ~np.isfinite(times))
        if len(lost):
            raise ValueError(f"X has no time at row {lost[0]}: give each row a time, or leave the row out")
        steps, follows = steps_of(times), ~self.begins
        wrong = np.flatnonzero(follows & ~(steps > 0.0))
        if len(wrong):
            row = int(wrong[0])
            raise ValueError(
                f"time must increase, but row {row} of X has {self.words[row]} after {self.words[row - 1]}: sort the "
                f"rows, as in {self.sort}, or give lengths"
            )
        if not follows.any():
            return self.begins
        starts: BoolArray = self.begins | (steps > JUMP * np.median(steps[follows]))
        return starts


def rows_of(
    X: Any,
    lengths: ArrayLike | None = None,
    episode: ArrayLike | None = None,
    index: ArrayLike | None = None,
    *,
    time: ArrayLike | bool | None = None,
    ordered: bool = True,
) -> Rows:
    """Return X as rows, with the number of rows of each episode.

    The labels of X decide what an episode is, unless ``lengths``, ``episode`` or ``index`` are given. If ``time`` is
    given, no step in time is a gap. ``time=True`` takes the times of X. With ``ordered=False`` the order of the rows
    does not matter, so their times are not read.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from biosfa.episodes import rows_of
    >>> when = pd.to_datetime(["2026-01-05 10:00", "2026-01-05 10:01", "2026-01-05 10:02", "2026-01-05 12:00"])
    >>> rows_of(pd.DataFrame({"flow": [1.0, 2.0, 4.0, 3.0]}, index=when)).lengths.tolist()
    [3, 1]
    """
    if type(X) is np.ndarray:
        return Rows(X, lengths_of(X, lengths, episode, index), time)
    layout = _layout(X)
    if layout.begins is None or not ordered or not (lengths is None and episode is None and index is None):
        sizes = lengths_of(layout.samples, lengths, episode, index)
    else:
        sizes = episode_lengths(layout.begins if time is not None and time is not False else layout.starts())
    return Rows(layout.samples, sizes, layout.times if time is True and layout.times is not None else time)


def chunk_of(
    X: Any, lengths: ArrayLike | None, starts: ArrayLike | None
) -> tuple[Any, ArrayLike | None, ArrayLike | None]:
    """Return a chunk of a stream as rows, with the lengths of its episodes, or with flags where one begins.

    The rows continue the episode before, unless X says that it has whole episodes.
    """
    if type(X) is np.ndarray:
        return X, lengths, starts
    layout = _layout(X)
    if layout.begins is None or lengths is not None or starts is not None:
        return layout.samples, lengths, starts
    if layout.closed:
        return layout.samples, episode_lengths(layout.starts()), None
    return layout.samples, None, layout.starts() & (np.arange(len(layout.begins)) > 0)


def labelled_like(X: Any, features: Any, names: Callable[[], np.ndarray[Any, Any]]) -> Any:
    """Return one row of features per row of X with the labels of X, if it is an array of xarray or pynapple."""
    if type(X) is np.ndarray:
        return features
    if _is_dataarray(X):
        others, before = _dimensions(X)
        one = X.isel({before: 0}, drop=True).transpose(*others, TIME).drop_vars(FEATURE, errors="ignore")
        found = type(X)(features.reshape(*one.shape, -1), dims=[*one.dims, FEATURE], coords=one.coords)
        in_order = [FEATURE if dimension == before else dimension for dimension in X.dims]
        return found.assign_coords({FEATURE: names().astype(str)}).transpose(*in_order)
    if hasattr(X, "time_support"):
        return type(X)(t=X.t, d=features, time_support=X.time_support, columns=names().tolist())
    return features


def begins_series(index: Any) -> BoolArray:
    """Return which rows begin a series of a panel. The last level of its pandas index is time."""
    begins: BoolArray = np.arange(len(index)) == 0
    if index.nlevels > 1:
        codes = np.stack(index.codes[:-1])  # unlike labels, codes of NaN are equal
        begins[1:] = (codes[:, 1:] != codes[:, :-1]).any(axis=0)
    return begins


def _layout(X: Any) -> Layout:
    """Return how the rows of X follow one another.

    Raises
    ------
    ValueError
        If X has no rows that can be read, or several columns with one name.
    """
    problem = unread(X)
    if problem is not None:
        raise ValueError(problem)
    layout = _layout_of(X)
    repeated = repeated_name(layout.samples)
    if repeated is not None:
        raise ValueError(f"X has several columns named {repeated}: give each column a name of its own")
    return layout


def _layout_of(X: Any) -> Layout:
    if hasattr(X, "data_vars"):
        whole = next((name for name, variable in X.data_vars.items() if variable.ndim > 1), None)
        give = 'X.to_dataarray("feature")' if whole is None else f"X[{whole!r}]"  # whose variables are its channels
        raise ValueError(f"X is a Dataset, but samples must be one array: give {give}")
    if _is_dataarray(X):
        return _of_dataarray(X)
    if hasattr(X, "dims"):
        raise ValueError(f"X is a {type(X).__name__}: give a DataArray")
    if hasattr(X, "__dask_graph__"):
        return _of_dask(X)
    if hasattr(X, "time_support"):
        return _of_pynapple(X)
    if hasattr(X, "iloc"):
        return _of_pandas(X)
    if hasattr(X, "get_columns"):
        return _of_polars(X)
    if isinstance(X, np.ma.MaskedArray):
        return Layout(to_floats(X))
    return Layout(_in_memory(X) if hasattr(X, "__dlpack_device__") and not isinstance(X, np.ndarray) else X)


def _is_dataarray(X: Any) -> bool:
    return hasattr(X, "dims") and hasattr(X, "coords")


def _of_dataarray(X: Any) -> Layout:
    """Lay out an array of xarray: every combination of the other dimensions is an episode."""
    others, feature = _dimensions(X)
    cube = X.transpose(*others, TIME, feature).data
    if not hasattr(cube, "__dask_graph__"):
        cube = np.asarray(cube)
    samples, n_times = cube.reshape(math.prod(cube.shape[:-1]), cube.shape[-1]), max(1, cube.shape[-2])
    begins = np.arange(len(samples)) % n_times == 0
    if feature in X.indexes:
        samples = _named(samples, X.indexes[feature])
    if TIME not in X.indexes:
        return Layout(samples, begins, closed=bool(others))
    times = np.tile(X[TIME].to_numpy(), len(begins) // n_times)
    return Layout(samples, begins, times, X.indexes[TIME], 'X.sortby("time")', closed=bool(others))


def _dimensions(X: Any) -> tuple[list[Hashable], Hashable]:
    """Return the dimensions of episodes, and that of features."""
    others = [name for name in X.dims if name != TIME]
    has = f"X has the dimensions {listed(X.dims)}"
    if len(X.dims) < 2:
        raise ValueError(f'X needs dimensions of time and of features: add one, as in X.expand_dims("{FEATURE}")')
    if len(others) == len(X.dims):
        longest = max(others, key=X.sizes.__getitem__)
        raise ValueError(f'{has}, and none is "{TIME}": rename one, as in X.rename({{{longest!r}: "{TIME}"}})')
    known = [FEATURE] if FEATURE in others else [name for name in others if name in KNOWN]
    if len(others) == 1:
        known = others
    if len(known) != 1:
        which = f"each of {listed(known)} may be" if known else "it is not clear which is"
        example = f'X.rename({{{(known or others)[-1]!r}: "{FEATURE}"}})'
        raise ValueError(f"{has}, and {which} that of features: rename it, as in {example}")
    return [name for name in others if name != known[0]], known[0]


def _of_pynapple(X: Any) -> Layout:
    """Lay out an array of pynapple: every interval of its time support is an episode."""
    times = np.asarray(X.t)
    interval = np.searchsorted(np.asarray(X.time_support.start), times, side="right")
    samples = _named(np.asarray(X.values), getattr(X, "columns", ()))
    return Layout(samples, np.diff(interval, prepend=-1) != 0, times, times, "X.sort_index()", closed=True)


def _of_pandas(X: Any) -> Layout:
    """Lay out a frame of pandas: if the last level of its index has times, the other levels are episodes."""
    levels = [X.index.get_level_values(i) for i in range(X.index.nlevels)]
    times, begins = _times_of(levels[-1]), np.arange(len(X)) == 0
    if times is not None:
        return Layout(X, begins_series(X.index), times, levels[-1], "X.sort_index()", closed=len(levels) > 1)
    if levels[-1].inferred_type in ("date", "datetime"):
        return Layout(X, begins, problem="the index of X has dates as objects: convert it by pandas.to_datetime")
    if any(_times_of(level) is not None for level in levels):
        where = "time must be the last level of the index of X"
        return Layout(X, begins, problem=f"{where}: move it there, as in X.swaplevel().sort_index()")
    return Layout(X)


def _times_of(index: Any) -> np.ndarray[Any, Any] | None:
    """Return the times in a pandas index; None if it has no dates, durations or periods."""
    kind = getattr(index.dtype, "kind", "")
    times: np.ndarray[Any, Any] | None = None
    if hasattr(index, "as_unit"):  # dates or durations
        times = index.as_unit("ns").asi8.view(f"{kind}8[ns]")
    elif kind in ("m", "M"):  # the same, backed by Arrow
        times = index.to_numpy(f"{kind}8[ns]")
    elif hasattr(index, "to_timestamp"):  # periods
        times = np.where(index.isna(), np.nan, index.asi8)
    return times


def _of_dask(X: Any) -> Layout:
    """Lay out a Dask collection: a frame with times as one of pandas. Its index is read, and nothing else."""
    empty: Any = getattr(X, "_meta", None)
    if not hasattr(empty, "iloc") or _of_pandas(empty).times is None:
        return Layout(X)
    return _of_pandas(type(empty)(index=X.index.compute()))._replace(samples=X)


def _of_polars(X: Any) -> Layout:
    """Lay out a frame of polars: if exactly one column has dates, it takes the place of an index."""
    dates = [name for name, kind in zip(X.columns, X.dtypes, strict=True) if str(kind).startswith("Date")]
    if len(dates) != 1:
        return Layout(X)
    words = X[dates[0]]
    return Layout(X.drop(dates), np.arange(len(X)) == 0, words.to_numpy(), words, f"X.sort({dates[0]!r})")


def _named(samples: Any, names: Any) -> Any:
    """Return samples as a frame of pandas if their columns have names. Arrays with such names have imported pandas."""
    words = list(names)
    if isinstance(samples, np.ndarray) and samples.ndim == 2 and words and all(isinstance(word, str) for word in words):
        return sys.modules["pandas"].DataFrame(samples, columns=words, copy=False)
    return samples


def _as_times(values: np.ndarray[Any, Any]) -> Times:
    """Return the times of rows; dates of other calendars as durations since the first."""
    if values.dtype.kind == "O":
        with suppress(TypeError, ValueError):
            values = (values - values[0]).astype("timedelta64[ns]")
    return read_times(values)


def _in_memory(X: Any) -> np.ndarray[Any, Any]:
    """Return an array of another library as one of NumPy, without a copy."""
    if X.__dlpack_device__()[0] not in IN_MEMORY:
        raise ValueError("X is on another device than the CPU: move it there first, as in X.cpu()")
    return np.asarray(X) if hasattr(X, "__array__") else np.from_dlpack(X)
