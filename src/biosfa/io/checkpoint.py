"""Checkpoints: the state of a long computation in one file, from which it resumes exactly where it stopped.

Fits, networks of experiments and hierarchies use them.
"""

import json
import time
from pathlib import Path
from typing import Any, NamedTuple

from biosfa.exceptions import ModelFileError
from biosfa.io.model_file import Model, damage_is_an_error, read_model, write_model
from biosfa.typing import Arrays

KIND = "Checkpoint"  # the kind of its model file
PREFIX = "model."  # of the names of arrays that belong to the model within it


class Kept(NamedTuple):
    """The content of a checkpoint."""

    owner: Any  # JSON data that identifies the computation
    state: dict[str, Any]  # JSON data
    arrays: Arrays
    model: Model | None  # the model so far, if there is one


class Checkpoint:
    """A file that holds the state of a computation.

    Parameters
    ----------
    path : Path
        The file.
    owner : JSON data
        Identifies the computation that the checkpoint belongs to.
    every : float
        Shortest time between two writes, in seconds; see :meth:`due`.
    """

    def __init__(self, path: Path, owner: Any, *, every: float = 0.0) -> None:
        self.path = path
        self.owner = json.loads(json.dumps(owner))  # as it will be read back
        self.every = every
        self._written = time.monotonic()

    def due(self) -> bool:
        """Return whether the last write was more than ``every`` seconds ago."""
        return time.monotonic() - self._written > self.every

    def write(self, state: dict[str, Any], arrays: Arrays | None = None, model: Model | None = None) -> None:
        """Write a state, which atomically replaces the one before."""
        content: Arrays = dict(arrays or {})
        if model is not None:
            content |= {PREFIX + name: array for name, array in model.arrays.items()}
        nested = None if model is None else [model.kind, model.settings]
        write_model(self.path, Model(KIND, {"owner": self.owner, "state": state, "model": nested}, content))
        self._written = time.monotonic()

    def read(self) -> Kept | None:
        """Return the content of the file; None if there is no file, or if it belongs to another computation.

        Raises
        ------
        ModelFileError
            If the file is damaged, or is not a checkpoint.
        """
        kept = read_checkpoint(self.path) if self.path.exists() else None
        return kept if kept is not None and kept.owner == self.owner else None

    def remove(self) -> None:
        """Remove the file, if it exists."""
        self.path.unlink(missing_ok=True)


def read_checkpoint(path: Path) -> Kept:
    """Return the content of a checkpoint of any computation.

    Raises
    ------
    ModelFileError
        If the file is damaged, or is not a checkpoint.
    """
    return content_of(path, read_model(path))


def content_of(path: Path, model: Model) -> Kept:
    """Return the content of a checkpoint from the content of its model file."""
    if model.kind != KIND:
        raise ModelFileError(f"{path} is not a checkpoint")
    with damage_is_an_error(str(path)):
        owner, state, nested = (model.settings[name] for name in ("owner", "state", "model"))
        if not isinstance(state, dict):
            raise ValueError("its state is not a JSON object")
        own = {name: array for name, array in model.arrays.items() if not name.startswith(PREFIX)}
        if nested is None:
            return Kept(owner, state, own, None)
        kind, settings = nested
        if not (isinstance(kind, str) and isinstance(settings, dict)):
            raise ValueError("it does not say which model it holds")
        inner = {name.removeprefix(PREFIX): array for name, array in model.arrays.items() if name.startswith(PREFIX)}
        return Kept(owner, state, own, Model(kind, settings, inner))
