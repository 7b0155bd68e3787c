"""Describes a model file, for people and for programs."""

import sys
from pathlib import Path
from typing import Any

import numpy as np

from biosfa import metrics
from biosfa.estimators import (
    SFA,
    BioSFA,
    GraphSFA,
    NetworkEstimator,
    SlowFeatureEstimator,
    WayBack,
    input_names,
    load_model,
    pattern_correlations,
    reading_of,
)
from biosfa.io.checkpoint import KIND, content_of
from biosfa.io.model_file import Model, damage_is_an_error, read_model
from biosfa.monitoring import SLOW_AND_REST, SlowFeatureMonitor
from biosfa.rivals import OnlineRival
from biosfa.signal import delayed_names
from biosfa.typing import Float64Array
from biosfa.wording import counted, duration, printable

SHOWN = 20  # number of features and of column names that are listed
STRONGEST = 4  # columns that are listed per pattern


def inspect(path: str) -> dict[str, Any]:
    """Return settings, samples seen, slowness and the health of the weights of a model file, as JSON data.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from biosfa import SFA
    >>> from biosfa.recordings import inspection
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     SFA(1).fit(np.random.default_rng(0).standard_normal((50, 3))).save(f"{folder}/model")
    ...     found = inspection.inspect(f"{folder}/model")
    >>> found["kind"], found["n_samples_seen"], found["health"]
    ('SFA', 50, {'finite': True, 'rank': 3, 'columns': 3})
    """
    model = read_model(path)
    with damage_is_an_error(path):
        return _described(path, model)


def _described(path: str, model: Model) -> dict[str, Any]:
    found: dict[str, Any] = {"file": path, "bytes": Path(path).stat().st_size, "kind": model.kind}
    if model.kind == KIND:
        kept = content_of(Path(path), model)
        if "fitting" not in kept.state:
            return found | {"owner": kept.owner, "state": kept.state}
        position = kept.state["fitting"]["position"] or {"n_rows": 0}
        return found | {
            "options": kept.owner["options"],
            "epoch": kept.state["fitting"]["epoch"],
            "rows_in_this_pass": position["n_rows"],
        }
    estimator = load_model(path, model)
    found["parameters"] = dict(model.settings.get("parameters", {}))
    if isinstance(estimator, GraphSFA) and not isinstance(estimator.graph, str):
        found["parameters"]["graph"] = repr(estimator.graph)
    if isinstance(estimator, SlowFeatureEstimator):
        reading = reading_of(estimator).to_json()
        found |= {"reading": reading, "open_episode": model.settings["open"], **_of_slow_features(estimator)}
    if isinstance(estimator, SlowFeatureMonitor):
        found["monitor"] = _of_monitor(estimator)
    found["arrays"] = {name: list(array.shape) for name, array in sorted(model.arrays.items())}
    if "origin" in model.settings:
        found["origin"] = model.settings["origin"]
    return found


def _of_monitor(monitor: SlowFeatureMonitor) -> dict[str, Any]:
    calibration = monitor.calibration_
    return {
        "columns": input_names(monitor),
        "n_features": len(monitor.delta_values_),
        "n_slow": monitor.n_slow_,
        "limits": dict(zip(SLOW_AND_REST, _numbers(monitor.limits_), strict=True)),
        "n_rows": calibration.n_rows,
        "rows_needed": calibration.rows_needed,
        "correlation_time": calibration.correlation_time,
    }


def _slowness(delta: Float64Array, estimator: SlowFeatureEstimator) -> dict[str, Any]:
    """Return the slowness values, and the timescales and periods that follow from them in a time series."""
    if isinstance(estimator, GraphSFA):  # its samples have no order in time
        return {"delta_values": _numbers(delta)}
    lag = getattr(estimator, "lag", 1)
    return {
        "delta_values": _numbers(delta),
        "timescales": _numbers(metrics.timescales(delta, lag=lag)),
        "periods": _numbers(metrics.periods(delta, lag=lag)),
    }


