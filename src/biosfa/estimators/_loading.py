"""Loading of models from files, whatever their kind."""

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
    """Return the model that a file holds: any estimator of this package. No code from the file is run.

    Parameters
    ----------
    path : path
        The file, written by ``save`` of the estimator, or by the command.
    **parameters
        Parameters that replace those that the model was saved with. Your own functions and transformers cannot be
        saved, so they must be passed here.

    Returns
    -------
    estimator
        The model. It resumes exactly where the saved one stopped.

    Raises
    ------
    ModelFileError
        If the file is damaged, is not a model, or was written by a newer version.

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
    """Return the model that a file holds, which must be an instance of ``kind``.

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
    """Return the estimator for the content of a model file; ``name`` is the name of the file."""
    if model.kind == KIND:
        raise ModelFileError(f"{name} is a checkpoint, not a model: resume the run that it belongs to")
    if model.kind not in MODELS:
        raise ModelFileError(f"{name} holds {model.kind!r}, which this version of biosfa does not know: upgrade biosfa")
    estimator = getattr(import_module(MODELS[model.kind]), model.kind)
    for array_name, array in model.arrays.items():
        may_be_nan = array_name.rpartition(".")[2] in estimator._may_be_nan
        if not np.isfinite(array[~np.isnan(array)] if may_be_nan else array).all():
            raise ModelFileError(f"{name} is damaged: its array {array_name!r} contains NaN or infinity")
    # with parameters of the caller, an error need not be damage
    with nullcontext() if parameters else damage_is_an_error(name):
        return estimator._from_model(name, model, parameters)
