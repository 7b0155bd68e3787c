"""Parameters of estimators as JSON data, and back."""

from typing import Any

import numpy as np

from biosfa.exceptions import ModelFileError
from biosfa.learning import SCHEDULES, Annealed, InverseTime, describe
from biosfa.signal import QuadraticExpansion


def encode(value: Any) -> Any:
    """A parameter as JSON data; what only the user has, such as a function, as a note of what is missing."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, np.integer | np.floating):
        return value.item()
    if isinstance(value, InverseTime | Annealed):
        return {"schedule": describe(value)}
    if isinstance(value, QuadraticExpansion):
        return {"expansion": "quadratic"}
    if isinstance(value, np.dtype) or value is float or (isinstance(value, type) and issubclass(value, np.generic)):
        return {"dtype": np.dtype(value).name}
    if isinstance(value, np.random.RandomState):
        return None  # the weights it drew are saved
    return {"missing": repr(value)}


def decode(
    path: str, parameters: dict[str, Any], replaced: dict[str, Any], structural: tuple[str, ...]
) -> dict[str, Any]:
    """Parameters from JSON data, those in ``replaced`` as the caller gives them.

    What was learned depends on the structural ones: they can only be given where the file could not hold them.
    """
    for name in replaced:
        saved = parameters.get(name)
        if name in structural and not (isinstance(saved, dict) and "missing" in saved):
            raise ValueError(f"{path} was learned with {name}={saved!r}, which cannot be replaced")
    unknown = set(replaced) - set(parameters)
    if unknown:
        raise TypeError(f"{path} has no parameter {', '.join(sorted(unknown))}; it has {', '.join(sorted(parameters))}")
    return {
        name: replaced[name] if name in replaced else _decode(path, name, value) for name, value in parameters.items()
    }


def _decode(path: str, name: str, value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    if "schedule" in value:
        arguments = dict(value["schedule"])
        return SCHEDULES[arguments.pop("name")](**arguments)
    if "expansion" in value:
        return QuadraticExpansion()
    if "dtype" in value:
        return np.dtype(value["dtype"])
    raise ModelFileError(
        f"{path} was saved with {name}={value['missing']}, which a file cannot hold; give it again: "
        f"load(path, {name}=...)"
    )
