"""Tables on disks that become full, and numbers that are written in pieces of any size."""

import errno
import io

import h5py
import numpy as np
import pytest
import zarr

from biosfa.io.tables import _store_writers, create_table
from biosfa.io.tables._store_writers import ROWS, ForgivingFile

COLUMNS = ["slow0", "slow1", "slow2"]


class FullDisk(io.FileIO):
    """A file on a disk that is full after so many writes."""

    left = 0

    def write(self, data):
        FullDisk.left -= 1
        if FullDisk.left < 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        return super().write(data)


class OnFullDisk(ForgivingFile, FullDisk):
    """The file that HDF5 writes to, there."""


def test_hdf5_survives_a_disk_that_is_full_at_any_moment(tmp_path, monkeypatch):
    rows, path = np.random.default_rng(0).standard_normal((3 * ROWS, 3)), tmp_path / "y.h5"
    monkeypatch.setattr(_store_writers, "ForgivingFile", OnFullDisk)

    def write(writes, content):
        FullDisk.left = writes
        with create_table(str(path), COLUMNS) as table:
            for piece in np.array_split(content, 5):
                table.write(piece)

    write(10**6, rows[:10])
    FullDisk.left = 10**6
    write(10**6, rows)
    needed = 10**6 - FullDisk.left
    assert needed > 5
    for writes in range(needed):
        with pytest.raises(OSError, match=r"No space left on device: .*y.h5"):
            write(writes, rows[::-1])
    with h5py.File(path) as file:
        np.testing.assert_array_equal(file["features"], rows)
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("pieces", [[0, 1, 2], [ROWS], [ROWS - 1, 1, 3 * ROWS + 5, 0, ROWS - 5], [ROWS + 1, ROWS]])
def test_zarr_has_all_rows_however_they_come_and_chunks_of_zeros_too(pieces, tmp_path):
    rows = np.random.default_rng(0).standard_normal((sum(pieces), 3))
    rows[:ROWS] = 0.0
    with create_table(str(tmp_path / "y.zarr"), COLUMNS) as table:
        for piece in np.split(rows, np.cumsum(pieces)[:-1]):
            table.write(piece)
    found = zarr.open(tmp_path / "y.zarr", mode="r")
    np.testing.assert_array_equal(found[:], rows)
    assert found.attrs["columns"] == COLUMNS
    assert sum(path.is_file() for path in (tmp_path / "y.zarr" / "c").rglob("*")) == -(-len(rows) // ROWS)
