"""Files that claim what they do not hold, are damaged, or would block: all are refused in one line."""

import io
import json
import os
import struct
import zipfile

import h5py
import numpy as np
import pytest
import zarr
from numcodecs import Blosc
from numpy.lib import format as npy

from biosfa import AbsentDataWarning, InputError
from biosfa.io import open_stream
from biosfa.io.tables import Sliced, open_table
from biosfa.io.tables._numpy import Npy
from tests.io.conftest import joined

SHAPES = [(2, 10**6), (2, 2**40), (2**40, 2), (10**12,)]


def refused(path, match="", **options):
    with pytest.raises(InputError, match=match) as caught:
        list(open_stream(path, **options))
    assert "\n" not in str(caught.value)


def claimed_array(shape):
    """An array in NumPy's format that claims a shape, and has 16 bytes."""
    file = io.BytesIO()
    npy.write_array_header_1_0(file, {"descr": "<f8", "fortran_order": False, "shape": shape})
    return file.getvalue() + bytes(16)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_a_numpy_file_that_claims_more_than_it_holds(shape, tmp_path):
    (tmp_path / "x.npy").write_bytes(claimed_array(shape))
    refused(tmp_path / "x.npy", r"x\.npy claims the shape .* bytes, and holds 16: it is truncated or damaged")
    for compression in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        with zipfile.ZipFile(tmp_path / "x.npz", "w", compression) as archive:
            archive.writestr("x.npy", claimed_array(shape))
        refused(tmp_path / "x.npz", r"x\.npz::x claims the shape")


def test_an_archive_that_lies_about_its_members(tmp_path):
    path = tmp_path / "x.npz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("x.npy", claimed_array((2, 2**26)))
        archive.filelist[0].file_size = 2**31 - 1  # what its directory says
    refused(path, r"claims the shape \(2, 67108864\)")


@pytest.mark.parametrize("fill", [0.0, np.nan])
@pytest.mark.parametrize("chunks", [(2, 1000), None])
def test_an_hdf5_file_that_claims_more_than_it_holds(fill, chunks, tmp_path):
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file.create_dataset("x", (2, 10**7), chunks=chunks, dtype=float, fillvalue=fill)
    refused(tmp_path / "x.h5", r"x\.h5::x(: 10,000 of 10,000 chunks| claims the shape .* and holds 0)")


@pytest.mark.parametrize("version", [2, 3])
def test_a_zarr_store_that_claims_more_than_it_holds(version, tmp_path):
    path = tmp_path / "x.zarr"
    zarr.create_array(path, data=np.ones((2, 5)), chunks=(2, 5), zarr_format=version, fill_value=np.nan)
    metadata = path / ("zarr.json" if version == 3 else ".zarray")
    content = json.loads(metadata.read_text())
    content["shape"] = [2, 10**7]
    metadata.write_text(json.dumps(content))
    refused(path, r"x\.zarr: 1,999,999 of 2,000,000 chunks are not stored")


def test_there_is_no_name_for_every_column_that_is_claimed():
    class Claim:
        shape = (2, 2**40)
        dtype = np.dtype(float)

    with pytest.raises(InputError, match="has 1,099,511,627,776 columns; at most 4,194,304"):
        Sliced("the claim", Claim())


def test_names_are_compared_a_few_times_each():
    class Name(str):
        n_compared = 0
        __hash__ = str.__hash__

        def __str__(self):
            return self

        def __eq__(self, other):
            Name.n_compared += 1
            return str.__eq__(self, other)

    n_columns = 3000
    table = Sliced("wide", np.zeros((2, n_columns)), [Name(f"column{i}") for i in range(n_columns)])
    stream = open_stream(table)
    assert stream.n_features == n_columns
    assert len(list(stream)) == 1
    assert Name.n_compared <= 10 * n_columns


@pytest.mark.parametrize(
    "header",
    [
        "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3)",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3)}}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (2,²3)}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (-2, 3)}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': None}",
        "{'descr': '|O', 'fortran_order': False, 'shape': (2, 3)}",
        "{'descr': ',,', 'fortran_order': False, 'shape': (2, 3)}",
        "{'descr': [(1, 2, 3)], 'fortran_order': False, 'shape': (2, 3)}",
        "(" * 1000,
        "1" * 5000,
        "",
    ],
)
def test_a_numpy_file_with_a_damaged_header(header, tmp_path):
    head = header.encode()
    content = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head + bytes(48)
    (tmp_path / "x.npy").write_bytes(content)
    refused(tmp_path / "x.npy", r"x\.npy")


