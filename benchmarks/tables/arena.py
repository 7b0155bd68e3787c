"""Tables of the arena."""

from collections.abc import Mapping
from typing import Any

from biosfa.experiments.arena import CONTESTANTS, SCALED
from tables.sources import Results
from tables.words import number, seconds, spread

SHOWN = {  # in the summary
    "exact": "exact `SFA` (its sums)",
    "online": "`OnlineSFA`",
    "local": "`LocalSFA`",
    "bio-sfa": "`BioSFA()`",
    "input-layer": '`BioSFA(input_layer="auto")`',
    "interneuron": '`BioSFA(rule="interneuron")`',
    "incremental": "`IncrementalSFA`",
    "gev": "`OnlineGEV`",
    "foldiak": "`FoldiakTrace`",
}
SIZES = (100, 500, 1000, 5000)
TWO_REGIMES = "m² to 512, then m"  # learners that change their method there


def summary(results: Mapping[str, Results]) -> list[list[str]]:
    """Errors on all problems, and costs."""
    problems = {"mixture": "mixture, 1e6 samples", "chaotic": "chaotic, 1e6", "images-small": "images-small, 1e5"}
    rows = [["", "local", *problems.values(), "per sample, m = 1,000", "grows as"]]
    costs = _timings(results)["scaling"]
    for name, label in SHOWN.items():
        errors = [_learners(results, problem)[name]["error"]["median"] for problem in problems]
        rows.append(
            [
                label,
                CONTESTANTS[name].local,
                *(_error(value) for value in errors),
                seconds(_at(costs[name], "seconds_a_sample", 1000)),
                _growth(name, costs[name]["exponent_of_time"]),
            ]
        )
    return rows


def mixture(results: Mapping[str, Results]) -> list[list[str]]:
    """Everything about the learners on the first problem."""
    found, times = _learners(results, "mixture"), _timings(results)["learners"]
    rows = [
        [
            "10 columns, 3 features, 1,000,000 samples",
            "error at the end",
            "angle to exact",
            "samples until the error is 0.1",
            "time until the error is 0.1",
            "per sample",
        ]
    ]
    for name, own in found.items():
        exact = name == "exact"
        samples = own["samples_until_close"]
        rows.append(
            [
                CONTESTANTS[name].label,
                "0" if exact else spread(own["error"]),
                "0" if exact else f"{number(own['angle']['median'])}°",
                spread(samples) if samples["median"] else _rarely(own["runs_close"]),
                seconds(times[name]["seconds_until_close"]["median"]),
                seconds(times[name]["seconds_a_sample"]["median"]),
            ]
        )
    return rows


def scaling(results: Mapping[str, Results]) -> list[list[str]]:
    """Costs against the number of columns."""
    sizes = [f"m = {SIZES[0]}", *(f"{size:,}" for size in SIZES[1:])]
    rows = [["10 features, one core", *sizes, "time grows as", "memory, m = 5,000"]]
    for name, own in _timings(results)["scaling"].items():
        times = [seconds(_at(own, "seconds_a_sample", size)) for size in SIZES]
        memory = _at(own, "bytes", SIZES[-1])
        kept = "" if memory is None else f"{number(memory / 1e6)} MB"
        rows.append([own["label"], *times, _growth(name, own["exponent_of_time"]), kept])
    return rows


def _learners(results: Mapping[str, Results], problem: str) -> dict[str, Any]:
    learners: dict[str, Any] = results[f"compare-{problem}"].content["metrics.json"]["learners"]
    return learners


def _timings(results: Mapping[str, Results]) -> dict[str, Any]:
    timings: dict[str, Any] = results["compare-mixture"].content["timings.json"]
    return timings


def _at(cost: dict[str, Any], what: str, columns: int) -> float | None:
    """A cost at a number of columns, if it was measured there."""
    return cost[what][cost["columns"].index(columns)] if columns in cost["columns"] else None


def _growth(name: str, exponent: float) -> str:
    return TWO_REGIMES if SCALED[name].learner in ("online", "local", "input-layer") else f"m^{exponent:.2f}"


def _error(value: float) -> str:
    return "0" if value < 1e-9 else number(value)


def _rarely(runs: int) -> str:
    return "never" if runs == 0 else f"in {runs} of the runs"
