"""Checks of input and parameters, for all estimators: those of scikit-learn, and some for time series."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from biosfa.floats import check_digits, unmasked
from biosfa.kernels.finite import all_finite
from biosfa.typing import Arrays, Float64Array, FloatArray
from biosfa.wording import first_line

FLOATS = (np.dtype(np.float64), np.dtype(np.float32))


def check_samples(
    estimator: BaseEstimator,
    X: ArrayLike,
    *,
    reset: bool,
    min_samples: int = 1,
    n_streams: int | None = None,
    allow_nan: bool = False,
) -> FloatArray:
    """Return X as a finite, C-contiguous float64 or float32 array of shape (n_samples, n_features).

    NaN is an error unless ``allow_nan``. An array that already has this form skips the slower checks of scikit-learn.
    With ``n_streams``, X has the rows of parallel streams: for each step, one row per stream.
    """
    plain = (
        not reset
        and type(X) is np.ndarray
        and X.ndim == 2
        and X.dtype in FLOATS
        and X.flags.c_contiguous
        and X.shape[0] >= min_samples
        and X.shape[1] == getattr(estimator, "n_features_in_", None)
        and not hasattr(estimator, "feature_names_in_")
    )
    if plain:
        checked: FloatArray = X  # type: ignore[assignment]
    else:
        if isinstance(X, str | os.PathLike):
            raise TypeError(
                f"X is the path {os.fspath(X)!r}, not samples: open it with biosfa.io.open_stream, and give the stream "
                "to fit or transform_chunks"
            )
        _refuse_times(X)
        try:
            checked = validate_data(
                estimator,
                X,
                reset=reset,
                dtype=list(FLOATS),
                order="C",
                ensure_all_finite=False,
                ensure_min_samples=min_samples,
            )
        except (TypeError, ValueError):
            _refuse_words(X)
            raise
        if getattr(getattr(X, "dtype", None), "kind", "") != "f":
            check_digits(checked, partial(_column, X), partial(place_of, estimator, n_streams, 0))
    check_finite(estimator, checked, allow_nan=allow_nan, n_streams=n_streams)
    return checked


def check_finite(
    estimator: BaseEstimator,
    samples: FloatArray,
    *,
    allow_nan: bool = False,
    n_streams: int | None = None,
    first_row: int | None = 0,
) -> None:
    """Raise ValueError for infinity, or for NaN unless ``allow_nan``. Rows are counted from ``first_row``, if known."""
    if all_finite(samples.reshape(-1)):
        return
    wrong = np.isinf(samples) if allow_nan else ~np.isfinite(samples)
    if not wrong.any():
        return
    row, column = (int(i) for i in np.argwhere(wrong)[0])
    kind = "NaN" if np.isnan(samples[row, column]) else "infinity"
    place = place_of(estimator, n_streams, first_row, row, column)
    advised = kind == "NaN" and n_streams is None and hasattr(estimator, "missing")
    advice = ', or use missing="break" to skip them' if advised else ""
    raise ValueError(f"Input X contains {kind} at {place}. Remove or fill such samples first{advice}.")


def place_of(estimator: BaseEstimator, n_streams: int | None, first_row: int | None, row: int, column: int) -> str:
    """Return in words where a sample is. Rows are counted from ``first_row``, if known."""
    place = f"row {row} of a chunk" if first_row is None else f"row {row + first_row}"
    if n_streams is not None:
        place = f"step {row // n_streams}, stream {row % n_streams}"
    names = getattr(estimator, "feature_names_in_", None)
    name = "" if names is None else f" ({names[column]!r})"
    return f"{place}, column {column}{name}"


def _column(X: Any, i: int) -> Any:
    """Return a column as it was given."""
    if hasattr(X, "iloc"):
        return X.iloc[:, i].tolist()
    return X.to_series(i).to_list() if hasattr(X, "to_series") else np.asarray(X, dtype=object)[:, i]


def _refuse_times(X: Any) -> None:
    """Raise ValueError if X has columns of dates or durations: a clock would be the slowest feature."""
    kinds: dict[Any, Any] = {}
    if hasattr(X, "schema") and hasattr(X, "columns"):  # polars
        kinds = {name: kind for name, kind in zip(X.columns, X.dtypes, strict=True) if kind.is_temporal()}
    elif hasattr(X, "dtypes") and hasattr(X, "columns"):  # pandas
        kinds = {name: kind for name, kind in zip(X.columns, X.dtypes, strict=True) if kind.kind in "mM"}
    elif getattr(getattr(X, "dtype", None), "kind", "") in "mM" and hasattr(X, "dtype"):
        raise ValueError(f"X holds {X.dtype}, but samples must be numbers: give times as numbers, or leave them out")
    for name, kind in kinds.items():
        to_index = f", or make it the index, as in X.set_index({name!r})" if getattr(kind, "kind", "") == "M" else ""
        raise ValueError(f"column {name!r} of X holds {kind}, but samples must be numbers: leave it out{to_index}")


def _refuse_words(X: Any) -> None:
    """Raise ValueError that names the first column of a frame that does not hold numbers."""
    for name in X.columns if hasattr(X, "dtypes") and hasattr(X, "columns") else ():
        try:
            np.asarray(X[name], dtype=np.float64)
        except (TypeError, ValueError) as error:
            words = f"column {name!r} of X holds {X[name].dtype}, but samples must be numbers: leave it out"
            raise ValueError(f"{words} ({first_line(error)})") from None


def check_choice(name: str, value: object, choices: tuple[object, ...], more: str = "") -> None:
    """Raise ValueError if ``value`` is not one of ``choices``; ``more`` names other values for the message."""
    if not any(value is choice or (isinstance(value, str) and value == choice) for choice in choices):
        listed = ", ".join(map(repr, choices))
        raise ValueError(f"{name} must be one of {listed}{' ' + more if more else ''}; got {value!r}")


def check_count(name: str, value: object) -> int:
    """Return ``value`` as an int; raise ValueError if it is not a whole number of at least 1."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
        raise ValueError(f"{name} must be a whole number of at least 1; got {value!r}")
    return int(value)


