"""One file for a model: arrays and JSON settings in the safetensors format, with a digest, written atomically.

Reading runs no code from the file. The layout is described in ``docs/file-format.md``.
"""

import hashlib
import json
import os
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from biosfa.exceptions import ModelFileError
from biosfa.io.atomic import replace_file
from biosfa.typing import Arrays

KEY = "biosfa"  # the entry of the metadata that holds ours
SCHEMA = 3


class Model(NamedTuple):
    """The content of a model file."""

    kind: str  # name of the estimator
    settings: dict[str, Any]  # JSON data
    arrays: Arrays


def write_model(path: str | os.PathLike[str], model: Model) -> None:
    """Write a model so that a crash at any moment leaves either the old file or the new one, whole."""
    arrays = {name: np.asarray(array, order="C") for name, array in model.arrays.items()}
    header = {"schema": SCHEMA, "kind": model.kind, "settings": model.settings}
    header["digest"] = _digest(header, arrays)
    # one entry only: safetensors writes several in random order, and equal models should give equal files
    content = save(arrays, metadata={KEY: json.dumps(header, sort_keys=True)})
    replace_file(Path(path), lambda file: file.write(content))


def read_model(path: str | os.PathLike[str]) -> Model:
    """Read a model and check that it is whole.

    Raises
    ------
    ModelFileError
        If the file is damaged, not a model, or of a newer schema.
    """
    with open(path, "rb"):  # a missing or unreadable file is an OSError that says so
        pass
    try:
        with safe_open(path, framework="numpy") as file:
            metadata = file.metadata() or {}
            if KEY not in metadata:
                raise ModelFileError(f"{os.fspath(path)} is not a biosfa model")
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (not a mapping)
    except SafetensorError as error:
        raise ModelFileError(f"{os.fspath(path)} is not a biosfa model, or it is damaged: {error}") from None
    try:
        header = json.loads(metadata[KEY])
        schema, digest = header["schema"], header.pop("digest")
    except (ValueError, KeyError, TypeError, RecursionError):
        raise ModelFileError(f"{os.fspath(path)} is damaged: its header cannot be read") from None
    if schema != SCHEMA:
        older = isinstance(schema, int) and schema < SCHEMA
        advice = "fit the model anew" if older else "upgrade biosfa"
        raise ModelFileError(
            f"{os.fspath(path)} has schema {schema}, and this version of biosfa reads {SCHEMA}: {advice}"
        )
    if digest != _digest(header, arrays):
        raise ModelFileError(f"{os.fspath(path)} was altered or is damaged: its digest does not match its content")
    return Model(header["kind"], header["settings"], arrays)


def _digest(header: dict[str, Any], arrays: Arrays) -> str:
    """SHA-256 of the header and of every array's name, type, shape and bytes."""
    digest = hashlib.sha256(json.dumps(header, sort_keys=True).encode())
    for name in sorted(arrays):
        array = arrays[name]
        digest.update(json.dumps([name, array.dtype.str, array.shape]).encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()
