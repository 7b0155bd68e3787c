"""Whether the limits, verdicts and contributions of a monitor hold: ``make bench-monitoring``.

All parts use simulated data, except the first one: ``--tep FOLDER`` has the Tennessee Eastman benchmark (Downs & Vogel
1993), as Parquet files ``d00`` (training), ``d00_te`` (normal operation) and ``d01_te`` to ``d21_te`` (faults).
"""

import argparse
import json
import os
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from scipy.signal import lfilter
from threadpoolctl import threadpool_limits

from biosfa import ShortCalibrationWarning
from biosfa.datasets import stirred_tank
from biosfa.io import open_stream
from biosfa.monitoring import SlowFeatureMonitor, compare

COLUMNS = [*(f"XMEAS_{i}" for i in range(1, 23)), *(f"XMV_{i}" for i in range(1, 12))]  # as in most papers
DETECTABLE = (1, 2, 4, 5, 6, 7, 8, 10)
BEGINS = 160  # row at which the faults of the benchmark begin
SENSORS = ("feed_temperature", "concentration", "jacket_temperature", "coolant_flow", "outlet_flow", "feed_flow")
TRAINING = 10_000  # rows of the simulated plant
FOULING = 0.0035  # moves the temperature of the jacket by three standard deviations within 20,000 rows

Rows = list[tuple[str, str, str, bool]]  # target, asked, seen, whether it was reached


def share(values: Any) -> str:
    """A share in percent."""
    return f"{100 * float(np.mean(values)):.1f}%"


def span(values: Any) -> str:
    """The smallest and the largest of some shares, in percent."""
    return f"{100 * float(np.min(values)):.1f}–{100 * float(np.max(values)):.1f}%"


def false_alarms(what: str, shares: Any) -> tuple[str, str, str, bool]:
    """Return a row about the false alarms of the four statistics."""
    return what, "≤ 2.5%", span(shares), bool(np.max(shares) <= 0.025)


def tep(folder: Path) -> Rows:
    """The Tennessee Eastman benchmark, all learned from d00."""

    def read(name: str) -> np.ndarray:
        return np.concatenate([c.samples for c in open_stream(folder / f"{name}.parquet", columns=COLUMNS)])

    normal = read("d00")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ShortCalibrationWarning)
        monitor = SlowFeatureMonitor(n_delays=3).fit(normal)
    beyond = monitor.statistics(read("d00_te")) > monitor.limits_
    rows: Rows = [false_alarms("false alarms on d00_te", beyond.mean(axis=0))]
    faults = {f: read(f"d{f:02d}_te") for f in range(1, 22) if (folder / f"d{f:02d}_te.parquet").exists()}
    verdicts = {f: monitor.verdicts(X) for f, X in faults.items()}
    levels = {f: (monitor.statistics(X) > monitor.limits_)[BEGINS:, :2].any(axis=1).mean() for f, X in faults.items()}
    mean = np.mean([levels[f] for f in DETECTABLE])
    rows.append(("either T² out, mean over the detectable faults", "≥ 98.5%", share(mean), bool(mean >= 0.985)))
    for fault, least in ((5, 0.995), (10, 0.94)):
        rows.append(
            (f"either T² out, fault {fault}", f"≥ {share(least)}", share(levels[fault]), levels[fault] >= least)
        )
    moved = [(verdicts[fault][660:] == "moved").mean() for fault in (1, 2, 4, 5, 7)]
    rows.append(('faults 1, 2, 4, 5, 7, rows 660–960: "moved"', "≥ 95%", span(moved), min(moved) >= 0.95))
    abnormal = [(verdicts[fault][400:660] == "abnormal").mean() for fault in (6, 8)]
    rows.append(('faults 6, 8, rows 400–660: "abnormal"', "≥ 93%", span(abnormal), min(abnormal) >= 0.93))
    found: dict[str, list[float]] = {}
    for fault in DETECTABLE:
        for name, peer in compare(monitor, normal, faults[fault]).items():
            levels_only = [i for i, statistic in enumerate(peer.names) if not statistic.startswith("S²")]
            found.setdefault(name, []).append(float((peer.statistics[BEGINS:, levels_only] > 1).any(axis=1).mean()))
    rows += [(f"any statistic of the level out, {name}", "", share(values), True) for name, values in found.items()]
    return rows


def mixture(rng: np.random.Generator, m: int, slowest: float, n: int) -> np.ndarray:
    """Sources with correlation times up to ``slowest``, mixed, and noise."""
    times = np.exp(rng.uniform(0, np.log(slowest), m))
    times[0] = slowest
    memory, noise = np.exp(-1 / times), rng.standard_normal((n + 1000, m))
    sources = [lfilter([np.sqrt(1 - p**2)], [1, -p], noise[:, i])[1000:] for i, p in enumerate(memory)]
    return np.stack(sources, axis=1) @ rng.standard_normal((m, m)) + 0.1 * rng.standard_normal((n, m))