def check_positive(name: str, value: object, *, zero: bool = False) -> None:
    """Raise ValueError if ``value`` is not a positive number, or zero if ``zero`` allows that."""
    number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    if not (number and 0.0 <= value < np.inf and (zero or value > 0.0)):  # type: ignore[operator]
        raise ValueError(f"{name} must be a {'number of at least 0' if zero else 'positive number'}; got {value!r}")


def checked_weights(
    name: str, weights: ArrayLike | None, n: int | None, what: str, *, zero: bool = False
) -> Float64Array | None:
    """Return weights as numbers; raise ValueError if there are not n of them, or if they cannot be weights.

    ``zero`` says whether all of them may be zero, as in a chunk of a stream.
    """
    if weights is None:
        return None
    values: np.ndarray[Any, Any] = unmasked(weights).astype(np.float64)
    if values.ndim != 1 or (n is not None and len(values) != n):
        wanted = "" if n is None else f" of length {n}"
        raise ValueError(f"{name} must be a list{wanted}, one number per {what}; got the shape {values.shape}")
    wrong = np.flatnonzero(~(np.isfinite(values) & (values >= 0.0)))
    if len(wrong):
        raise ValueError(f"{name} must be finite and not negative; {what} {wrong[0]} has {values[wrong[0]]:g}")
    if not (zero or values.any()):
        raise ValueError(f"all of {name} are zero: give at least one {what} a positive weight")
    return values


@contextmanager
def unchanged_on_error(estimator: BaseEstimator, *allowed: type[Exception]) -> Iterator[None]:
    """Restore all attributes of an estimator after an error, unless the error is one of ``allowed``."""
    before = dict(estimator.__dict__)
    try:
        yield
    except allowed:
        raise
    except BaseException:
        estimator.__dict__.clear()
        estimator.__dict__.update(before)
        raise


def checked_array(
    name: str, arrays: Arrays, shape: tuple[int, ...], dtype: DTypeLike = np.float64
) -> np.ndarray[Any, Any]:
    """Return an array of a file, contiguous; raise ValueError if it does not have this shape and type."""
    array = arrays[name]
    if array.shape != shape or array.dtype != dtype:
        wanted = f"{np.dtype(dtype)} of shape {shape}"
        raise ValueError(f"{name} is {array.dtype} of shape {array.shape}, but {wanted} is needed")
    return np.ascontiguousarray(array)
