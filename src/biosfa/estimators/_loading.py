"""Models from files: one way to load them all."""

import os
from contextlib import nullcontext
from importlib import import_module
from typing import Any, TypeVar

import numpy as np

from biosfa.exceptions import ModelFileError
from biosfa.io.checkpoint import KIND
from biosfa.io.model_file import Model, damage_is_an_error, read_model
from biosfa.registry import MODELS

Loaded = TypeVar("Loaded")


def load(path: str | os.PathLike[str], **parameters: Any) -> Any:
    """Read any model that was saved by this package; no code from the file is run.

    Parameters
    ----------
    path : path
        The file.
    **parameters
        Replace the parameters it was saved with. Functions and transformers of your own must be given again.

    Raises
    ------
    ModelFileError
        If the file is damaged, not a model, or of a newer version.

    Examples
    --------
    >>> import numpy as np, biosfa, tempfile, os
    >>> X = np.random.default_rng(0).standard_normal((100, 3))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "model.safetensors")
    ...     biosfa.SFA(2).fit(X).save(path)
    ...     biosfa.load(path)
    SFA(n_components=2)
    """
    return load_model(os.fspath(path), read_model(path), **parameters)


def load_as(kind: type[Loaded], path: str | os.PathLike[str], **parameters: Any) -> Loaded:
    """Read a model that must be of a kind.

    Raises
    ------
    ModelFileError
        If it is of another kind, or cannot be read.
    """
    loaded = load(path, **parameters)
    if not isinstance(loaded, kind):
        raise ModelFileError(f"{os.fspath(path)} holds {type(loaded).__name__}, not {kind.__name__}")
    return loaded


def load_model(name: str, model: Model, **parameters: Any) -> Any:
    """The estimator that a model file holds; ``name`` is that of the file."""
    if model.kind == KIND:
        raise ModelFileError(f"{name} is a checkpoint, not a model: resume what it belongs to")
    if model.kind not in MODELS:
        raise ModelFileError(f"{name} holds {model.kind!r}, which this version of biosfa does not know")
    estimator = getattr(import_module(MODELS[model.kind]), model.kind)
    for array_name, array in model.arrays.items():
        may_be_nan = array_name.rpartition(".")[2] in estimator._may_be_nan
        if not np.isfinite(array[~np.isnan(array)] if may_be_nan else array).all():
            raise ModelFileError(f"{name} is damaged: its array {array_name!r} is not finite")
    # parameters of the caller may be what is wrong
    with nullcontext() if parameters else damage_is_an_error(name):
        return estimator._from_model(name, model, parameters)
