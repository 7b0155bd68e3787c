"""Turn a monitor into the content of a model file, and back."""

import copy
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from biosfa.estimators import decode, encode, load_model, to_model
from biosfa.io import Reading
from biosfa.io.model_file import Model
from biosfa.kernels.exact import Moments
from biosfa.monitoring._calibration import Calibration
from biosfa.monitoring._charts import SLOW_AND_REST
from biosfa.monitoring._normal import Normal
from biosfa.monitoring._parameters import WATCHABLE, Watchable, check_parameters, patterns_of
from biosfa.monitoring._training import Learned
from biosfa.monitoring._verdicts import Rule, checked_persistence
from biosfa.typing import Arrays, Float64Array
from biosfa.validation import check_positive, checked_array

if TYPE_CHECKING:
    from biosfa.monitoring._monitor import SlowFeatureMonitor

Monitor = TypeVar("Monitor", bound="SlowFeatureMonitor")


def to_file(monitor: "SlowFeatureMonitor") -> Model:
    """Return a monitor as the content of a file. The file of its model is part of it."""
    inner, normal = to_model(monitor.model_), monitor._normal
    parameters = {name: encode(value) for name, value in monitor.get_params(deep=False).items() if name != "model"}
    settings = {
        "parameters": {**parameters, "persistence": list(checked_persistence(monitor.persistence))},
        "model": {"kind": inner.kind, "settings": inner.settings, "given": monitor.model is not None},
        "feature_names_in": [str(name) for name in getattr(monitor, "feature_names_in_", [])],
        "reading": monitor.reading_.to_json(),
        "calibration": monitor.calibration_.to_json(),
        "rules": [list(rule) for rule in monitor.rules_],
        "constant_columns": list(monitor.constant_columns_.items()),
        "normal": {
            "weight": normal.moments.weight,
            "pair_weight": normal.moments.pair_weight,
            "doubt": normal.doubt,
            "slow_share": normal.slow_share,
            "follows": normal.follows,
        },
    }
    arrays = {f"model.{name}": array for name, array in inner.arrays.items()}
    arrays |= {f"normal.{name}": array for name, array in normal.arrays().items()}
    return Model(type(monitor).__name__, settings, {**arrays, "limits": monitor.limits_})


def from_file(kind: type[Monitor], path: str, model: Model, given: dict[str, Any]) -> Monitor:
    """Return the monitor from which :func:`to_file` made the content of a file.

    ``given`` has parameters that the file cannot hold.
    """
    settings = model.settings
    inner_kind, inner_settings = settings["model"]["kind"], settings["model"]["settings"]
    own, inner_own = _missing(settings["parameters"], given), _missing(inner_settings["parameters"], given)
    others = sorted(set(given) - {*own, *inner_own})
    if others:
        raise TypeError(f"{path} holds {model.kind}: {', '.join(others)} cannot be replaced while loading")
    inner = load_model(path, Model(inner_kind, inner_settings, _part(model, "model.")), **inner_own)
    if not isinstance(inner, WATCHABLE):
        raise ValueError(f"a monitor cannot be built on {inner_kind}")
    parameters = decode(path, {**settings["parameters"], "persistence": None}, own, ())
    parameters["persistence"] = checked_persistence(settings["parameters"]["persistence"])
    monitor = kind(**parameters, model=copy.deepcopy(inner) if settings["model"]["given"] else None)
    check_parameters(monitor)
    monitor.n_features_in_ = inner.n_features_in_
    if settings["feature_names_in"]:
        monitor.feature_names_in_ = np.asarray(settings["feature_names_in"], dtype=object)
        if monitor.feature_names_in_.shape != (monitor.n_features_in_,):
            raise ValueError("the number of column names differs from the number of columns")
    limits: Float64Array = checked_array("limits", model.arrays, (len(SLOW_AND_REST),))
    if np.any(limits < 0.0):
        raise ValueError("its limits are negative")
    calibration = Calibration.from_json(settings["calibration"])
    learned = Learned(
        model=inner,
        limits=limits,
        calibration=calibration,
        rules=tuple(Rule.from_json(rule) for rule in settings["rules"]),
        constants=_constants(settings["constant_columns"], inner.n_features_in_),
        normal=_normal_of(inner, calibration.n_rows, settings["normal"], _part(model, "normal.")),
    )
    monitor._take(learned, Reading.from_json(settings["reading"]))
    return monitor


def _missing(saved: dict[str, Any], given: dict[str, Any]) -> dict[str, Any]:
    """Return those of the given parameters that the file could not hold."""
    return {
        name: value for name, value in given.items() if isinstance(saved.get(name), dict) and "missing" in saved[name]
    }


def _constants(content: list[Any], n_columns: int) -> dict[int, float]:
    """Return constant columns from JSON data."""
    constants = {column: float(value) for column, value in content}
    if not all(type(column) is int and 0 <= column < n_columns for column in constants):
        raise ValueError("its constant columns are not columns of the model")
    if not np.isfinite(list(constants.values())).all():
        raise ValueError("its constant columns have values that are not finite")
    return constants


def _normal_of(model: Watchable, n_rows: int, scalars: dict[str, Any], arrays: Arrays) -> Normal:
    """Return what was normal when a monitor was saved."""
    k, rank, patterns = len(model.delta_values_), len(arrays["delta_values"]), patterns_of(model)
    shapes = {"mean": (k,), "scatter": (k, k), "difference": (k, k), "delta_values": (rank,)}
    shapes |= {} if patterns is None else {"columns": patterns.shape}
    changed = {"level": (k,), "turn": (rank, k)}  # both or none
    smooth = {"smooth": (4, k)}
    if changed.keys() & arrays.keys():
        shapes |= {**changed, **(smooth if "smooth" in arrays else {})}
    elif rank != k:
        raise ValueError(f"it has {rank} values of slowness for {k} features")
    if set(arrays) != set(shapes):
        raise ValueError(f"normal operation needs the arrays {sorted(shapes)}; got {sorted(arrays)}")
    checked = {name: checked_array(name, arrays, shape) for name, shape in shapes.items()}
    for name in ("weight", "pair_weight", "slow_share"):
        check_positive(name, scalars[name])
    check_positive("doubt", scalars["doubt"], zero=True)
    if scalars["slow_share"] > 1.0 or not isinstance(scalars["follows"], bool):
        raise ValueError("what is normal is not described")
    weights = {name: float(scalars[name]) for name in ("weight", "pair_weight")}
    return Normal(
        Moments.of(checked, n_rows, n_rows, **weights),
        float(scalars["slow_share"]),
        checked["delta_values"],
        columns=checked.get("columns"),
        turn=checked.get("turn"),
        level=checked.get("level"),
        smooth=checked.get("smooth"),
        follows=scalars["follows"],
        doubt=float(scalars["doubt"]),
    )


def _part(model: Model, prefix: str) -> Arrays:
    """Return the arrays of a file whose names begin with a prefix, without it."""
    return {name.removeprefix(prefix): np.asarray(a) for name, a in model.arrays.items() if name.startswith(prefix)}