def test_a_numpy_file_that_claims_a_long_header(tmp_path):
    asked = []

    class Watched(io.BytesIO):
        def read(self, size=-1):
            asked.append(size)
            return super().read(size)

    class Array(Npy):
        def _open(self):
            return Watched(b"\x93NUMPY\x02\x00" + struct.pack("<I", 2**32 - 1) + bytes(20))

    with pytest.raises(InputError, match="damaged"):
        Array(tmp_path / "x.npy")
    assert max(asked) <= 2**16


def test_names_of_files_and_arrays_do_not_break_the_line(tmp_path):
    np.savez(tmp_path / "two.npz", **{"x\ny": np.zeros((3, 2)), "\x1b[31m": np.zeros((3, 2))})
    refused(tmp_path / "two.npz", r"it has x\\ny, \\x1b\[31m")
    np.savez(tmp_path / "a\nb.npz", **{"x\ny": np.full((3, 2), np.inf)})
    refused(tmp_path / "a\nb.npz", r"a\\nb\.npz::x\\ny, row 0")
    (tmp_path / "a\nb.csv").write_text("a,b\n1,2\n3,4,5\n")
    refused(tmp_path / "a\nb.csv", r"a\\nb\.csv, line 3: 3 columns")
    refused(tmp_path / "c\nd.npz", r"c\\nd\.npz does not exist")
    refused(tmp_path / "c\nd", r"not a format")


def test_long_floats_that_are_too_large_are_infinite(tmp_path):
    np.save(tmp_path / "x.npy", np.array([[1.0], [2.0], [np.longdouble("1e400")]], np.longdouble))
    refused(tmp_path / "x.npy", r"row 2, column 'x0': inf, which is not a finite number")


def test_attributes_and_shapes_of_hdf5_that_are_none(tmp_path):
    path = tmp_path / "x.h5"
    with h5py.File(path, "w") as file:
        file["null"] = h5py.Empty("f8")
        for name, columns in (("number", 7), ("word", "ab"), ("empty", h5py.Empty("f8")), ("bytes", [b"a", b"b"])):
            file[name] = np.ones((3, 2))
            file[name].attrs["columns"] = columns
    refused(f"{path}::null", "x.h5::null holds no data: it has a null dataspace")
    for name in ("number", "word", "empty"):
        assert open_stream(f"{path}::{name}").feature_names == ["x0", "x1"]
    assert open_stream(f"{path}::bytes").feature_names == ["a", "b"]
    for columns in (7, "ab", None, {"a": 1}):
        zarr.create_array(tmp_path / "x.zarr", data=np.ones((3, 2)), attributes={"columns": columns}, overwrite=True)
        assert open_stream(tmp_path / "x.zarr").feature_names == ["x0", "x1"]


def test_a_heap_that_the_hdf5_library_would_never_leave(tmp_path):
    path = tmp_path / "x.h5"
    with h5py.File(path, "w") as file:
        file["x"] = np.ones((3, 2))
        file["x"].attrs["columns"] = ["left", "right"]
    assert open_stream(path).feature_names == ["left", "right"]
    content = bytearray(path.read_bytes())
    heap = content.index(b"GCOL")
    content[heap + 16 : heap + 32] = bytes(16)  # free space of no size
    path.write_bytes(content)
    refused(path, "damaged: a heap in it has no end")


def test_a_name_in_hdf5_that_is_no_text(tmp_path):
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file[b"\xff\xfe"] = np.ones((3, 2))
    refused(tmp_path / "x.h5", "it has none")


