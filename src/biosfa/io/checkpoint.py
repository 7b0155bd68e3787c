"""Keeping a long computation in one file, so that it can be stopped or killed, and resumed exactly there.

Fits, networks of experiments and hierarchies keep theirs in this way.
"""

import json
import time
from pathlib import Path
from typing import Any, NamedTuple

from biosfa.exceptions import ModelFileError
from biosfa.io.model_file import Model, damage_is_an_error, read_model, write_model
from biosfa.typing import Arrays

KIND = "Checkpoint"  # what model files call it
PREFIX = "model."  # of the arrays of a model within it


class Kept(NamedTuple):
    """The content of a checkpoint."""

    owner: Any  # JSON data that says which computation it belongs to
    state: dict[str, Any]  # JSON data
    arrays: Arrays
    model: Model | None  # a model so far, if there was one


class Checkpoint:
    """A file that a computation keeps its state in.

    Parameters
    ----------
    path : Path
        The file.
    owner : JSON data
        Says which computation the checkpoint belongs to.
    every : float
        Seconds between two writings, see :meth:`due`.
    """

    def __init__(self, path: Path, owner: Any, *, every: float = 0.0) -> None:
        self.path = path
        self.owner = json.loads(json.dumps(owner))  # as it will come back
        self.every = every
        self._written = time.monotonic()

    def due(self) -> bool:
        """Whether the last writing was long enough ago."""
        return time.monotonic() - self._written > self.every

    def write(self, state: dict[str, Any], arrays: Arrays | None = None, model: Model | None = None) -> None:
        """Keep a state, atomically; the one before is gone."""
        content: Arrays = dict(arrays or {})
        if model is not None:
            content |= {PREFIX + name: array for name, array in model.arrays.items()}
        nested = None if model is None else [model.kind, model.settings]
        write_model(self.path, Model(KIND, {"owner": self.owner, "state": state, "model": nested}, content))
        self._written = time.monotonic()

    def read(self) -> Kept | None:
        """What was kept last by this computation; None if there is nothing, or it belongs to another one.

        Raises
        ------
        ModelFileError
            If the file is damaged, or no checkpoint.
        """
        kept = read_checkpoint(self.path) if self.path.exists() else None
        return kept if kept is not None and kept.owner == self.owner else None

    def remove(self) -> None:
        """Remove the file, if it is there."""
        self.path.unlink(missing_ok=True)


def read_checkpoint(path: Path) -> Kept:
    """The content of a checkpoint, whosever it is.

    Raises
    ------
    ModelFileError
        If the file is damaged, or no checkpoint.
    """
    return content_of(path, read_model(path))


def content_of(path: Path, model: Model) -> Kept:
    """The content of a checkpoint that was read."""
    if model.kind != KIND:
        raise ModelFileError(f"{path} is not a checkpoint")
    with damage_is_an_error(str(path)):
        owner, state, nested = (model.settings[name] for name in ("owner", "state", "model"))
        if not isinstance(state, dict):
            raise ValueError("its state is not a table")
        own = {name: array for name, array in model.arrays.items() if not name.startswith(PREFIX)}
        if nested is None:
            return Kept(owner, state, own, None)
        kind, settings = nested
        if not (isinstance(kind, str) and isinstance(settings, dict)):
            raise ValueError("it does not say which model it holds")
        inner = {name.removeprefix(PREFIX): array for name, array in model.arrays.items() if name.startswith(PREFIX)}
        return Kept(owner, state, own, Model(kind, settings, inner))
