"""Lists of learners, expansions and file formats. Each is listed once.

Help texts, messages and checks use these lists. The objects are imported only when :meth:`Choice.load` is called, so
that importing this module is fast.
"""

from importlib import import_module
from typing import Any, NamedTuple


class Choice(NamedTuple):
    """An object that users choose by name."""

    home: str  # its module
    name: str  # its name in that module
    summary: str  # for help texts

    def load(self) -> Any:
        """Import and return the object."""
        return getattr(import_module(self.home), self.name)


# Learners by the name of the solver, as in ``--solver``.
SOLVERS = {
    "exact": Choice(
        "biosfa.estimators",
        "SFA",
        "the exact solution; the memory grows with the square of the number of (expanded) columns",
    ),
    "online": Choice(
        "biosfa.estimators", "OnlineSFA", "learns by the natural gradient; good for many columns and long recordings"
    ),
    "local": Choice(
        "biosfa.estimators",
        "LocalSFA",
        "learns about as fast as online, but with local rules; for up to some hundred columns",
    ),
    "bio": Choice("biosfa.estimators", "BioSFA", "the paper's network with local rules; needs many more samples"),
}
ONLINE_SOLVERS = {name: choice for name, choice in SOLVERS.items() if name != "exact"}

# Expansions of the (delayed) samples, as in ``expansion="quadratic"``. Each is a transformer whose ``fit`` only uses
# the number of columns, and whose first columns are the input itself.
EXPANSIONS = {
    "quadratic": Choice("biosfa.signal", "QuadraticExpansion", "use the columns and all products of two columns"),
}

# Modules of the estimators that a model file may hold, by the kind that the file gives.
MODELS = {
    **{choice.name: choice.home for choice in SOLVERS.values()},
    **dict.fromkeys(("FoldiakTrace", "IncrementalSFA", "OnlineGEV"), "biosfa.rivals"),
    "GraphSFA": "biosfa.estimators",
    "HierarchicalSFA": "biosfa.hierarchy",
    "SlowFeatureMonitor": "biosfa.monitoring",
}


class Format(NamedTuple):
    """A file format: its suffixes, and the module of :mod:`biosfa.io.tables` that reads and writes it."""

    suffixes: tuple[str, ...]
    module: str
    reader: str  # function of a path and the name of one of several arrays in the file
    writer: str  # class or function of a path and the names of the columns; module.name if it is in another module
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
