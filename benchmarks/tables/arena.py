"""Tables of the arena."""

from collections.abc import Mapping
from typing import Any

from biosfa.experiments.arena import CONTESTANTS, SCALED
from tables.sources import Results
from tables.words import microseconds, number, spread

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
TWO_REGIMES = "m² to 512, then m"  # of learners that change their method there
LEAST_POWER = -2  # smaller errors have an exponent


def summary(results: Mapping[str, Results]) -> list[list[str]]:
    """Errors on all problems, and costs."""
    problems = {"mixture": "mixture, 1e6 samples", "chaotic": "chaotic, 1e6", "images-small": "images-small, 1e5"}
    rows = [["", "local", *problems.values(), "µs per sample, m = 1,000", "time grows as"]]
    costs = _timings(results)["scaling"]
    for name, label in SHOWN.items():
        errors = [_learners(results, problem)[name]["error"]["median"] for problem in problems]
        rows.append(
            [
                label,
                CONTESTANTS[name].local,
                *(_error(value) for value in errors),
                microseconds(_at(costs[name], "seconds_a_sample", 1000)),
                _growth(name, costs[name]["exponent_of_time"]),
            ]
        )
    return rows


def mixture(results: Mapping[str, Results]) -> list[list[str]]:
    """The learners on the first problem."""
    return _one_problem(results, "mixture", "10 columns, 3 features, 1,000,000 samples")


def images(results: Mapping[str, Results]) -> list[list[str]]:
    """The learners on images."""
    return _one_problem(results, "images-small", "152 columns, 9 features, 100,000 samples")


def scaling(results: Mapping[str, Results]) -> list[list[str]]:
    """Costs against the number of columns."""
    sizes = [f"m = {SIZES[0]}", *(f"{size:,}" for size in SIZES[1:])]
    rows = [["µs per sample, 10 features, one core", *sizes, "time grows as", "memory, m = 5,000"]]
    for name, own in _timings(results)["scaling"].items():
        times = [microseconds(_at(own, "seconds_a_sample", size)) for size in SIZES]
        memory = _at(own, "bytes", SIZES[-1])
        kept = "" if memory is None else f"{number(memory / 1e6)} MB"
        rows.append([own["label"], *times, _growth(name, own["exponent_of_time"]), kept])
    return rows


def _one_problem(results: Mapping[str, Results], problem: str, title: str) -> list[list[str]]:
    """Errors and times of all learners on a problem."""
    times = _timings(results, problem)["learners"]
    rows = [
        [
            title,
            "error at the end",
            "angle to exact",
            "samples until the error is 0.1",
            "ms until the error is 0.1",
            "µs per sample",
        ]
    ]
    for name, own in _learners(results, problem).items():
        exact = name == "exact"
        samples, until = own["samples_until_close"], times[name]["seconds_until_close"]
        close = samples["median"] is not None
        rows.append(
            [
                CONTESTANTS[name].label,
                "0" if exact else spread(own["error"], least_power=LEAST_POWER),
                "0" if exact else f"{number(own['angle']['median'])}°",
                spread(samples) if close else _rarely(own["runs_close"], len(samples["runs"])),
                spread(until, unit=1e-3) if close else "",
                microseconds(times[name]["seconds_a_sample"]["median"]),
            ]
        )
    return rows


def _learners(results: Mapping[str, Results], problem: str) -> dict[str, Any]:
    learners: dict[str, Any] = results[f"compare-{problem}"].content["metrics.json"]["learners"]
    return learners


def _timings(results: Mapping[str, Results], problem: str = "mixture") -> dict[str, Any]:
    timings: dict[str, Any] = results[f"compare-{problem}"].content["timings.json"]
    return timings


def _at(cost: dict[str, Any], what: str, columns: int) -> float | None:
    """A cost at a number of columns, if it was measured there."""
    return cost[what][cost["columns"].index(columns)] if columns in cost["columns"] else None


def _growth(name: str, exponent: float) -> str:
    return f"m^{exponent:.2f}" if SCALED[name].one_method else TWO_REGIMES


def _error(value: float) -> str:
    return "0" if value < 1e-9 else number(value, least_power=LEAST_POWER)


def _rarely(close: int, runs: int) -> str:
    return f"only in {close} of {runs} runs" if close else "never"
