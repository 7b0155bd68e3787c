"""NumPy's files, Parquet, HDF5 and Zarr, with odd types, shapes, names and attributes."""

import io
import json
import struct
import zipfile

import numpy as np

from tests.fuzzing.damage import ODD, altered

TYPES = ["<f4", ">f8", "<f2", "<i8", "<i4", "|u1", "|b1", "<c16", "<U5", "|S3", "<M8[s]", "<f16"]
DESCRIPTIONS = [
    "'|O'",
    "'<f8'",
    "'<f4'",
    "'V8'",
    "[('a', '<f8')]",
    "'<f0'",
    "'<x8'",
    "5",
    "None",
    "'<U100000'",
    "('<f8', (2, 2))",
]
SHAPES = [(300, 2), (30,), (1, 3), (0, 3), (3, 0), (2, 3, 2), (), (1, 500)]
SIZES = ["0", "1", "2", "30", "-1", "1000000", "1099511627776", "2**40", "True", "1.0", "'x'", "9" * 30]
NAMES = ["a", "b", "", "two\nlines", "\x1b[31m", "a/b", "../x", "é", "x" * 300, "a", "$\\foo$", "a1²2"]


def samples(rng):
    """An array of some shape and type."""
    shape = (30, 3) if rng.random() < 0.7 else rng.choice(SHAPES)
    dtype = "<f8" if rng.random() < 0.6 else rng.choice(TYPES)
    numbers = np.random.default_rng(rng.randrange(2**32)).standard_normal(shape)
    if rng.random() < 0.2 and numbers.size:
        numbers.reshape(-1)[rng.randrange(numbers.size)] = rng.choice([np.nan, np.inf, 1e300, 1e-310])
    with np.errstate(all="ignore"):
        made = numbers.astype(dtype) if dtype not in ("<M8[s]",) else (1e6 * numbers).astype("<i8").astype(dtype)
    return np.asfortranarray(made) if rng.random() < 0.2 else made


def npy_content(rng):
    """The content of an .npy file; often with an odd header."""
    content = io.BytesIO()
    np.save(content, samples(rng))
    if rng.random() < 0.5:
        return content.getvalue()
    shape = ", ".join(rng.choice(SIZES) for _ in range(rng.choice([1, 2, 2, 2, 3])))
    description, order = rng.choice(DESCRIPTIONS), rng.choice(["False", "True", "0", "None"])
    header = f"{{'descr': {description}, 'fortran_order': {order}, 'shape': ({shape},), }}"
    header = rng.choice([header] * 6 + [header[:-5], "{" * 500, "[" * 5000, "{}", header + "x" * 20_000, "\0\0"])
    encoded = (header + "\n").encode()
    version = rng.choice([1, 1, 1, 2, 3, 9])
    size = struct.pack("<H" if version == 1 else "<I", len(encoded) % 65536 if version == 1 else len(encoded))
    return b"\x93NUMPY" + bytes([version, 0]) + size + encoded + rng.randbytes(rng.choice([0, 8, 240, 1000]))


def write_npy(path, rng):
    """An array, or what claims to be one."""
    path.write_bytes(npy_content(rng))


def write_npz(path, rng):
    """An archive of arrays."""
    compression = rng.choice([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_LZMA, zipfile.ZIP_BZIP2])
    with zipfile.ZipFile(path, "w", compression) as archive:
        for _ in range(rng.choice([1, 1, 1, 0, 2])):
            odd = rng.choice(["b.npy", "a", "../a.npy", " ", "x\ny.npy", "é.npy"])
            archive.writestr("a.npy" if rng.random() < 0.8 else odd, npy_content(rng))


def write_parquet(path, rng):
    """A table of Arrow with columns of many types."""
    import pyarrow as pa
    from pyarrow import parquet

    n = rng.choice([0, 1, 30, 30, 300])
    numbers = np.random.default_rng(rng.randrange(2**32)).standard_normal(n)
    makers = [
        lambda: pa.array(numbers),
        lambda: pa.array(numbers),
        lambda: pa.array(numbers, mask=numbers > 1.5),
        lambda: pa.array(numbers.astype("f4")),
        lambda: pa.array((100 * numbers).astype("i8")),
        lambda: pa.array(numbers > 0),
        lambda: pa.array([str(x) for x in numbers]),
        lambda: pa.array([[x] for x in numbers]),
        lambda: pa.array([{"x": x} for x in numbers]),
        lambda: pa.array([None] * n, pa.null()),
        lambda: pa.array([None] * n, pa.float64()),
        lambda: pa.array((1e6 * numbers).astype("i8")).cast(pa.timestamp("s")),
        lambda: pa.array([str(int(x)) for x in numbers]).dictionary_encode(),
        lambda: pa.array((100 * numbers).astype("i4")).cast(pa.decimal128(20, 2)),
        lambda: pa.array([b"x"] * n),
    ]
    plain = rng.random() < 0.4
    columns = [rng.choice(makers[:2] if plain else makers)() for _ in range(rng.choice([1, 2, 3, 3, 0]))]
    names = [rng.choice(NAMES) if rng.random() < 0.2 else f"c{i}" for i in range(len(columns))]
    table = pa.table(columns, names=names) if columns else pa.table({})
    compression = rng.choice(["snappy", "none", "zstd"])
    parquet.write_table(table, path, row_group_size=rng.choice([1000, 10]), compression=compression)


