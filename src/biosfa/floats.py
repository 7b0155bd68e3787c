"""The door through which numbers become floating-point numbers: what is masked is NaN, and no digits are lost."""

import re
from collections.abc import Callable, Sequence
from numbers import Number
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from biosfa.exceptions import InputError
from biosfa.typing import FloatArray
from biosfa.wording import shortened

LARGEST = 2**53  # of the whole numbers up to which float64 has all
WHOLE = re.compile(r"[-+]?0*(\d+)")

Array = np.ndarray[Any, Any]
Place = Callable[[int, int], str]
"""Says in words where the value in a row and a column comes from."""


def unmasked(values: ArrayLike) -> Array:
    """Return values as an array. Masked values are missing: NaN, NaT among times, or None among words.

    Examples
    --------
    >>> import numpy as np
    >>> from biosfa.floats import unmasked
    >>> unmasked(np.ma.array([1, 2], mask=[False, True]))
    array([ 1., nan])
    """
    if not (isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values)):
        return np.asarray(values)
    given = np.ma.getdata(values)
    missing: Any = None
    if given.dtype.kind in "biuf":
        filled, missing = given.astype(np.result_type(given.dtype, np.float16)), np.nan
    elif given.dtype.kind in "mM":
        filled, missing = given.copy(), np.array("NaT", given.dtype)
    else:
        filled = given.astype(object)
    filled[np.ma.getmask(values)] = missing
    return filled


def to_floats(values: ArrayLike, place: Place | None = None) -> FloatArray:
    """Return values as contiguous float64, or float32 if they are float32, in the byte order of the machine.

    Masked values are NaN.

    Raises
    ------
    InputError
        If a whole number has too many digits. ``place`` says where it is.

    Examples
    --------
    >>> import numpy as np
    >>> from biosfa.floats import to_floats
    >>> to_floats(np.array([[1, 2]]))
    array([[1., 2.]])
    """
    given = np.ma.asarray(values) if isinstance(values, np.ma.MaskedArray) else np.asarray(values)
    dtype = np.float32 if given.dtype.kind == "f" and given.dtype.itemsize == 4 else np.float64
    with np.errstate(over="ignore"):  # a longer float that does not fit is infinite, which is an error of its own
        floats: FloatArray = np.ascontiguousarray(unmasked(given), dtype=dtype)
    mixed = isinstance(values, list | tuple)  # numbers of several kinds, perhaps
    if floats.size and (mixed or given.dtype.kind != "f"):

        def exact(column: int) -> Array:
            return _as_rows(np.array(values, dtype=object) if mixed else np.ma.getdata(given))[:, column]

        check_digits(_as_rows(floats), exact, place or _row_and_column)
    return floats


def check_digits(floats: FloatArray, column: Callable[[int], Sequence[Any] | Array], place: Place) -> None:
    """Raise InputError if whole numbers have lost digits on their way to ``floats``, an array of rows.

    ``column`` returns the values that a column of ``floats`` was made of. It is called for columns with large numbers.
    """
    if not floats.size or (floats.max() < LARGEST and floats.min() > -LARGEST):  # which is quick; False for NaN
        return
    beyond = np.fmax.reduce(floats, axis=0) >= LARGEST
    beyond |= np.fmin.reduce(floats, axis=0) <= -LARGEST
    for i in np.flatnonzero(beyond).tolist():
        exact = column(i)
        if isinstance(exact, np.ndarray) and exact.dtype.kind == "f":
            continue
        for row in np.flatnonzero(np.abs(floats[:, i]) >= LARGEST).tolist():
            if _has_lost_digits(exact[row]):
                number = shortened(_as_text(exact[row]))
                raise InputError(
                    f"{place(row, i)}: {number} would lose digits, as whole numbers beyond 2**53 do: subtract one "
                    "number from the whole column first"
                )


def _has_lost_digits(value: Any) -> bool:
    """Return whether a value has all its digits, as whole numbers, decimals and words have them, and too many."""
    if isinstance(value, str | bytes):
        whole = WHOLE.fullmatch(_as_text(value).strip())
        return whole is not None and (len(whole[1]) > len(str(LARGEST)) or int(whole[1]) > LARGEST)
    is_exact = isinstance(value, Number) and not isinstance(value, float | np.inexact)
    return is_exact and not -LARGEST <= value <= LARGEST


def _as_text(value: Any) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)


def _as_rows(values: Array) -> Array:
    return values.reshape(len(values), -1) if values.ndim else values.reshape(1, 1)


def _row_and_column(row: int, column: int) -> str:
    return f"row {row}, column {column}"