@pytest.mark.parametrize("layout", [{}, {"chunks": (5, 3), "compression": "gzip"}], ids=["whole", "chunks"])
def test_an_hdf5_file_with_damaged_bytes(layout, tmp_path):
    """None of its structures, damaged in turn, ends in anything but rows or an error of one line."""
    path = tmp_path / "x.h5"
    with h5py.File(path, "w") as file:
        file.create_dataset("x", data=np.arange(30.0).reshape(10, 3), **layout)
    whole = path.read_bytes()
    said = []
    for place in range(0, min(len(whole), 4096), 23):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 0xFF]) + whole[place + 1 :])
        try:
            list(open_stream(path, missing="break"))
        except InputError as error:
            said.append(str(error))
    assert len(said) > 10
    assert not any("\n" in message for message in said)


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("change", ["chunk of no size", "unknown codec", "no shape", "damaged chunk", "bare chunk"])
def test_a_damaged_zarr_store(change, version, tmp_path):
    path = tmp_path / "x.zarr"
    zarr.create_array(path, data=np.ones((20, 2)), chunks=(5, 2), zarr_format=version)
    metadata = path / ("zarr.json" if version == 3 else ".zarray")
    content = json.loads(metadata.read_text())
    if change == "chunk of no size" and version == 3:
        content["chunk_grid"]["configuration"]["chunk_shape"] = [0, 2]
    elif change == "chunk of no size":
        content["chunks"] = [0, 2]
    elif change == "unknown codec":
        content["codecs" if version == 3 else "filters"] = [{"name": "magic", "id": "magic"}]
    elif change == "no shape":
        del content["shape"]
    metadata.write_text(json.dumps(content))
    if change.endswith("chunk"):
        chunk = path / ("c/1/0" if version == 3 else "1.0")
        chunk.write_bytes(b"" if change == "bare chunk" else b"\xff" + chunk.read_bytes()[1:])
    refused(path, r"x\.zarr")


def test_a_chunk_of_zarr_runs_no_code(tmp_path):
    """A codec of Zarr's second version unpickles what it is given."""
    path = tmp_path / "x.zarr"
    zarr.create_array(path, data=np.ones((4, 2)), chunks=(4, 2), zarr_format=2, compressors=None)
    content = json.loads((path / ".zarray").read_text())
    mark = tmp_path / "ran"
    (path / "0.0").write_bytes(f"cos\nmkdir\n(V{mark}\ntR.".encode())
    for place in ({"filters": [{"id": "pickle"}]}, {"compressor": {"id": "pickle"}}):
        (path / ".zarray").write_text(json.dumps(content | place))
        refused(path, r"x\.zarr")
    assert not mark.exists()


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("n_bytes", [0, 10, 40])
def test_a_chunk_of_blosc_that_is_cut_short(version, n_bytes, tmp_path):
    """Blosc itself would read beyond its end."""
    path = tmp_path / "x.zarr"
    codec = zarr.codecs.BloscCodec(typesize=8, shuffle="shuffle") if version == 3 else Blosc()
    zarr.create_array(path, data=np.ones((20, 2)), chunks=(5, 2), zarr_format=version, compressors=codec)
    assert open_stream(path).n_features == 2
    if version == 3:  # in shards it stands among others
        sharded = tmp_path / "sharded.zarr"
        zarr.create_array(sharded, data=np.ones((20, 2)), chunks=(5, 2), shards=(10, 2), compressors=codec)
        assert len(joined(open_stream(sharded))[0]) == 20
    chunk = path / ("c/1/0" if version == 3 else "1.0")
    chunk.write_bytes(chunk.read_bytes()[:n_bytes])
    refused(path, r"1.0 is truncated or damaged: its size is not the one that it claims")


@pytest.mark.parametrize("version", [2, 3])
def test_chunks_of_zarr_that_are_not_there_are_counted(version, tmp_path):
    X = np.arange(40.0).reshape(20, 2) + 1.0
    lost = tmp_path / "lost.zarr"
    zarr.create_array(lost, data=X, chunks=(5, 2), zarr_format=version)
    chunk = "c/1/0" if version == 3 else "1.0"
    (lost / chunk).unlink()
    (lost / ".stray").write_text("no chunk")
    with pytest.warns(AbsentDataWarning, match=r"lost\.zarr: 1 of 4 chunks are not stored, and are read as 0"):
        open_stream(lost)
    if version == 2:  # which may leave open what is read in place of them
        described = json.loads((lost / ".zarray").read_text()) | {"fill_value": None}
        (lost / ".zarray").write_text(json.dumps(described))
        with pytest.warns(AbsentDataWarning, match=r"1 of 4 chunks are not stored, and are read as 0\.0"):
            found = joined(open_stream(lost))[0]
        assert not found[5:10].any()
    marked = tmp_path / "marked.zarr"
    zarr.create_array(marked, data=X, chunks=(5, 2), zarr_format=version, fill_value=np.nan)
    (marked / chunk).unlink()
    refused(marked, "row 5, column 'x0': nan")
    np.testing.assert_array_equal(joined(open_stream(marked, missing="break"))[0], np.delete(X, range(5, 10), axis=0))


