"""Tables of the programs of ``benchmarks``."""

import math
from collections.abc import Mapping
from typing import Any

from tables.sources import Results
from tables.words import between, number, percent

MIXTURES = {
    "local": "`LocalSFA`",
    "online": "`OnlineSFA` (natural gradient, not local)",
    "input layer": '`BioSFA(input_layer="lateral")`',
    "bio": "`BioSFA` (the paper's rule)",
}
CHAOTIC = {"local": "`LocalSFA`", "online": "`OnlineSFA`", "bio": "`BioSFA`"}
FEATURES = {"1": "one feature", "3": "three features (relative)", "5": "five features (relative)"}
MARKS = ("20000", "100000", "1000000")


def mixtures(results: Mapping[str, Results]) -> list[list[str]]:
    """How often learners come close to exact SFA."""
    tuned, others = (_figures(results, name)["mixtures"]["100000"] for name in ("convergence", "convergence-1"))
    columns = (
        *("", "within 5% on the twenty mixtures", "median", "worst"),
        *("within 5% on twenty other mixtures", "median", "worst"),
    )
    rows = [list(columns)]
    for name, label in MIXTURES.items():
        cells = [label]
        for each in (tuned, others):
            found = each[name]
            cells += [", ".join(map(str, found["learned"])), percent(found["median"]), percent(found["worst"])]
        rows.append(cells)
    return rows


def local_chaotic(results: Mapping[str, Results]) -> list[list[str]]:
    """Errors on the chaotic series, for one and more features."""
    found = _figures(results, "convergence")["chaotic"]
    rows = [["", "20,000 samples", "100,000", "1,000,000"]]
    for k, features in FEATURES.items():
        for name, label in CHAOTIC.items():
            title = f"{label}, {features}" if name == "local" else label
            rows.append([title, *(number(found[k][name][mark]) for mark in MARKS)])
    return rows


def ideas(results: Mapping[str, Results]) -> list[list[str]]:
    """Ideas for each weakness, the present rule first."""
    rows = [["weakness", "idea", "within 5%", "median", "worst"]]
    for weakness, tried in _figures(results, "ideas").items():
        for i, each in enumerate(tried):
            found = [f"{each['learned']} of {each['runs']}", _excess(each["median"]), _excess(each["worst"])]
            rows.append(["" if i else weakness, f"{each['idea']}{'' if i else ' (used)'}", *found])
    return rows


def limits(results: Mapping[str, Results]) -> list[list[str]]:
    """What networks reach at the limits of LocalSFA."""
    found = _figures(results, "limits")
    names = list(dict.fromkeys(name for case in found.values() for name in case))
    rows = [["", *(f"`{name}`" for name in names)]]
    for case, excess in found.items():
        rows.append([case, *(_excess(excess[name]) if name in excess else "" for name in names)])
    return rows


def _excess(value: float) -> str:
    return percent(value) if math.isfinite(value) else "fails"


def chaotic_rates(results: Mapping[str, Results]) -> list[list[str]]:
    """Errors on the chaotic series, for one feature."""
    found = _figures(results, "convergence")["chaotic"]["1"]
    labels = {"bio": "paper's rule, automatic rates", "local": "`LocalSFA`", "online": "`OnlineSFA`"}
    rows = [["error", "2e4 samples", "1e5", "1e6"]]
    return rows + [[label, *(number(found[name][mark]) for mark in MARKS)] for name, label in labels.items()]


def health(results: Mapping[str, Results]) -> list[list[str]]:
    """How often networks warn."""
    own, others = (_figures(results, name) for name in ("health", "health-1"))
    asked = {
        "bad": ("slowness more than 20% above that of exact SFA: with a warning", "≥ 90%"),
        "good": ("slowness within 5% of that of exact SFA: with a warning", "≤ 5%"),
        "clear": ("constraint error within a factor 2 of the true one, above 4(k + 1)/R", "all"),
    }
    rows = [["runs", "required", "found", "found on other streams"]]
    for name, (label, required) in asked.items():
        rows.append([label, required, *(f"{each[name][0]} of {each[name][1]}" for each in (own, others))])
    return rows


def monitoring(results: Mapping[str, Results]) -> list[list[str]]:
    """What a monitor was asked to reach, and what it has reached."""
    (source,) = results
    rows = [["", "asked", "seen"]]
    for part in _figures(results, source).values():
        rows += [[target, asked or "–", seen] for target, asked, seen in part]
    return rows


