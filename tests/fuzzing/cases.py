"""What there is to try, and how often."""

import importlib
import random
import tempfile
from pathlib import Path
from typing import NamedTuple

from threadpoolctl import threadpool_limits

from tests.fuzzing.checkpoints import FitCheckpoints, OtherCheckpoints
from tests.fuzzing.models import Models
from tests.fuzzing.results import Results
from tests.fuzzing.roads import Roads
from tests.fuzzing.tables import FORMATS, Tables

SHARES = {"model": 6, "checkpoint": 4, "other checkpoint": 2, "results": 1, "roads": 5, **dict.fromkeys(FORMATS, 3)}
LATE_IMPORTS = (
    "pyarrow.parquet",
    "h5py",
    "zarr",
    "biosfa.cli",
    "biosfa.integrations.onnx",
    "biosfa.recordings.features",
    "biosfa.recordings.notes",
)


class Case(NamedTuple):
    """A case: its seed, and what it tries."""

    seed: int
    target: str


class Cases:
    """All kinds of files, whole; and cases made of them.

    ``only`` is the one kind that is wanted.
    """

    def __init__(self, only=None):
        self._limits = threadpool_limits(1)  # threads do not survive a fork, and would count as memory
        self._home = tempfile.TemporaryDirectory(prefix="fuzzing-")
        folder = Path(self._home.name)
        for name in LATE_IMPORTS:
            importlib.import_module(name)
        self.targets = {suffix: Tables(suffix) for suffix in FORMATS if only in (None, suffix)}
        for name, make in (
            ("model", Models),
            ("checkpoint", FitCheckpoints),
            ("other checkpoint", OtherCheckpoints),
            ("results", Results),
            ("roads", Roads),
        ):
            if only not in (None, name):
                continue
            (folder / name).mkdir()
            self.targets[name] = make(folder / name)

    def choose(self, seed):
        """The case of a seed."""
        return Case(seed, random.Random(seed).choices(list(SHARES), list(SHARES.values()))[0])

    def prepare(self, case, folder, **options):
        """Make the files of a case in a folder; returns what reads them."""
        rng = random.Random(case.seed)
        rng.random()  # the target was chosen with it
        return self.targets[case.target].case(rng, folder, **options)

    def intact(self, seed):
        """A case of every kind of file, which :meth:`prepare` can leave ``intact``."""
        return [Case(seed, target) for target in self.targets if target != "roads"]

    def close(self):
        """Remove the files that cases are made of."""
        self._home.cleanup()
