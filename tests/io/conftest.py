"""Tables that several tests read, and what they do with them."""

import h5py
import numpy as np
import pandas as pd
import pytest
import zarr

from biosfa import InputError
from tests.conftest import slow_mixture

NAMES = [f"ch{i}" for i in range(5)]
FILES = ["a.npy", "by-column.npy", "a.npz", "packed.npz", "a.csv", "a.tsv", "a.txt", "a.parquet", "a.h5", "a.zarr"]


@pytest.fixture(scope="session")
def X():
    return slow_mixture(3000, times=(30.0, 5.0), n_noise=3, seed=1)[1]


@pytest.fixture(scope="session")
def folder(X, tmp_path_factory):
    path = tmp_path_factory.mktemp("tables")
    frame = pd.DataFrame(X, columns=NAMES)
    np.save(path / "a.npy", X)
    np.save(path / "by-column.npy", np.asfortranarray(X))
    np.savez(path / "a.npz", data=X)
    np.savez_compressed(path / "packed.npz", data=X)
    frame.to_csv(path / "a.csv", index=False)
    frame.to_csv(path / "a.tsv", index=False, sep="\t")
    np.savetxt(path / "a.txt", X, header="numbers\nwith blanks between them")
    frame.to_parquet(path / "a.parquet", row_group_size=700)
    with h5py.File(path / "a.h5", "w") as file:
        file["group/x"] = X
    zarr.save_array(path / "a.zarr", X)
    return path


def joined(chunks):
    chunks = list(chunks)
    return np.concatenate([chunk.samples for chunk in chunks]), np.concatenate([chunk.starts for chunk in chunks])


def truncated(source, target, share=0.6):
    content = source.read_bytes()
    target.write_bytes(content[: int(share * len(content))])
    return target


def good_rows(chunks):
    """Rows that come before the error."""
    rows = []
    with pytest.raises(InputError) as caught:
        rows.extend(chunk.samples for chunk in chunks)
    return np.concatenate(rows), str(caught.value)
