"""Tables of all formats: read as streams, in chunks, and by the command."""

import warnings

import numpy as np

from biosfa.io import open_stream
from tests.fuzzing import stores, text
from tests.fuzzing.damage import damaged

FORMATS = {
    "csv": text.write_csv,
    "npy": stores.write_npy,
    "npz": stores.write_npz,
    "parquet": stores.write_parquet,
    "h5": stores.write_hdf5,
    "zarr": stores.write_zarr,
}
ORACLES = {"npy": stores.read_npy, "parquet": stores.read_parquet, "h5": stores.read_hdf5}


class Tables:
    """Files of one format."""

    def __init__(self, suffix):
        self.suffix = suffix

    def case(self, rng, folder, *, intact=False):
        """A file with something odd about it, unless it is to be ``intact``, and some way to read it."""
        path = folder / f"table.{self.suffix}"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            FORMATS[self.suffix](path, rng)
        if rng.random() < 0.5 and not intact:
            spoil(path, rng)
        options = {
            "missing": rng.choice(["raise", "break"]),
            "chunk_size": rng.choice([None, 1, 7, 1000]),
            "header": rng.choice([None, None, True, False]) if self.suffix == "csv" else None,
        }
        commands, solver = rng.random() < 0.15, rng.choice(["exact", "online"])

        def read():
            if commands:
                command(path, solver)
            else:
                self.read(path, options)

        return read

    def read(self, path, options):
        """Read it, and compare with what the library of the format makes of it."""
        parts, n_features = [], None
        stream = open_stream(path, **options)
        for chunk in stream:
            n_features = chunk.samples.shape[1]
            assert n_features == stream.n_features == len(stream.feature_names), "columns without names"
            assert np.isfinite(chunk.samples).all(), "samples that are not finite"
            assert len(chunk.starts) == len(chunk.samples), "samples without flags"
            parts.append(chunk.samples)
        oracle = ORACLES.get(self.suffix)
        wanted = None if oracle is None or not parts else oracle(path)
        if wanted is not None:
            found = np.concatenate(parts)
            rows = wanted.reshape(len(wanted), -1).astype(np.float64)
            np.testing.assert_array_equal(found, rows[~np.isnan(rows).any(axis=1)].astype(found.dtype))


def spoil(path, rng):
    """Damage a file, or one of the files of a store."""
    files = [path] if path.is_file() else sorted(file for file in path.rglob("*") if file.is_file())
    if not files:
        return
    file = rng.choice(files)
    if path.is_dir() and rng.random() < 0.2:
        file.unlink()
        if rng.random() < 0.3:
            file.mkdir()
    else:
        file.write_bytes(damaged(file.read_bytes(), rng))


def command(path, solver):
    """Fit to a file, and write its features, with the command."""
    from biosfa.cli import app

    out, features = path.parent / "slow.safetensors", path.parent / "features.csv"
    app(["fit", str(path), "-k", "1", "--solver", solver, "--out", str(out)], standalone_mode=False)
    app(["inspect", str(out)], standalone_mode=False)
    app(["transform", str(out), str(path), "--out", str(features)], standalone_mode=False)
