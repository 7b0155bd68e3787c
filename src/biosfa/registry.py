"""What there is to choose from, each listed once: learners, expansions and file formats.

Help texts, messages and checks take their lists from here. What a name stands for is imported when it is asked for, so
that this module costs nothing.
"""

from importlib import import_module
from typing import Any, NamedTuple


class Choice(NamedTuple):
    """Something that has a name."""

    home: str  # module
    name: str  # in it
    summary: str

    def load(self) -> Any:
        """What the name stands for."""
        return getattr(import_module(self.home), self.name)


# Learners by the name of the solver, as in ``--solver``.
SOLVERS = {
    "exact": Choice(
        "biosfa.estimators",
        "SFA",
        "the exact solution; its memory grows with the square of the number of columns, after expansion",
    ),
    "online": Choice(
        "biosfa.estimators", "OnlineSFA", "learns by the natural gradient; for many columns and long recordings"
    ),
    "bio": Choice("biosfa.estimators", "BioSFA", "the paper's network with local rules; needs many more samples"),
}
ONLINE_SOLVERS = {name: choice for name, choice in SOLVERS.items() if name != "exact"}

# Expansions of the (delayed) samples, as in ``expansion="quadratic"``. Each is a transformer that only needs the number
# of columns to be fitted.
EXPANSIONS = {
    "quadratic": Choice("biosfa.signal", "QuadraticExpansion", "use the columns and all products of two columns"),
}

# Where the estimators are that a model file may hold, by the name that the file has for them.
MODELS = {
    **{choice.name: choice.home for choice in SOLVERS.values()},
    **dict.fromkeys(("FoldiakTrace", "IncrementalSFA", "OnlineGEV"), "biosfa.rivals"),
    "HierarchicalSFA": "biosfa.hierarchy",
}


class Format(NamedTuple):
    """A file format: how files are named, and the modules of :mod:`biosfa.io.tables` that read and write them."""

    suffixes: tuple[str, ...]
    module: str
    reader: str  # function of a path, and of the name of one of several arrays in the file
    writer: str  # class, or function, of a path and the names of the columns; module.name if it is in another module
    has_header: bool = False  # whether the first line may have the names of the columns
    is_folder: bool = False


FORMATS = (
    Format((".npy",), "_numpy", "open_npy", "NpyWriter"),
    Format((".npz",), "_numpy", "open_npz", "NpzWriter"),
    Format((".csv", ".txt", ".dat"), "_text", "open_text", "TextWriter", has_header=True),
    Format((".tsv",), "_text", "open_text", "create_tsv", has_header=True),
    Format((".parquet",), "_parquet", "open_parquet", "ParquetWriter"),
    Format((".h5", ".hdf5"), "_stores", "open_hdf5", "_store_writers.Hdf5Writer"),
    Format((".zarr",), "_stores", "open_zarr", "_store_writers.ZarrWriter", is_folder=True),
)
SUFFIXES = {suffix: form for form in FORMATS for suffix in form.suffixes}
