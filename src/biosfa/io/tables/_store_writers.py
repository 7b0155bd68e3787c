"""Writers of HDF5 and Zarr."""

import io
import json
import re
from abc import abstractmethod
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from biosfa.exceptions import OutputError
from biosfa.extras import imported
from biosfa.io.tables._stores import COLUMNS
from biosfa.io.tables._table import TableWriter
from biosfa.typing import FloatArray

DATASET = "features"  # what is written is called so
ROWS = 4096  # of a chunk in the file
PARTS_OF_AN_ARRAY = re.compile(r"zarr\.json|c|\.zarray|\.zattrs|\d+(\.\d+)*")  # names in the folder of a Zarr array


class StoreWriter(TableWriter):
    """Writes an array that grows, in a thread of its own.

    Python runs signal handlers in the main thread, where they could raise an exception within a call of these
    libraries. HDF5 could then crash, and Zarr would continue to write files that are about to be removed.
    """

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1)

    def write(self, rows: FloatArray) -> None:
        """Append rows."""
        self._do(self._append, rows)

    def close(self) -> None:
        """Finish the array, after whatever is still being written."""
        with self._thread:
            self._do(self._finish)

    def _do(self, work: Callable[..., None], *arguments: Any) -> None:
        self._thread.submit(work, *arguments).result()

    @abstractmethod
    def _append(self, rows: FloatArray) -> None:
        """Append rows."""

    @abstractmethod
    def _finish(self) -> None:
        """Finish the array."""


class Hdf5Writer(StoreWriter):
    """Writes one dataset of an HDF5 file."""

    def __init__(self, path: Path, columns: list[str]) -> None:
        super().__init__()
        h5py = imported("h5py", "hdf5")
        self._raw = ForgivingFile(path, "w+")
        self._file = h5py.File(self._raw, "w")
        self._columns = columns
        self._data: Any = None

    def _append(self, rows: FloatArray) -> None:
        if self._data is None:
            self._create(rows.dtype)
        n = len(self._data)
        self._data.resize(n + len(rows), axis=0)
        self._data[n:] = rows
        self._raw.check()

    def _create(self, dtype: Any) -> None:
        width = len(self._columns)
        self._data = self._file.create_dataset(
            DATASET, (0, width), dtype=dtype, maxshape=(None, width), chunks=(ROWS, width)
        )
        self._data.attrs[COLUMNS] = self._columns

    def _finish(self) -> None:
        if self._data is None:
            self._create(float)
        self._file.close()
        self._raw.close()
        self._raw.check()


class ForgivingFile(io.FileIO):
    """A file that stores the first write error instead of raising it, and from then on ignores all writes.

    After a write error, for example on a full disk, HDF5 could not close the file and would crash at the end of the
    process.
    """

    _error: OSError | None = None

    def check(self) -> None:
        """Raise the stored error, if there is one."""
        if self._error is not None:
            raise self._error

    def write(self, data: Any) -> int:
        """Write all of it, unless there was an error."""
        left = memoryview(data).cast("B")
        size = len(left)
        try:
            while self._error is None and len(left):
                left = left[super().write(left) :]
        except OSError as error:
            self._error = error
        return size

    def truncate(self, size: int | None = None) -> int:
        """Change the size, unless there was an error."""
        try:
            if self._error is None:
                return super().truncate(size)
        except OSError as error:
            self._error = error
        return size or 0


class ZarrWriter(StoreWriter):
    """Writes one array of a Zarr store, one chunk at a time.

    If several chunks are written at once and one fails, Zarr keeps writing the others in the background.
    """

    def __init__(self, path: Path, columns: list[str]) -> None:
        super().__init__()
        self._zarr = imported("zarr", "zarr")
        self._path = path
        self._columns = columns
        self._data: Any = None
        self._rest: list[FloatArray] = []  # less than a chunk in all

    def _append(self, rows: FloatArray) -> None:
        if self._data is None:
            self._create(rows.dtype)
        self._rest.append(rows)
        if sum(map(len, self._rest)) < ROWS:
            return
        waiting = np.concatenate(self._rest)
        whole = len(waiting) - len(waiting) % ROWS
        self._rest = [waiting[whole:].copy()]
        written = self._data.shape[0]
        self._data.resize((written + whole, len(self._columns)))
        for begin in range(0, whole, ROWS):
            self._data[written + begin : written + begin + ROWS] = waiting[begin : begin + ROWS]

    def _create(self, dtype: Any) -> None:
        width = len(self._columns)
        self._data = self._zarr.create_array(
            self._path,
            shape=(0, width),
            chunks=(ROWS, width),
            dtype=dtype,
            attributes={COLUMNS: self._columns},
            config={"write_empty_chunks": True},  # a chunk that is not there looks like one that was lost
        )

    def _finish(self) -> None:
        if self._data is None:
            self._create("float64")
        if self._rest:
            self._data.append(np.concatenate(self._rest))


def check_array(folder: Path) -> None:
    """Raise OutputError if a folder is not a Zarr array: only a Zarr array may be replaced."""
    try:
        described = json.loads((folder / "zarr.json").read_bytes())
        is_array = isinstance(described, dict) and described.get("node_type") == "array"
    except FileNotFoundError:
        is_array = (folder / ".zarray").is_file()
    except ValueError:
        is_array = False
    others = [file.name for file in folder.iterdir() if not PARTS_OF_AN_ARRAY.fullmatch(file.name)]
    if not is_array or others:
        what = f"holds {others[0]!r}" if is_array else "is not a Zarr array"
        raise OutputError(f"{folder} is a folder that {what}: choose another name with --out")
