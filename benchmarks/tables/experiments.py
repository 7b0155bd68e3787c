"""Tables of the paper's experiments."""

from collections.abc import Mapping
from typing import Any

from tables.sources import Results
from tables.words import number, percent

# From the ten runs that the authors published with their program, whose series is that of the preset.
AUTHORS = {10_000_000: 0.116, 20_000_000: 0.049, 30_000_000: 0.015, 40_000_000: 0.0044}

NETWORKS = {
    "exact": "exact SFA",
    "bio": "Bio-SFA: the paper's rule, annealed rates",
    "local": "`LocalSFA` in all layers",
    "online": "Bio-SFA, upper layers with `OnlineSFA`",
    "one-pass": "the same, purely online: every frame once",
    "paper": "Bio-SFA, paper's rates (2, 10, 20 passes)",
    "linear": "control: linear SFA",
    "random": "control: random weights",
}

HEADS = {"path": "follows the movement", "walk": "turns as simulated"}

UNITS = {
    ("exact",): "exact SFA",
    ("bio-sfa", "paper"): "Bio-SFA, paper's rates, 4e6 samples",
    ("bio-sfa", "online"): "`OnlineSFA`, 1e6 samples",
    ("bio-sfa", "local"): "`LocalSFA`, 64 interneurons, 1e6 samples",
    ("reversible", "paper"): "reversible rule, paper's rates, 4e6 samples",
    ("reversible", "online"): "`OnlineSFA(reversible=True)`, 1e6 samples",
    ("shuffled",): "control: shuffled in time",
    ("random",): "control: random forms",
}


def chaotic(results: Mapping[str, Results]) -> list[list[str]]:
    """Errors of the paper's networks."""
    found = _metrics(results, "reproduce-chaotic")["error_median"]
    return [
        ["error, median of 10 runs", "1e7 steps", "2e7", "3e7", "4e7"],
        ["authors", *(number(value) for value in AUTHORS.values())],
        ["biosfa, default seed", *(number(found[str(step)]) for step in AUTHORS)],
    ]


def rat(results: Mapping[str, Results]) -> list[list[str]]:
    """Place cells of each network."""
    networks = _metrics(results, "reproduce-rat")["networks"]
    oracle = networks["exact"][0]["delta_oracle_mean"]
    rows = [["", "place units of 32", "S_pos", "S_dir", "bits", f"mean Δ (oracle: {number(oracle)})"]]
    for name, label in NETWORKS.items():
        run = networks[name][0]
        rows.append(
            [
                label,
                str(run["place_units"]),
                number(run["s_pos_median"], 3),
                number(run["s_dir_median"], 1),
                number(run["spatial_information_median"], 3),
                number(run["delta_mean"]),
            ]
        )
    return rows


def walks(results: Mapping[str, Results]) -> list[list[str]]:
    """Cells of each network on each recorded walk."""
    rows = [
        [
            "walk",
            "head",
            "",
            "place",
            "head-direction",
            "mixed",
            "S_pos",
            "S_dir",
            "Δ of position",
            "Δ of head direction",
        ]
    ]
    for run in results["walks"].content["figures.json"]:
        counts = (str(run[f"{kind}_units"]) for kind in ("place", "direction", "mixed"))
        shares = number(run["s_pos_median"], 3), number(run["s_dir_median"], 1)
        speeds = number(run["delta_position"]), number(run["delta_heading"])
        names = run["walk"], HEADS[run["head"]], NETWORKS[run["network"]].split(":")[0]
        rows.append([*names, *counts, *shares, *speeds])
    return rows


def images(results: Mapping[str, Results]) -> list[list[str]]:
    """Complex cells of each network, with the ranges of the runs."""
    found = _metrics(results, "reproduce-images")
    rows = [["", "relative error", "Gabor R²", "units with R² > 0.8", "F2/F0", "\\|cos\\| of invariance"]]
    for path, label in UNITS.items():
        cells = [_at(found[f"{key}"], path) for key in ("gabor_r2_median", "gabor_r2_above_0_8")]
        error = _at(found["relative_error"], path)
        runs = [
            value for name, value in found["relative_error_of_runs"].items() if name.startswith("-".join(path) + "-")
        ]
        span = f" ({number(min(runs))}–{number(max(runs))})" if len(runs) > 1 else ""
        rows.append(
            [
                label,
                "0" if error is not None and abs(error) < 1e-9 else number(error) + span,
                number(cells[0], 3),
                percent(cells[1] or 0.0),
                number(_at(found["f2_f0_median"], path)),
                number(_at(found["invariance_cosine_median"], path), 3),
            ]
        )
    return rows


def _metrics(results: Mapping[str, Results], source: str) -> dict[str, Any]:
    content: dict[str, Any] = results[source].content["metrics.json"]
    return content


def _at(values: dict[str, Any], path: tuple[str, ...]) -> float | None:
    """A value in nested dictionaries."""
    found: Any = values
    for name in path:
        found = found[name]
    return None if found is None else float(found)