def _of_slow_features(estimator: SlowFeatureEstimator) -> dict[str, Any]:
    names = getattr(estimator, "feature_names_in_", None)
    found: dict[str, Any] = {
        "n_features_in": estimator.n_features_in_,
        "feature_names_in": None if names is None else [str(name) for name in names],
        "n_expanded": len(estimator.mean_),
        "n_samples_seen": estimator.n_samples_seen_,
        "n_skipped": estimator.n_skipped_,
        "n_broken_pairs": estimator.n_broken_pairs_,
    }
    if isinstance(estimator, NetworkEstimator | OnlineRival):
        found["n_updates"] = estimator.n_updates_
    if not hasattr(estimator, "components_"):
        nothing = _slowness(np.empty(0), estimator)
        return found | nothing | {"health": {"warning": "there are too few samples for features"}}
    found |= _slowness(estimator.delta_values_, estimator)
    if isinstance(estimator, WayBack) and hasattr(estimator, "patterns_"):  # unknown after some expansions
        found["patterns"] = [_numbers(pattern) for pattern in estimator.patterns_]
        found["pattern_correlations"] = [_numbers(pattern) for pattern in pattern_correlations(estimator)]
    weights = estimator.components_
    health: dict[str, Any] = {"finite": bool(np.isfinite(weights).all())}
    if isinstance(estimator, SFA) and estimator.time_unit_ is not None:
        found["time_unit"] = _number(estimator.time_unit_)
    if isinstance(estimator, SFA | GraphSFA):
        health |= {"rank": int(estimator.rank_), "columns": len(weights.T)}
    if isinstance(estimator, NetworkEstimator):
        watch = estimator.watch()
        if isinstance(estimator, BioSFA):
            health["condition_of_M"] = _number(np.linalg.cond(estimator.M_))
        health |= {
            "constraint_error": _number(watch.constraint_error),
            "learning_rate": _number(watch.learning_rate),
            "warning": watch.warning,
        }
    return found | {"health": health}


def _numbers(values: Any) -> list[float | None]:
    return [_number(value) for value in values]


def _number(value: Any) -> float | None:
    """Return a number that JSON can hold: None in place of NaN and infinity."""
    return float(value) if np.isfinite(value) else None


def as_text(found: dict[str, Any]) -> str:
    """Return the result of :func:`inspect` as lines of text."""
    with damage_is_an_error(found["file"]):
        return _text(found)


def _text(found: dict[str, Any]) -> str:
    lines = [f"{printable(found['file'])}: {found['kind']}, {found['bytes']:,} bytes"]

    def say(title: str, text: object) -> None:
        lines.append(f"{title:<12} {printable(text)}")

    if "owner" in found:
        say("checkpoint", "of an experiment or a hierarchy: run that again to resume")
        return "\n".join(lines)
    if found["kind"] == KIND:
        options = {name: value for name, value in found["options"].items() if value not in (None, False)}
        say("checkpoint", f"{found['rows_in_this_pass']:,} rows of pass {found['epoch'] + 1}")
        say("options", ", ".join(f"{name}={value!r}" for name, value in options.items()))
        return "\n".join(lines)
    say("settings", ", ".join(f"{name}={value!r}" for name, value in found["parameters"].items() if value is not None))
    if "monitor" in found:
        monitor = found["monitor"]
        names = monitor["columns"]
        say("watches", f"{counted(len(names), 'column')}: {', '.join(names[:SHOWN])}{' …' if names[SHOWN:] else ''}")
        say("with", f"{counted(monitor['n_features'], 'feature')}, {monitor['n_slow']} of them slow")
        say("limits", ", ".join(f"{name} {limit:.4g}" for name, limit in monitor["limits"].items()))
        say(
            "from",
            f"{monitor['n_rows']:,} rows of normal operation; at least {monitor['rows_needed']:,} are recommended",
        )
        say("slowest", f"a correlation time of {monitor['correlation_time']:.3g} rows")
        return "\n".join(lines)
    if "delta_values" not in found:
        say("arrays", ", ".join(f"{name} {tuple(shape)}" for name, shape in found["arrays"].items()))
        return "\n".join(lines)
    names = found["feature_names_in"]
    listed = "" if names is None else ": " + ", ".join(names[:SHOWN]) + (" …" if len(names) > SHOWN else "")
    say("input", f"{counted(found['n_features_in'], 'column')}{listed}")
    if found["n_expanded"] != found["n_features_in"]:
        say("expanded", f"to {found['n_expanded']:,}")
    if "origin" in found:
        say("from", ", ".join(found["origin"]["inputs"][:SHOWN]))
        if found["origin"]["constant_columns"]:
            say("constant", ", ".join(found["origin"]["constant_columns"][:SHOWN]))
    if found["reading"]:
        any_step = found["reading"].get("max_step") == sys.float_info.max
        reading = {**found["reading"], **({"max_step": "any"} if any_step else {})}
        say("read with", ", ".join(f"{name}={value!r}" for name, value in reading.items()))
    updates = f", {found['n_updates']:,} updates" if "n_updates" in found else ""
    ordered = "timescales" in found
    episode = f"; {'an' if found['open_episode'] else 'no'} episode is open" if ordered else ""
    say("seen", f"{found['n_samples_seen']:,} samples{updates}{episode}")
    if "time_unit" in found:
        say("uneven", f"slowness is in units of the median step in time, {_of_time(found, found['time_unit'])}")
    if found["n_skipped"] or found["n_broken_pairs"]:
        say("gaps", f"{found['n_skipped']:,} samples skipped, {found['n_broken_pairs']:,} pairs broken")
    health = found["health"]
    words = []
    if "finite" in health:
        words.append("weights are finite" if health["finite"] else "WEIGHTS ARE NOT FINITE")
    if "rank" in health:
        words.append(f"rank {health['rank']:,} of {health['columns']:,} columns")
    for key in ("constraint_error", "condition_of_M", "learning_rate"):
        if key in health:
            words.append(f"{key.replace('_', ' ')} {_word(health[key], '.2g')}")
    if words:
        say("health", ", ".join(words))
    if health.get("warning"):
        say("warning", health["warning"])
    lines.extend(_table(found))
    if ordered:
        lines.append(
            "use the timescale for features with an exponential decay, the period for smooth features; noise shortens "
            "both"
        )
    if len(found["delta_values"]) > SHOWN:
        lines.append(f"… and {len(found['delta_values']) - SHOWN} more (--json has them all)")
    lines.extend(_patterns(found))
    return "\n".join(lines)


