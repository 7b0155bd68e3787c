"""NumPy's own files, read as streams: ``.npy``, and the members of ``.npz``, compressed or not."""

import io
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy

from biosfa.exceptions import InputError
from biosfa.io.tables._checks import check_real, check_stored, reading, two_dimensions
from biosfa.io.tables._table import Block, Cursor, Table, TableWriter, chosen, split
from biosfa.typing import FloatArray

HEAD_BYTES = 2**16  # NumPy reads no header that is longer than 10,000


class Npy(Table):
    """An array in NumPy's format; rows are read when they are asked for.

    Read, not mapped: pages of a map would count as memory of the process, and a file that is cut short under a map ends
    the process.
    """

    def __init__(self, path: Path, member: str | None = None) -> None:
        self._path = path
        self._member = member
        name = str(path) if member is None else f"{path}::{member}"
        with self._open() as file, reading(f"{name} is not a NumPy array, or is damaged"):
            head = io.BytesIO(file.read(HEAD_BYTES))  # it may claim to be longer
            version = npy.read_magic(head)
            read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
            shape, by_column, self._dtype = read(head)
            self._begin = head.tell()
        check_real(name, self._dtype)
        n_rows, n_columns = two_dimensions(name, shape)
        stored, packed = self._stored()
        check_stored(name, shape, self._dtype.itemsize, stored - self._begin, packed=False)
        if packed is not None:  # what an archive says of its members is a claim as well
            check_stored(name, shape, self._dtype.itemsize, packed, packed=True)
        self._by_column = by_column and n_columns > 1
        super().__init__(name, n_columns, n_rows)

    def blocks(self, cursor: Cursor, size: int, features: list[int], labels: list[int]) -> Iterator[Block]:
        """Rows read one block after the other."""
        assert self.n_rows is not None
        n_columns = len(self.columns)
        begin = cursor[0] if cursor else 0
        with self._open() as file:
            while begin < self.n_rows:
                n = min(size, self.n_rows - begin)
                if self._by_column:
                    rows = np.empty((n_columns, n), self._dtype).T
                    for column in range(n_columns):
                        self._fill(file, column * self.n_rows + begin, rows[:, column], begin, n)
                else:
                    rows = np.empty((n, n_columns), self._dtype)
                    self._fill(file, begin * n_columns, rows.reshape(-1), begin, n)
                yield split(self, rows, features, labels, begin)
                begin += n

    def breaks(self, n_bytes: int, size: int) -> list[Cursor]:
        """Rows; none in an archive, which is read from its beginning on."""
        return super().breaks(n_bytes, size) if self._member is None else []

    def _fill(self, file: IO[bytes], element: int, into: np.ndarray[Any, Any], row: int, n: int) -> None:
        """Read values from an element of the array on, of n rows from ``row`` on."""
        wanted, filled = memoryview(into.data.cast("B")), 0
        with reading(f"{self.name}, row {row}: it cannot be read"):
            file.seek(self._begin + element * self._dtype.itemsize)
            # in turns, since systems read at most 2 GB at once
            while n_bytes := file.readinto(wanted[filled:]):  # type: ignore[attr-defined]
                filled += n_bytes
        if filled < into.nbytes:
            raise InputError(
                f"{self.name} is truncated: it should have {self.n_rows} rows, and ends before row {row + n}"
            )

    def _open(self) -> IO[bytes]:
        if self._member is None:
            return open(self._path, "rb", buffering=0)
        with _archive(self._path) as archive:
            return archive.open(f"{self._member}.npy")

    def _stored(self) -> tuple[int, int | None]:
        """Bytes of the file; of a member: its bytes, and those that it has in the archive."""
        n_bytes = self._path.stat().st_size
        if self._member is None:
            return n_bytes, None
        with _archive(self._path) as archive:
            member = archive.getinfo(f"{self._member}.npy")
            return member.file_size, min(member.compress_size, n_bytes)


@contextmanager
def _archive(path: Path) -> Iterator[zipfile.ZipFile]:
    with reading(f"{path} is not an .npz file, or is damaged"), zipfile.ZipFile(path) as archive:
        yield archive


def members(path: Path) -> list[str]:
    """Names of the arrays in an ``.npz`` file."""
    with _archive(path) as archive:
        return [name.removesuffix(".npy") for name in archive.namelist() if name.endswith(".npy")]


class NpyWriter(TableWriter):
    """Writes the header first, and again when the number of rows is known; NumPy leaves room for that."""

    def __init__(self, path: Path, columns: list[str]) -> None:
        self._file = open(path, "wb")  # noqa: SIM115 (it is closed by close)
        self._n_columns = len(columns)
        self._n_rows = 0
        self._dtype: np.dtype[Any] = np.dtype(np.float64)
        self._header()

    def write(self, rows: FloatArray) -> None:
        """Append rows."""
        if self._n_rows == 0:
            self._dtype = rows.dtype
        self._file.write(np.ascontiguousarray(rows, dtype=self._dtype).data)
        self._n_rows += len(rows)

    def close(self) -> None:
        """Write the header again."""
        with self._file:
            self._file.seek(0)
            self._header()

    def _header(self) -> None:
        header = {
            "descr": npy.dtype_to_descr(self._dtype),
            "fortran_order": False,
            "shape": (self._n_rows, self._n_columns),
        }
        npy.write_array_header_1_0(self._file, header)


class NpzWriter(TableWriter):
    """One member, ``features``: written beside as ``.npy``, then packed."""

    def __init__(self, path: Path, columns: list[str]) -> None:
        self._path = path
        self._beside = path.with_name(path.name + ".npy")
        self._beside.touch(path.stat().st_mode & 0o777)  # nobody else may read it, if that holds for the file
        self._writer = NpyWriter(self._beside, columns)

    def write(self, rows: FloatArray) -> None:
        """Append rows."""
        self._writer.write(rows)

    def close(self) -> None:
        """Pack what was written."""
        try:
            self._writer.close()
            with zipfile.ZipFile(self._path, "w", allowZip64=True) as archive:
                archive.write(self._beside, "features.npy")
        finally:
            self._beside.unlink(missing_ok=True)


def open_npy(path: Path, part: str | None) -> Npy:
    """The array of a file that holds one."""
    return Npy(path)


def open_npz(path: Path, part: str | None) -> Npy:
    """One of the arrays of a file."""
    return Npy(path, chosen(path, part, members(path)))
