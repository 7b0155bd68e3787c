"""Tables whose columns have types, as Arrow has them: data frames, and the base of file formats that Arrow reads."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from operator import add
from typing import Any

import numpy as np

from biosfa.exceptions import InputError
from biosfa.floats import check_digits
from biosfa.io.tables._checks import NOT_A_SAMPLE, NOT_SAMPLES
from biosfa.io.tables._table import Array, Block, Cursor, Table, row_cursor
from biosfa.typing import FloatArray
from biosfa.wording import listed, quoted, shortened


def _numbers() -> tuple[Callable[[Any], bool], ...]:
    """Types that can be samples."""
    from pyarrow import types

    return types.is_integer, types.is_floating, types.is_boolean, types.is_decimal, types.is_null


class ArrowTable(Table):
    """A table with columns of certain types; nulls are NaN."""

    def __init__(self, name: str, columns: Sequence[str], types: Sequence[Any], n_rows: int) -> None:
        super().__init__(name, columns, n_rows)
        self._types = list(types)

    def check_types(self, features: list[int], labels: list[int]) -> None:
        """Raise InputError for a column that is to be a sample and holds dates or words, or a label and holds lists."""
        from pyarrow import types

        number_kinds = _numbers()
        wrong = [i for i in features if not any(is_kind(self._types[i]) for is_kind in number_kinds)]
        if len(wrong) == 1:
            raise InputError(f"{self._described(wrong[0])} is not a number; {NOT_A_SAMPLE}")
        if wrong:
            kinds = listed(f"{quoted(self.columns[i])} ({shortened(str(self._types[i]))})" for i in wrong)
            raise InputError(f"{self.name}: these columns are not numbers: {kinds}; {NOT_SAMPLES}")
        for i in labels:
            if types.is_nested(self._types[i]):
                raise InputError(f"{self._described(i)} is neither time nor episodes")

    def _described(self, number: int) -> str:
        """A column and its type, in words."""
        return f"{self.name}, column {quoted(self.columns[number])}: {shortened(str(self._types[number]))}"

    def cells(self, batch: Any, features: list[int], labels: list[int], begin: int) -> tuple[FloatArray, list[Array]]:
        """Samples and labels of some rows; ``begin`` is the number of the first."""
        from pyarrow import types

        single = all(types.is_float32(self._types[i]) for i in features)
        samples = np.empty((batch.num_rows, len(features)), np.float32 if single else np.float64)
        found = dict(zip(batch.schema.names, batch.columns, strict=True))
        for position, i in enumerate(features):
            samples[:, position] = _to_numpy(found[self.columns[i]])

        def exact(position: int) -> Any:
            column = found[self.columns[features[position]]]
            return _to_numpy(column) if types.is_floating(column.type) else column.to_pylist()

        check_digits(samples, exact, lambda row, position: self.place(begin + row, features[position]))
        return samples, [_to_numpy(found[self.columns[i]]) for i in labels]


class Frame(ArrowTable):
    """A data frame of pandas or polars."""

    def __init__(self, frame: Any) -> None:
        import pyarrow as pa

        names = [str(name) for name in frame.columns]
        if hasattr(frame, "iloc"):
            arrays = [_from_pandas(frame.iloc[:, i]) for i in range(len(names))]
        else:
            arrays = frame.to_arrow().columns
        self._table = pa.Table.from_arrays(arrays, names=names)
        super().__init__("the frame", names, self._table.schema.types, self._table.num_rows)

    def blocks(self, cursor: Cursor, size: int, features: list[int], labels: list[int]) -> Iterator[Block]:
        """Slices of the frame."""
        self.check_types(features, labels)
        for begin in range(cursor[0] if cursor else 0, self._table.num_rows, size):
            samples, found = self.cells(self._table.slice(begin, size), features, labels, begin)
            after = (begin + len(samples),)
            yield Block(samples, found, partial(add, begin), after, partial(row_cursor, begin))


def _from_pandas(series: Any) -> Any:
    """Return a column of a frame, as strings if Arrow has no type for it. That is an error only if it is used."""
    import pyarrow as pa

    dense = series.sparse.to_dense() if hasattr(series.dtype, "fill_value") else series
    try:
        return pa.array(dense, from_pandas=True)
    except (pa.ArrowException, TypeError, ValueError):
        return pa.array(dense.astype(str))


def _to_numpy(column: Any) -> Array:
    """A column of a table, or of a batch of rows, which has one chunk only."""
    import pyarrow as pa

    whole = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    array: Array = whole.to_numpy(zero_copy_only=False)
    return array
