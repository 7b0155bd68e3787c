"""Models from files: one way to load them all."""

import os
from importlib import import_module
from typing import Any

import numpy as np

from biosfa.exceptions import ModelFileError
from biosfa.io.checkpoint import KIND
from biosfa.io.model_file import Model, read_model
from biosfa.registry import MODELS


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


def load_model(name: str, model: Model, **parameters: Any) -> Any:
    """The estimator that a model file holds; ``name`` is that of the file."""
    home = MODELS.get(model.kind) if isinstance(model.kind, str) else None
    if model.kind == KIND:
        raise ModelFileError(f"{name} is a checkpoint, not a model: resume what it belongs to")
    if home is None:
        raise ModelFileError(f"{name} holds {model.kind!r}, which this version of biosfa does not know")
    for array_name, array in model.arrays.items():
        if not np.isfinite(array).all():
            raise ModelFileError(f"{name} is damaged: its array {array_name} is not finite")
    try:
        return getattr(import_module(home), model.kind)._from_model(name, model, parameters)
    except ModelFileError:
        raise
    except Exception as error:  # a file may hold anything
        if parameters:  # which may be what is wrong
            raise
        raise ModelFileError(f"{name} is incomplete or damaged: {error!r}") from error