def targets(results: Mapping[str, Results]) -> list[list[str]]:
    """What the only program was asked to reach, and what it has reached."""
    (source,) = results
    found = _figures(results, source)
    return [["", "asked", "seen"], *([row["target"], row["asked"] or "–", row["seen"]] for row in found)]


def soak(results: Mapping[str, Results]) -> list[list[str]]:
    """Memory, time and error at the marks."""
    names = ("OnlineSFA", "BioSFA")
    logs = [results["soak"].content[f"{name}.json"]["rows"] for name in names]
    measured = ("memory", "time per sample", "slowness error")
    rows = [
        ["samples", *(f"`{name}`: {what}" if i == 0 else what for name in names for i, what in enumerate(measured))]
    ]
    for marks in zip(*logs, strict=True):
        rows.append([f"{marks[0]['samples']:,.0f}"])
        for mark in marks:
            rows[-1] += [
                f"{mark['memory'] / 2**20:.1f} MB",
                f"{1e6 * mark['µs/sample']:.3f} µs",
                number(mark["slowness error"]),
            ]
    return rows


def speed(results: Mapping[str, Results]) -> list[list[str]]:
    """Costs per sample, each with what it is compared with."""
    found = _figures(results, "bench")
    small, large = found["kernels"]["(14, 1) float64"], found["kernels"]["(2144, 49) float32"]
    online, local, exact, one = found["online"], found["local"], found["exact"]["1,000,000 × 14"], found["learn_one"]
    loop = "faster than a NumPy loop of the paper's algorithm"
    peers = ", ".join(
        f"{number(exact[name] / exact['biosfa'])} × faster than {name.removesuffix(' TICA')}"
        for name in exact
        if name != "biosfa"
    )
    return [
        ["", "time", "compared with"],
        ["`BioSFA`, 14 columns, 1 feature", f"{number(1e3 * _fastest(small))} ns", f"{_times(small)} × {loop}"],
        [
            "`BioSFA`, 2144 columns, 49 features, float32",
            f"{number(_fastest(large))} µs",
            f"{_times(large)} × faster than the loop, and {number(_fastest(large) / large['floor'])} × slower than the "
            "two matrix products that every exact kernel needs",
        ],
        [
            "`OnlineSFA`, the same",
            f"{number(online['(2144, 49)']['online'])} µs",
            f"{number(online['(2144, 49)']['online'] / online['(2144, 49)']['plain'])} × slower than that kernel",
        ],
        *(
            [
                f"`LocalSFA`, {size.strip('()').replace(', ', ' columns, ')} feature{'s' * (size != '(14, 1)')}",
                f"{number(cost['local'])} µs",
                f"{number(cost['local'] / cost['product'])} × the time of one product Lx",
            ]
            for size, cost in local.items()
        ),
        *(
            [
                f"`LocalSFA(input_layer=64)`, {size.strip('()').replace(', ', ' columns, ')} features",
                f"{number(cost['local'])} µs",
                f"{number(cost['local'] / cost['product'])} × the time of one product Fᵀx",
            ]
            for size, cost in found.get("interneurons", {}).items()
        ),
        [
            "`BioSFA.learn_one`, 14 columns, 1 feature",
            f"{number(one['learn_one'])} µs",
            f"{number(one['loop'] / one['learn_one'])} × faster than one step of the NumPy loop",
        ],
        ["exact `SFA`, 1,000,000 samples × 14 columns, in all", f"{number(exact['biosfa'])} s", peers],
    ]


def speed_summary(results: Mapping[str, Results]) -> list[list[str]]:
    """The three lines of the README."""
    header, small, large, *_, exact = speed(results)
    large = [large[0], large[1], large[2].split(",")[0]]
    return [
        header,
        [small[0], f"{small[1]} per sample", small[2]],
        [large[0], f"{large[1]} per sample", large[2]],
        exact,
    ]


def _figures(results: Mapping[str, Results], source: str) -> dict[str, Any]:
    figures: dict[str, Any] = results[source].content["figures.json"]
    return figures


def _fastest(times: dict[str, float]) -> float:
    """Microseconds per sample of the faster of the two kernels."""
    return min(times["sequential kernel"], times["blocked kernel"])


def _times(times: dict[str, float]) -> str:
    return between([times["NumPy loop"] / _fastest(times)])