def autoregressive(seed: int) -> tuple[np.ndarray, bool, bool]:
    """False alarms per statistic on one process, and whether the monitor warns: of all rows, of a third of them."""
    rng = np.random.default_rng(seed)
    m, slowest = int(rng.integers(3, 16)), float(np.exp(rng.uniform(np.log(5), np.log(50))))
    n, further = int(100 * slowest), int(1000 * slowest)
    X = mixture(rng, m, slowest, n + further)

    def fitted(rows: int) -> tuple[SlowFeatureMonitor, bool]:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", ShortCalibrationWarning)
            monitor = SlowFeatureMonitor().fit(X[:rows])
        return monitor, any(each.category is ShortCalibrationWarning for each in caught)

    monitor, warned = fitted(n)
    _, warned_early = fitted(n // 3)
    return (monitor.statistics(X[n:])[1:] > monitor.limits_).mean(axis=0), warned, warned_early


def processes(jobs: Parallel, first: int) -> Rows:
    """Processes with known correlation times."""
    found = jobs(delayed(autoregressive)(first + seed) for seed in range(200))
    alarms = np.array([each[0] for each in found])
    means, few = alarms.mean(axis=0), (alarms <= 0.03).mean(axis=0)
    reached = bool(means.min() >= 0.007 and means.max() <= 0.015)
    rows: Rows = [
        ("200 AR processes, false alarms of the four statistics: means", "0.7–1.5%", span(means), reached),
        ("  runs with at most 3% false alarms", "≥ 95%", span(few), bool(few.min() >= 0.95)),
    ]
    warned, early = (np.mean([each[i] for each in found]) for i in (1, 2))
    rows.append(("  a third of the training rows: runs with a warning", "≥ 90%", share(early), bool(early >= 0.9)))
    rows.append(("  all training rows: runs with a warning", "", share(warned), True))
    return rows


def plant(seed: int) -> dict[str, bool]:
    """Verdicts on one simulated plant, and the sensors that contribute most."""
    normal = stirred_tank(TRAINING, random_state=seed).samples
    monitor = SlowFeatureMonitor(n_delays=2, persistence=(3, 10)).fit(normal)
    found: dict[str, bool] = {}
    expected = {"set_point": "moved", "stuck_valve": "abnormal", "noise": "abnormal", "lost_controller": "abnormal"}
    for i, (fault, verdict) in enumerate(expected.items()):
        run = stirred_tank(1500, fault=fault, start=500, random_state=1000 + 10 * seed + i)  # type: ignore[arg-type]
        after = monitor.verdicts(run.samples)[600 if fault == "set_point" else 520 :]
        found[fault] = bool((after == verdict).mean() > 0.5)
    sensor = SENSORS[seed % len(SENSORS)]
    for i, fault in enumerate(("bias", "drift", "noise")):
        run = stirred_tank(1500, fault=fault, start=500, sensor=sensor, random_state=2000 + 10 * seed + i)  # type: ignore[arg-type]
        strongest = np.argsort(-monitor.causes(run.samples)[500:].sum(axis=0))[:2]
        found[f"contributions, {fault}"] = sensor in [run.columns[j] for j in strongest]
    return found


def plants(jobs: Parallel, first: int) -> Rows:
    """A hundred simulated plants."""
    found = jobs(delayed(plant)(first + seed) for seed in range(100))
    rows: Rows = []
    for key in found[0]:
        right = np.mean([each[key] for each in found])
        what = f"{key}: the faulty sensor is among the first two" if key.startswith("contrib") else f"{key}: verdict"
        rows.append((f"100 plants, {what}", "≥ 95%", share(right), bool(right >= 0.95)))
    return rows


def drift(seed: int, kind: str) -> tuple[np.ndarray, bool, float]:
    """False alarms while a process drifts, whether a faster drift of one sensor is in alarm at the end, and the delay.

    The plant's cooling jacket fouls, or the columns of a mixture of ten sources drift in random directions: by three
    standard deviations within 20,000 rows. From the middle on, one sensor drifts ten times as fast.
    """
    rng = np.random.default_rng(seed)
    n = 20_000
    if kind == "plant":
        normal = stirred_tank(TRAINING, random_state=seed).samples
        X = stirred_tank(n, fouling=FOULING, random_state=10_000 + seed).samples
    else:
        X = mixture(rng, 10, 50.0, TRAINING + n)
        normal, X = X[:TRAINING], X[TRAINING:]
        X = X + 3 * np.linspace(0, 1, n)[:, None] * rng.choice([-1.0, 1.0], 10) * normal.std(axis=0)
    sensor, faulty = int(rng.integers(10)), X.copy()
    faulty[n // 2 :, sensor] += 30 * normal.std(axis=0)[sensor] * np.arange(n - n // 2) / n
    found = []
    for each in (X, faulty):
        monitor = SlowFeatureMonitor(n_delays=2 if kind == "plant" else 1, forget=2000).fit(normal)
        (chunk,) = open_stream(each, chunk_size=n)
        found.append(monitor.watch_chunk(chunk))
    alarms = found[1].verdicts[n // 2 :] != "normal"
    lasting = np.flatnonzero(np.convolve(alarms, np.ones(20))[: len(alarms)] >= 10)
    delay = float(lasting[0]) if len(lasting) else np.inf
    return (found[0].statistics[1:] > monitor.limits_).mean(axis=0), bool(alarms[-2000:].mean() > 0.9), delay


def drifts(jobs: Parallel, first: int) -> Rows:
    """Processes that drift by three standard deviations within 20,000 rows, with ``forget=2000``."""
    rows: Rows = []
    for kind in ("plant", "mixture"):
        found = jobs(delayed(drift)(first + seed, kind) for seed in range(100))
        alarms, stays, delays = (np.array([each[i] for each in found]) for i in range(3))
        rows.append(false_alarms(f"{kind}: benign drift, false alarms", alarms.mean(axis=0)))
        what = f"{kind}: one sensor drifts ten times faster: in alarm at the end"
        rows.append((what, "≥ 95%", share(stays), bool(stays.mean() >= 0.95)))
        rows.append(("  median delay of the alarm", "", f"{np.median(delays):.0f} rows", True))
    return rows


def acceptance(seed: int) -> np.ndarray:
    """False alarms after a new set point was accepted, by 1,000 of its rows."""
    monitor = SlowFeatureMonitor(n_delays=2).fit(stirred_tank(TRAINING, random_state=seed).samples)
    run = stirred_tank(6500, fault="set_point", start=500, random_state=20_000 + seed).samples
    monitor.accept(run[:2500], since=600)
    return (monitor.statistics(run[2500:])[2:] > monitor.limits_).mean(axis=0)


def acceptances(jobs: Parallel, first: int) -> Rows:
    """Plants whose set point was changed, and accepted."""
    found = np.array(jobs(delayed(acceptance)(first + seed) for seed in range(100)))
    return [false_alarms("after accept(), false alarms", found.mean(axis=0))]


def speed() -> Rows:
    """Time of one row at 52 columns and 3 delays."""
    X = np.random.default_rng(0).standard_normal((5000, 52))
    monitor = SlowFeatureMonitor(n_delays=3).fit(X)
    fastest = np.inf
    for _ in range(5):
        begin = time.perf_counter()
        for x in X[:2000]:
            monitor.update(x)
        fastest = min(fastest, (time.perf_counter() - begin) / 2000)
    return [("update(), 52 columns, 3 delays, per row", "≤ 40 µs", f"{1e6 * fastest:.1f} µs", fastest <= 40e-6)]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--tep", type=Path, help="folder of the Tennessee Eastman benchmark")
    parser.add_argument("--seed", type=int, default=5000, help="first seed of the simulated data")
    parser.add_argument("--only", nargs="+", help="names of parts")
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    options = parser.parse_args()
    jobs = Parallel(2)
    parts: dict[str, Callable[[], Rows]] = {
        "processes": lambda: processes(jobs, options.seed),
        "plants": lambda: plants(jobs, options.seed),
        "drifts": lambda: drifts(jobs, options.seed),
        "acceptances": lambda: acceptances(jobs, options.seed),
        "speed": speed,
    }
    if options.tep:
        parts = {"tep": lambda: tep(options.tep), **parts}
    figures: dict[str, Any] = {}
    missed = 0
    for name, part in parts.items():
        if options.only and name not in options.only:
            continue
        figures[name] = part()
        for target, asked, seen, reached in figures[name]:
            missed += not reached
            print(f"{target:70} {asked:>9} {seen:>9} {'' if reached else 'MISSED'}", flush=True)
    if options.json:
        plain = {name: [row[:3] for row in rows] for name, rows in figures.items()}
        options.json.write_text(json.dumps(plain, indent=1, ensure_ascii=False), encoding="utf-8")
    sys.exit(1 if missed else 0)


if __name__ == "__main__":
    os.environ["PYTHONWARNINGS"] = "ignore"  # in the processes of joblib
    with threadpool_limits(1):
        main()
