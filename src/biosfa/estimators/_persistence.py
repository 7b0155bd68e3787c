"""Turn estimators into the content of model files, and back."""

from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from biosfa.exceptions import ModelFileError
from biosfa.io import Reading
from biosfa.io.model_file import Model
from biosfa.learning import SCHEDULES, Annealed, InverseTime, describe
from biosfa.registry import EXPANSIONS
from biosfa.signal import Reduction, SignalPath, expanded_size, name_of_expansion
from biosfa.typing import Arrays
from biosfa.validation import check_count

if TYPE_CHECKING:
    from biosfa.estimators._base import SlowFeatureEstimator

Estimator = TypeVar("Estimator", bound="SlowFeatureEstimator")

# Arrays that a file holds beside the state of a model, for programs that read the file without this package.
PUBLISHED = ("components", "mean", "delta_values", "redundant_features")


class UnsavedParameterError(ModelFileError):
    """A file could not hold the value of a parameter, such as a function, and the value was not given again."""

    def __init__(self, message: str, parameter: str = "") -> None:
        super().__init__(message)
        self.parameter = parameter


def encode(value: Any) -> Any:
    """Return a parameter as JSON data. A value that cannot be saved, such as a function, becomes a note of its repr."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, np.integer | np.floating):
        return value.item()
    if isinstance(value, InverseTime | Annealed):
        return {"schedule": describe(value)}
    if name_of_expansion(value) is not None:
        return {"expansion": name_of_expansion(value)}
    if isinstance(value, np.dtype) or value is float or (isinstance(value, type) and issubclass(value, np.generic)):
        return {"dtype": np.dtype(value).name}
    if isinstance(value, np.random.RandomState):
        return None  # the weights it drew are saved
    return {"missing": repr(value)}


def decode(
    path: str, parameters: dict[str, Any], replaced: dict[str, Any], structural: tuple[str, ...]
) -> dict[str, Any]:
    """Return parameters from JSON data; the values in ``replaced`` take precedence.

    The state depends on the structural parameters. They can only be replaced if the file could not hold them.
    """
    for name in replaced:
        saved = parameters.get(name)
        if name in structural and not (isinstance(saved, dict) and "missing" in saved):
            raise ValueError(f"{path} was learned with {name}={saved!r}, which cannot be replaced: fit a new model")
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
        return EXPANSIONS[value["expansion"]].load()()
    if "dtype" in value:
        return np.dtype(value["dtype"])
    if not name.isidentifier():
        raise ValueError(f"{name!r} is not the name of a parameter")
    missing = " ".join(str(value["missing"]).split())  # on one line: a repr may have several
    raise UnsavedParameterError(
        f"{path} was saved with {name}={missing}, which a file cannot hold: give it again with load(path, {name}=...)",
        name,
    )


def to_model(estimator: "SlowFeatureEstimator", *, published: bool = True) -> Model:
    """Return an estimator as the content of a file.

    With ``published``, the content has the components and the mean beside the state, so that other programs can compute
    features from the file.
    """
    check_is_fitted(estimator, "_signal")
    estimator._check_unchanged()
    settings = {
        "parameters": {name: encode(value) for name, value in estimator.get_params(deep=False).items()},
        "n_features_in": estimator.n_features_in_,
        "feature_names_in": [str(name) for name in getattr(estimator, "feature_names_in_", [])],
        "reading": estimator._reading.to_json(),
        "open": estimator._open,
        "gaps": {
            "open": estimator._gap,
            "n_skipped": estimator.n_skipped_,
            "n_broken_pairs": estimator.n_broken_pairs_,
        },
        "state": estimator._scalars(),
    }
    arrays = {"history": estimator._signal.history, **estimator._arrays()}
    reduction = estimator._signal.reduction
    if reduction is not None:
        arrays |= {"pca.mean": reduction.mean, "pca.components": reduction.components}
    if published:
        arrays |= estimator._published()
    return Model(type(estimator).__name__, settings, arrays)


def from_model(kind: type[Estimator], path: str, model: Model, parameters: dict[str, Any]) -> Estimator:
    """Return the estimator from which :func:`to_model` made ``model``; ``parameters`` replace those that it had."""
    settings = model.settings
    estimator = kind(**decode(path, settings["parameters"], parameters, kind._structural))
    estimator._check_parameters()
    estimator.n_features_in_ = check_count("n_features_in", settings["n_features_in"])
    if settings["feature_names_in"]:
        estimator.feature_names_in_ = np.asarray(settings["feature_names_in"], dtype=object)
        if estimator.feature_names_in_.shape != (estimator.n_features_in_,):
            raise ValueError("the number of column names differs from the number of columns")
    estimator._reading = Reading.from_json(settings.get("reading", {}))  # files of 0.2 have none
    arrays = dict(model.arrays)
    published = {name: arrays.pop(name) for name in PUBLISHED if name in arrays}
    reduction = None
    if estimator.pca is not None:
        reduction = Reduction(arrays.pop("pca.mean"), arrays.pop("pca.components"))
        reduction.check(estimator.n_features_in_, estimator.pca)
    history = arrays.pop("history")
    n_streams = check_count("n_streams", settings["state"].get("n_streams", 1))
    _check_claims(estimator, n_streams, arrays)
    signal = SignalPath.restore(estimator.n_delays, estimator.expansion, estimator.n_features_in_, reduction)
    _check_held(estimator, signal.n_features_out, n_streams, arrays)
    estimator._check_outputs(signal.n_features_out)
    if history.ndim != 2 or history.shape[1] != signal.n_reduced or len(history) > estimator.n_delays:
        raise ValueError(f"history has the shape {history.shape}")
    signal.history = history
    gaps = settings["gaps"]
    estimator._open, estimator._gap = bool(settings["open"]), bool(gaps["open"])
    estimator.n_skipped_, estimator.n_broken_pairs_ = int(gaps["n_skipped"]), int(gaps["n_broken_pairs"])
    estimator._begin_with(signal)
    estimator._restore(settings["state"], arrays, published)
    return estimator


def _check_claims(estimator: "SlowFeatureEstimator", n_streams: int, arrays: Arrays) -> None:
    """Raise ValueError if the settings of a file cannot be true, before the signal path is built for them."""
    expansion = estimator.expansion
    n_embedded = (estimator.pca or estimator.n_features_in_) * estimator.n_delays
    named = expansion if isinstance(expansion, str) else name_of_expansion(expansion)
    if named is not None or expansion is None:
        _check_held(estimator, expanded_size(named, n_embedded), n_streams, arrays)
    elif getattr(expansion, "n_features_in_", n_embedded) != n_embedded:  # one of the user's own
        raise ValueError(
            f"{expansion!r} was fitted to {expansion.n_features_in_} columns, but the file has {n_embedded}"
        )


def _check_held(estimator: "SlowFeatureEstimator", n_features: int, n_streams: int, arrays: Arrays) -> None:
    """Raise ValueError if the settings of a file ask for more memory than its arrays justify."""
    n_held = sum(array.nbytes for array in arrays.values()) // np.dtype(np.float32).itemsize
    if estimator._least_state(n_features, n_streams) > n_held:
        raise ValueError("its arrays are too small for its settings")


def check_same(estimator: "SlowFeatureEstimator", wanted: "SlowFeatureEstimator") -> None:
    """Raise ValueError if an estimator from a file has another kind, other parameters or other columns than wanted."""
    for name, found, needed in (
        ("kind", type(estimator).__name__, type(wanted).__name__),
        ("parameters", estimator.get_params(), wanted.get_params()),
        ("columns", estimator.n_features_in_, getattr(wanted, "n_features_in_", estimator.n_features_in_)),
    ):
        if found != needed:
            raise ValueError(f"its model has the {name} {found!r}, but {needed!r} are needed")


def state_arrays(estimator: "SlowFeatureEstimator") -> Arrays:
    """Return the arrays that an estimator keeps from one sample to the next."""
    return estimator._arrays()