def test_data_of_hdf5_that_are_not_there_are_refused(tmp_path):
    X = np.arange(40.0).reshape(20, 2) + 1.0
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file.create_dataset("part", (20, 2), chunks=(5, 2), dtype=float)[:10] = X[:10]
        file.create_dataset("none", (20, 2), dtype=float)
        file.create_dataset("marked", (20, 2), chunks=(5, 2), dtype=float, fillvalue=np.nan)[:10] = X[:10]
        file.create_dataset("outside", (20, 2), dtype=float, external=[(str(tmp_path / "raw"), 0, 320)])[:] = X
        file.create_dataset("empty", (0, 2), dtype=float, maxshape=(None, 2))
    refused(tmp_path / "x.h5::part", r"2 of 4 chunks are not stored, and would be read as 0\.0")
    refused(tmp_path / "x.h5::none", "claims the shape .* or was never written")
    refused(tmp_path / "x.h5::outside", "keeps its data in other files")
    refused(tmp_path / "x.h5::marked", "row 10, column 'x0': nan")
    np.testing.assert_array_equal(joined(open_stream(f"{tmp_path}/x.h5::marked", missing="break"))[0], X[:10])
    assert list(open_stream(f"{tmp_path}/x.h5::empty")) == []


def test_sources_of_a_virtual_dataset_must_be_there(tmp_path):
    X = np.arange(40.0).reshape(20, 2) + 1.0
    layout, gappy = h5py.VirtualLayout((20, 2), float), h5py.VirtualLayout((20, 2), float)
    for i in range(2):
        with h5py.File(tmp_path / f"part{i}.h5", "w") as file:
            file["x"] = X[10 * i : 10 * i + 10]
        layout[10 * i : 10 * i + 10] = h5py.VirtualSource(f"part{i}.h5", "x", (10, 2))
    gappy[:5] = h5py.VirtualSource("part0.h5", "x", (10, 2))[:5]
    itself = h5py.VirtualLayout((20, 2), float)
    itself[:] = h5py.VirtualSource(".", "itself", (20, 2))
    with h5py.File(tmp_path / "all.h5", "w") as file:
        file.create_virtual_dataset("x", layout)
        file.create_virtual_dataset("gappy", gappy)
        file.create_virtual_dataset("itself", itself)
    np.testing.assert_array_equal(joined(open_stream(f"{tmp_path}/all.h5::x"))[0], X)
    refused(tmp_path / "all.h5::gappy", "virtual dataset, and 30 values of it have no source")
    refused(tmp_path / "all.h5::itself", "virtual dataset within 3 others")
    with h5py.File(tmp_path / "part1.h5", "w") as file:
        file["x"] = X[10:15]
    refused(tmp_path / "all.h5::x", r"source part1\.h5::x is too small")
    (tmp_path / "part1.h5").unlink()
    refused(tmp_path / "all.h5::x", r"source part1\.h5::x is not there")


@pytest.mark.parametrize("name", ["x.csv", "x.npy", "x.h5", "x.parquet", "x.npz"])
def test_a_pipe_among_files_does_not_block(name, tmp_path):
    np.save(tmp_path / "a.npy", np.ones((3, 2)))
    os.mkfifo(tmp_path / name)
    refused(tmp_path, "x.* is not a regular file; biosfa reads pipes as standard input")
    refused(tmp_path / name, "is not a regular file")


def test_a_pipe_in_a_zarr_store_does_not_block(tmp_path):
    path = tmp_path / "x.zarr"
    zarr.create_array(path, data=np.ones((20, 2)), chunks=(5, 2))
    (path / "again").symlink_to(path)  # links that go round are no trouble
    (path / "gone").symlink_to(tmp_path / "nothing")
    assert open_table(path).n_rows == 20
    (path / "c" / "1" / "0").unlink()
    os.mkfifo(path / "c" / "1" / "0")
    refused(path, "0 is not a regular file")


def test_files_are_sorted_by_decimal_numbers_only(tmp_path):
    for i, name in enumerate(["a1²2.npy", "a1²10.npy", "a2.npy", "a10.npy", "b.npy"]):
        np.save(tmp_path / name, np.full((1, 1), float(i)))
    np.testing.assert_array_equal(joined(open_stream(tmp_path))[0][:, 0], np.arange(5))


def test_a_column_is_chosen_once(tmp_path):
    (tmp_path / "x.csv").write_text("a,b\n1,2\n3,4\n")
    for columns in (["a", "a"], ["a", 0], [1, 1]):
        refused(tmp_path / "x.csv", r"columns \(--columns\) has '[ab]' of .*x\.csv more than once", columns=columns)
    with pytest.raises(ValueError, match="at least one column"):
        open_stream(tmp_path / "x.csv", columns=[])