def _table(found: dict[str, Any]) -> list[str]:
    """Return the table of features: slowness, timescale and period in samples, and in units of time if it is known."""
    title = f"{'feature':<12} {'δ':>10}"
    if "timescales" not in found:
        return [
            title,
            *(f"slow{i:<8} {_word(delta, '.4g'):>10}" for i, delta in enumerate(found["delta_values"][:SHOWN])),
        ]
    step = found.get("origin", {}).get("step")
    title, real = f"{title}  {'timescale':>10}  {'period':>10}", "median steps" if "time_unit" in found else "samples"
    if step is not None:
        length = found.get("time_unit", step["length"])
        title += f"  {'timescale':>14}  {'period':>14}"
        real += ", then in " + ("time" if step["dated"] else f"units of {step['time']!r}")
    lines = [title]
    rows = zip(found["delta_values"][:SHOWN], found["timescales"], found["periods"], strict=False)
    for i, (delta, *times) in enumerate(rows):
        words = [f"{_word(number, '.4g'):>10}" for number in (delta, *times)]
        if step is not None:
            words += [f"{_in_time(number, float(length), dated=step['dated']):>14}" for number in times]
        lines.append(f"slow{i:<8} " + "  ".join(words))
    return [*lines, f"timescales and periods are in {real}"]


def _patterns(found: dict[str, Any]) -> list[str]:
    """Return lines with the columns that each feature is most correlated with."""
    if "pattern_correlations" not in found:
        return []
    columns = found["feature_names_in"] or [f"x{i}" for i in range(found["n_features_in"])]
    names = delayed_names(np.asarray(columns, object), found["parameters"].get("n_delays", 1))
    lines = ["feature      strongest columns of its pattern, with their correlations"]
    for i, pattern in enumerate(found["pattern_correlations"][:SHOWN]):
        values = [0.0 if value is None else value for value in pattern]
        strongest = sorted(range(len(values)), key=lambda j: -abs(values[j]))[:STRONGEST]
        lines.append(f"slow{i:<8} " + ", ".join(f"{printable(names[j])} {values[j]:+.2f}" for j in strongest))
    return [*lines, "patterns show what a feature looks like in the columns; weights compute it, and also cancel noise"]


def _of_time(found: dict[str, Any], length: float) -> str:
    """Return a length of time in words, in the units of the column of time."""
    step = found.get("origin", {}).get("step")
    if step is None:
        return f"{length:.4g}"
    return duration(length) if step["dated"] else f"{length:.4g} in units of {step['time']!r}"


def _in_time(samples: float | None, step: float, *, dated: bool) -> str:
    """Return a number of samples in units of time, or as a duration if times are dates."""
    if samples is None:
        return "–"
    return duration(samples * step) if dated else format(samples * step, ".4g")


def _word(value: float | None, form: str) -> str:
    return "–" if value is None else format(value, form)
