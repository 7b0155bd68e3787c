"""Model files: arrays and JSON settings in the safetensors format, with a digest, written atomically.

Reading runs no code from the file. The layout is described in ``docs/reference/file-format.md``.
"""

import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from biosfa.exceptions import InputError, ModelFileError
from biosfa.io.atomic import replace_file
from biosfa.typing import Arrays

KEY = "biosfa"  # the metadata entry that holds the header
SCHEMA = 3
TYPES = ("F64", "F32", "I64")  # allowed types of arrays; safetensors has others that numpy does not know


class Model(NamedTuple):
    """The content of a model file."""

    kind: str  # name of the estimator
    settings: dict[str, Any]  # JSON data
    arrays: Arrays


def write_model(path: str | os.PathLike[str], model: Model) -> None:
    """Write a model. A crash at any moment leaves either the old file or the new one, complete."""
    arrays = {name: np.asarray(array, order="C") for name, array in model.arrays.items()}
    header = {"schema": SCHEMA, "kind": model.kind, "settings": model.settings}
    header["digest"] = _digest(header, arrays)
    # only one entry: safetensors writes several in random order, but equal models should give equal files
    content = save(arrays, metadata={KEY: json.dumps(header, sort_keys=True)})
    replace_file(Path(path), lambda file: file.write(content))


def read_model(path: str | os.PathLike[str]) -> Model:
    """Return the content of a model file, after checking that it is complete.

    Raises
    ------
    ModelFileError
        If the file is damaged, is not a model, or has another schema.
    """
    with open(path, "rb"):  # raises a clear OSError if the file is missing or cannot be read
        pass
    name = os.fspath(path)
    try:
        with safe_open(path, framework="numpy") as file:
            metadata = file.metadata() or {}
            if KEY not in metadata:
                raise ModelFileError(f"{name} is not a biosfa model")
            arrays = _read_arrays(name, file)
    except SafetensorError as error:
        raise ModelFileError(f"{name} is not a biosfa model, or it is damaged: {str(error)!r}") from None
    try:
        header = json.loads(metadata[KEY])
        schema, digest = header["schema"], header.pop("digest")
        found = _digest(header, arrays)
    except (ValueError, KeyError, TypeError, RecursionError):
        raise ModelFileError(f"{name} is damaged: its header cannot be read") from None
    if schema != SCHEMA:
        older = isinstance(schema, int) and schema < SCHEMA
        advice = "fit the model again" if older else "upgrade biosfa"
        raise ModelFileError(f"{name} has schema {schema!r}, but this version of biosfa reads {SCHEMA}: {advice}")
    if digest != found:
        raise ModelFileError(f"{name} was altered or is damaged: its digest does not match its content")
    kind, settings = header.get("kind"), header.get("settings")
    if not (isinstance(kind, str) and isinstance(settings, dict)):
        raise ModelFileError(f"{name} is damaged: its header does not say what it holds")
    return Model(kind, settings, arrays)


@contextmanager
def damage_is_an_error(name: str) -> Iterator[None]:
    """Turn errors about the content of a file into ModelFileError, because a file may contain anything.

    Other errors, such as a missing input or too little memory, are not changed.
    """
    try:
        yield
    except (ModelFileError, InputError, OSError, MemoryError):
        raise
    except Exception as error:
        raise ModelFileError(f"{name} is incomplete or damaged: {error!r}") from error


def _read_arrays(name: str, file: Any) -> Arrays:
    arrays: Arrays = {}
    for array_name in file.keys():  # noqa: SIM118 (not a mapping)
        dtype = file.get_slice(array_name).get_dtype()
        if dtype not in TYPES:
            raise ModelFileError(f"{name} is damaged: its array {array_name!r} has the type {dtype}")
        arrays[array_name] = file.get_tensor(array_name)
    return arrays


def _digest(header: dict[str, Any], arrays: Arrays) -> str:
    """Return the SHA-256 of the header and of the name, type, shape and bytes of every array."""
    digest = hashlib.sha256(json.dumps(header, sort_keys=True).encode())
    for name in sorted(arrays):
        array = arrays[name]
        digest.update(json.dumps([name, array.dtype.str, array.shape]).encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()