def write_hdf5(path, rng):
    """Datasets of many types, with attributes, links and layouts that are unusual."""
    import h5py

    with h5py.File(path, "w") as file:
        for i in range(rng.choice([1, 1, 1, 2, 0])):
            group = file if rng.random() < 0.7 else file.require_group("inner")
            name = f"d{i}" if rng.random() < 0.8 else rng.choice([word for word in NAMES if word.strip("/")]) + str(i)
            dataset = rng.choice([_dataset, _dataset, _dataset, _odd_dataset])(h5py, group, name, rng)
            if dataset is not None and rng.random() < 0.4:
                dataset.attrs["columns"] = _columns(rng)
        if rng.random() < 0.1:
            file["link"] = rng.choice([h5py.SoftLink("/link"), h5py.SoftLink("/nowhere"), h5py.ExternalLink("x", "y")])


def _dataset(h5py, group, name, rng):
    array = samples(rng)
    if array.dtype.kind in "UM":
        array = array.astype("S5" if array.dtype.kind == "U" else "<i8")
    chunked = {"chunks": True, "compression": rng.choice(["gzip", None])} if array.ndim and array.size else {}
    return group.create_dataset(name, data=array, **(chunked if rng.random() < 0.5 else {}))


def _odd_dataset(h5py, group, name, rng):
    way = rng.randrange(5)
    if way == 0:
        return group.create_dataset(name, data=h5py.Empty("f8"))
    if way == 1:  # hardly anything of it is stored
        shape = rng.choice([(10**9, 3), (3, 10**7), (10**12, 2), (2**40,), (2, 2**31)])
        return group.create_dataset(name, shape=shape, chunks=(1, 1) if len(shape) == 2 else (1,), dtype="f8")
    if way == 2:
        layout = h5py.VirtualLayout(shape=(10, 3), dtype="f8")
        layout[:] = h5py.VirtualSource(rng.choice(["nowhere.h5", "."]), "data", shape=(10, 3))
        return group.create_virtual_dataset(name, layout)
    if way == 3:
        return group.create_dataset(name, data=np.zeros(5, [("a", "f8"), ("b", "i4")]))
    return group.create_dataset(name, data=["text", "more"], dtype=h5py.string_dtype())


def _columns(rng):
    """What an attribute with names of columns may be."""
    return rng.choice([["a", "b", "c"], ["a", "a", "b"], 5, 0.5, "abc", [1, 2, 3], [], np.zeros((2, 2)), True, b"\xff"])


def write_zarr(path, rng):
    """An array, or a group of some, with odd attributes and metadata."""
    import zarr

    array = samples(rng)
    if array.dtype.kind in "SUM" or array.dtype.itemsize > 16 or array.dtype == np.longdouble:
        array = np.zeros((30, 3))
    chunks = tuple(max(1, size // 2) for size in array.shape)
    version = rng.choice([2, 3])
    if rng.random() < 0.7:
        made = zarr.create_array(path, shape=array.shape, chunks=chunks, dtype=array.dtype, zarr_format=version)
    else:
        group = zarr.open_group(path, mode="w", zarr_format=version)
        made = group.create_array("inner", shape=array.shape, chunks=chunks, dtype=array.dtype)
    if array.size:
        made[...] = array
    if rng.random() < 0.3:
        made.attrs["columns"] = rng.choice([["a", "b", "c"], ["a", "a", "b"], 5, "abc", [1, 2, 3], [], {}, None])
    if rng.random() < 0.5:
        for _ in range(rng.choice([1, 1, 2])):
            described = sorted([*path.rglob("zarr.json"), *path.rglob(".z*")])
            file = rng.choice(described)
            file.write_text(json.dumps(altered(json.loads(file.read_text()), rng) if rng.random() < 0.9 else ODD[-1]))


def read_npy(path):
    """What NumPy reads; None if it does not."""
    try:
        return np.load(path, allow_pickle=False)
    except Exception:  # whatever is wrong
        return None


def read_parquet(path):
    """What Arrow reads of a table of numbers; None if it does not."""
    from pyarrow import parquet

    try:
        table = parquet.read_table(path, use_threads=False)
        columns = [column.to_numpy() for column in table.columns]
        return np.stack(columns, axis=1) if all(column.dtype.kind in "fiub" for column in columns) else None
    except Exception:
        return None


def read_hdf5(path):
    """What h5py reads where there is one dataset; None if it does not."""
    import h5py

    found = []
    try:
        with h5py.File(path) as file:
            file.visititems(lambda name, item: found.append(name) if isinstance(item, h5py.Dataset) else None)
            return file[found[0]][...] if len(found) == 1 and file[found[0]].size < 10**6 else None
    except Exception:
        return None
