"""Turn a monitor into the content of a model file, and back."""

from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from biosfa.estimators import decode, encode, load_model, to_model
from biosfa.io import Reading
from biosfa.io.model_file import Model
from biosfa.kernels.exact import Moments
from biosfa.monitoring._calibration import Calibration
from biosfa.monitoring._charts import SLOW_AND_REST
from biosfa.monitoring._normal import Normal
from biosfa.monitoring._parameters import WATCHABLE, Watchable, check_parameters
from biosfa.monitoring._training import Learned
from biosfa.monitoring._verdicts import Rule, checked_persistence
from biosfa.typing import Arrays
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
            "follows": normal.follows,
        },
    }
    arrays = {f"model.{name}": array for name, array in inner.arrays.items()}
    arrays |= {f"normal.{name}": array for name, array in normal.arrays().items()}
    return Model(type(monitor).__name__, settings, {**arrays, "limits": monitor.limits_})


def from_file(kind: type[Monitor], path: str, model: Model) -> Monitor:
    """Return the monitor from which :func:`to_file` made the content of a file."""
    settings = model.settings
    inner_kind, inner_settings = settings["model"]["kind"], settings["model"]["settings"]
    inner = load_model(path, Model(inner_kind, inner_settings, _part(model, "model.")))
    if not isinstance(inner, WATCHABLE):
        raise ValueError(f"a monitor cannot be built on {inner_kind}")
    k, n = settings["parameters"]["persistence"]
    parameters = decode(path, {**settings["parameters"], "persistence": None}, {}, ())
    given = inner if settings["model"]["given"] else None
    monitor = kind(**{**parameters, "persistence": (k, n), "model": given})
    check_parameters(monitor)
    monitor.n_features_in_ = inner.n_features_in_
    if settings["feature_names_in"]:
        monitor.feature_names_in_ = np.asarray(settings["feature_names_in"], dtype=object)
        if monitor.feature_names_in_.shape != (monitor.n_features_in_,):
            raise ValueError("the number of column names differs from the number of columns")
    calibration = Calibration.from_json(settings["calibration"])
    constants = {int(column): float(value) for column, value in settings["constant_columns"]}
    if not set(constants) <= set(range(inner.n_features_in_)):
        raise ValueError("its constant columns are not columns of the model")
    found = Learned(
        model=inner,
        limits=checked_array("limits", model.arrays, (len(SLOW_AND_REST),)),
        calibration=calibration,
        rules=tuple(Rule(*rule) for rule in settings["rules"]),
        constants=constants,
        normal=_normal_of(inner, calibration, monitor.slow_share, settings["normal"], _part(model, "normal.")),
    )
    monitor._take(found, Reading.from_json(settings["reading"]))
    return monitor


def _normal_of(
    model: Watchable, calibration: Calibration, slow_share: float, scalars: dict[str, Any], arrays: Arrays
) -> Normal:
    """Return what was normal when a monitor was saved."""
    n_columns, k = model.patterns_.shape[::-1]
    rank = len(arrays["delta_values"])
    shapes = {"mean": (k,), "scatter": (k, k), "difference": (k, k), "delta_values": (rank,)}
    shapes |= {"level": (k,), "smooth": (4, k), "turn": (rank, k), "columns": (k, n_columns)}
    checked = {name: checked_array(name, arrays, shapes[name]) for name in arrays}
    for name in ("weight", "pair_weight"):
        check_positive(name, scalars[name])
    check_positive("doubt", scalars["doubt"], zero=True)
    n = calibration.n_rows
    weights = {name: float(scalars[name]) for name in ("weight", "pair_weight")}
    return Normal(
        Moments.of(checked, n, n, **weights),
        slow_share,
        checked["delta_values"],
        **{name: checked.get(name) for name in ("turn", "level", "smooth", "columns")},
        follows=bool(scalars["follows"]),
        doubt=float(scalars["doubt"]),
    )


def _part(model: Model, prefix: str) -> Arrays:
    """Return the arrays of a file whose names begin with a prefix, without it."""
    return {name.removeprefix(prefix): np.asarray(a) for name, a in model.arrays.items() if name.startswith(prefix)}
