"""How often chance is called real, and how often a shared signal is found: ``make bench-chance``.

Every case is tried with data that have no shared signal, at a level of 5%. A case in which more than 8% of the runs are
called real is repeated with 1,000 other runs. ``--power`` tries shared signals instead.
"""

import argparse
import json
import os
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed
from scipy.signal import lfilter
from threadpoolctl import threadpool_limits

from biosfa.selection import significance

N_SURROGATES, LEVEL = 19, 0.05
REPEATED, MOST_REPEATED = 0.08, 0.075  # a case is repeated if more is called real; then, no more than this may be
POOLED = 0.055
Recording = tuple[np.ndarray, np.ndarray]  # samples, and lengths of episodes
Make = Callable[[np.random.Generator], Recording]


class Case(NamedTuple):
    """A kind of recording."""

    name: str
    make: Make
    settings: Mapping[str, Any] = MappingProxyType({})


def process(phi: float, shape: tuple[int, int], rng: np.random.Generator) -> np.ndarray:
    """Stationary autoregressive columns of unit variance; a random walk for phi = 1."""
    noise = rng.standard_normal(shape)
    if phi == 1.0:
        return noise.cumsum(axis=0)
    first = noise[:1]
    noise = np.sqrt(1.0 - phi**2) * noise[1:]
    return np.concatenate([first, lfilter([1.0], [1.0, -phi], noise, axis=0, zi=phi * first)[0]])


def garch(shape: tuple[int, int], rng: np.random.Generator) -> np.ndarray:
    """Columns whose variance depends on the past."""
    noise, variance = rng.standard_normal(shape), np.ones(shape[1])
    found = np.empty(shape)
    for t in range(len(noise)):
        found[t] = np.sqrt(variance) * noise[t]
        variance = 0.05 + 0.15 * found[t] ** 2 + 0.8 * variance
    return found


def binary(shape: tuple[int, int], rng: np.random.Generator) -> np.ndarray:
    """Columns of two values, which change in one of twenty rows."""
    return np.sign(np.cumprod(np.where(rng.random(shape) < 0.05, -1.0, 1.0), axis=0))


def smooth(shape: tuple[int, int], rng: np.random.Generator) -> np.ndarray:
    """Filtered noise without steps."""
    return lfilter(np.hanning(31), [1.0], rng.standard_normal(shape), axis=0)


def oscillating(shape: tuple[int, int], rng: np.random.Generator) -> np.ndarray:
    """Noisy oscillations: AR(2) with a period of about 30 rows."""
    return lfilter([1.0], [1.0, -2 * 0.95 * np.cos(2 * np.pi / 30), 0.95**2], rng.standard_normal(shape), axis=0)


def heavy(shape: tuple[int, int], rng: np.random.Generator) -> np.ndarray:
    """AR(1) with heavy tails."""
    return lfilter([1.0], [1.0, -0.9], rng.standard_t(1.5, shape), axis=0)


KINDS = {"GARCH": garch, "binary": binary, "smooth": smooth, "AR(2)": oscillating, "t(1.5)": heavy}


def cut(X: np.ndarray, how: str, rng: np.random.Generator) -> Recording:
    """Return samples with gaps or in episodes, and the lengths of the episodes."""
    n = len(X)
    kind, _, number = how.partition(" ")
    if kind == "missing":
        kept = np.flatnonzero(rng.random(n) >= float(number) / 100)
    elif kind == "weekends":
        kept = np.flatnonzero(np.arange(n) % 7 < 5)
    elif kind == "every":
        return X, lengths_of(np.arange(n) % int(number) == 0)
    elif kind == "pieces":
        ends = np.sort(rng.choice(np.arange(1, n), int(number) - 1, replace=False))
        return X, np.diff(np.r_[0, ends, n])
    else:
        return X, np.array([n])
    return X[kept], lengths_of(np.r_[True, np.diff(kept) > 1])


def lengths_of(starts: np.ndarray) -> np.ndarray:
    """Return the lengths of the episodes that begin where ``starts`` is true."""
    return np.diff(np.r_[np.flatnonzero(starts), len(starts)])


def columns(phi: float | list[float], n: int, m: int, how: str) -> Make:
    """Independent processes, cut."""
    phis = [phi] * m if isinstance(phi, float) else phi

    def make(rng: np.random.Generator) -> Recording:
        return cut(np.column_stack([process(each, (n, 1), rng) for each in phis]), how, rng)

    return make


def of_kind(kind: str, n: int, m: int, how: str) -> Make:
    """Independent processes that are not autoregressive, cut."""
    return lambda rng: cut(KINDS[kind]((n, m), rng), how, rng)


def lengths_for(episodes: str, rng: np.random.Generator) -> np.ndarray:
    """Lengths of separate episodes: 20 of 100 rows, 140 of 4 to 24 rows, or 2 of 1,000 rows."""
    if episodes == "140":
        return rng.integers(4, 25, 140)
    return np.full(20, 100) if episodes == "20×100" else np.full(2, 1000)


def separate(phi: float, m: int, episodes: str, offset: float = 0.0) -> Make:
    """Episodes that are recordings of their own, each with its own offset."""

    def make(rng: np.random.Generator) -> Recording:
        lengths = lengths_for(episodes, rng)
        return np.concatenate([process(phi, (n, m), rng) + offset * rng.standard_normal(m) for n in lengths]), lengths

    return make


def chance() -> Iterator[Case]:
    """Recordings without a shared signal."""
    gaps = ["missing 1", "missing 5", "missing 20"]
    phis = [0.0, 0.9, 0.99, 0.999, 1.0]
    for how in ["unbroken", *gaps, "missing 50", "every 3", "every 10", "every 100", "weekends"]:
        for phi in phis:
            yield Case(f"2,000 × 5, φ = {phi:g}, {how}", columns(phi, 2000, 5, how))
    for how in ("every 1000", "every 400"):
        for phi in (0.99, 1.0):
            yield Case(f"2,000 × 5, φ = {phi:g}, {how}", columns(phi, 2000, 5, how))
    for how in ("unbroken", "missing 20", "missing 50", "every 3", "every 10"):
        for phi in (0.0, 0.9, 0.99, 1.0):
            yield Case(f"200 × 5, φ = {phi:g}, {how}", columns(phi, 200, 5, how))
    yield Case("200 × 5, φ = 1, cut once", columns(1.0, 200, 5, "every 100"))
    for how in ("missing 1", "missing 5", "every 100"):
        yield Case(f"200 × 10, φ = 0.9, {how}", columns(0.9, 200, 10, how))
    for phi, number in ((0.99, 2), (1.0, 2), (1.0, 3), (1.0, 6), (0.99, 9)):
        yield Case(f"500 × 5, φ = {phi:g}, {number} random pieces", columns(phi, 500, 5, f"pieces {number}"))
    for phi, how in ((0.99, "every 10"), (0.99, "missing 5"), (0.999, "every 100")):
        yield Case(f"20,000 × 5, φ = {phi:g}, {how}", columns(phi, 20_000, 5, how))
    for phi, how in ((0.9, "unbroken"), (0.9, "missing 5"), (0.9, "every 10"), (0.99, "unbroken"), (0.99, "missing 5")):
        yield Case(f"2,000 × 30, φ = {phi:g}, {how}", columns(phi, 2000, 30, how))
    yield Case("2,000 × 2, φ = 0.99, missing 20", columns(0.99, 2000, 2, "missing 20"))
    yield Case("2,000 × 2, φ = 1, every 10", columns(1.0, 2000, 2, "every 10"))
    yield Case("500 × 2, φ = 1, 2 random pieces", columns(1.0, 500, 2, "pieces 2"))
    for phi, m, episodes in ((0.8, 5, "20×100"), (0.8, 5, "140"), (0.9, 10, "20×100")):
        yield Case(f"separate episodes, {episodes} × {m}, φ = {phi:g}", separate(phi, m, episodes))
    for phi, m, episodes in ((0.8, 5, "20×100"), (0.8, 5, "140"), (0.5, 5, "2×1,000"), (0.5, 2, "2×1,000")):
        yield Case(f"with an offset each, {episodes} × {m}, φ = {phi:g}", separate(phi, m, episodes, offset=5.0))
    for kind in KINDS:
        for how in ("missing 20", "every 10", "every 100"):
            yield Case(f"2,000 × 5, {kind}, {how}", of_kind(kind, 2000, 5, how))
    for how in ("unbroken", "every 10", "every 100"):
        yield Case(f"2,000 × 5, φ = 0 to 0.999, {how}", columns([0.0, 0.5, 0.9, 0.99, 0.999], 2000, 5, how))
    for how in ("unbroken", "missing 20", "every 10", "every 100"):
        for name, settings in (("4 delays", {"n_delays": 4}), ("quadratic", {"expansion": "quadratic"})):
            for phi in (0.95, 1.0):
                yield Case(f"2,000 × 3, {name}, φ = {phi:g}, {how}", columns(phi, 2000, 3, how), settings)
            for kind in ("GARCH", "t(1.5)", "binary"):
                yield Case(f"2,000 × 3, {name}, {kind}, {how}", of_kind(kind, 2000, 3, how), settings)
    for how in ("unbroken", "missing 5", "every 10"):
        for phi in (0.9, 0.99, 1.0):
            yield Case(f"2,000 × 5, lag 5, φ = {phi:g}, {how}", columns(phi, 2000, 5, how), {"lag": 5})
            yield Case(f"2,000 × 20, pca 5, φ = {phi:g}, {how}", columns(phi, 2000, 20, how), {"pca": 5})
    for how in ("unbroken", "missing 5", "every 10"):
        yield Case(f"one column, φ = 0.99, {how}", columns(0.99, 2000, 1, how))


GAPS = ("unbroken", "missing 5", "missing 20", "missing 50", "every 3", "every 10", "every 100", "weekends")


def sources(
    made: Callable[[tuple[int, int], np.random.Generator], np.ndarray], m: int, snr: float, phi: float, how: str
) -> Make:
    """Sources in all of m columns of noise; ``snr`` is the ratio of their variances in a column."""

    def make(rng: np.random.Generator) -> Recording:
        separate_episodes = how in ("20×100", "140")
        lengths = lengths_for(how, rng) if separate_episodes else np.array([2000])
        parts = [(made((n, 1), rng), process(phi, (n, m), rng)) for n in lengths]
        source, noise = (np.concatenate(each) for each in zip(*parts, strict=True))
        k = source.shape[1]
        mixing = rng.choice([-1.0, 1.0], (1, m)) if k == 1 else rng.standard_normal((k, m))
        mixed = np.sqrt(snr) * source @ mixing + noise
        return (mixed, lengths) if separate_episodes else cut(mixed, how, rng)

    return make


def sine(shape: tuple[int, int], rng: np.random.Generator) -> np.ndarray:
    """A sine with a period of 250 rows."""
    return np.sqrt(2.0) * np.sin(2 * np.pi * np.arange(shape[0]) / 250 + rng.uniform(0, 2 * np.pi))[:, None]


def slow(shape: tuple[int, int], rng: np.random.Generator) -> np.ndarray:
    """One slow source."""
    return process(0.99, shape, rng)


def two_processes(shape: tuple[int, int], rng: np.random.Generator) -> np.ndarray:
    """Two sources of different slowness."""
    return np.hstack([process(0.99, (shape[0], 1), rng), process(0.9, (shape[0], 1), rng)])


def two_sines(shape: tuple[int, int], rng: np.random.Generator) -> np.ndarray:
    """Sine and cosine of one angle: two sources of equal slowness."""
    angle = 2 * np.pi * np.arange(shape[0]) / 250 + rng.uniform(0, 2 * np.pi)
    return np.sqrt(2.0) * np.column_stack([np.sin(angle), np.cos(angle)])


def power() -> Iterator[Case]:
    """One source in ten columns, then two sources in eight."""
    for made, name, snrs, phi in (
        (slow, "AR(.99), white noise", (0.1, 0.03), 0.0),
        (slow, "AR(.99), AR(.9) noise", (0.1, 0.3, 1.0), 0.9),
        (sine, "sine, white noise", (0.1, 0.3), 0.0),
    ):
        for snr in snrs:
            for how in (*GAPS, "20×100", "140"):
                yield Case(f"one {name}, ratio {snr:g}, {how}", sources(made, 10, snr, phi, how))
    for made, name in ((two_processes, "AR(.99) and AR(.9)"), (two_sines, "sine and cosine")):
        for how in ("unbroken", "missing 20", "every 10"):
            yield Case(f"two: {name}, white noise, {how}", sources(made, 8, 0.3, 0.0, how))


def n_real(case: Case, seed: int) -> int:
    """Number of features that are called real in one recording."""
    X, lengths = case.make(np.random.default_rng(seed))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        k = min(3, X.shape[1])
        found = significance(
            X,
            n_components=k,
            n_surrogates=N_SURROGATES,
            level=LEVEL,
            lengths=lengths,
            random_state=seed,
            **case.settings,
        )
    return found.n_real


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--power", action="store_true", help="try shared signals")
    parser.add_argument("--only", default="", help="only cases with this text in their names")
    parser.add_argument("--runs", type=int, default=200, help="runs per case")
    parser.add_argument("--seed", type=int, default=50_000, help="first seed")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--json", type=Path, help="file for the results")
    options = parser.parse_args()
    cases = [case for case in (power() if options.power else chance()) if options.only in case.name]
    found, missed = {}, 0
    with threadpool_limits(1), Parallel(options.jobs) as jobs:
        for case in cases:
            counts = np.array(jobs(delayed(n_real)(case, options.seed + i) for i in range(options.runs)))
            share = found[case.name] = float((counts > 0).mean())
            more = f", two or more in {100 * (counts > 1).mean():.1f}%" if options.power else ""
            print(f"{case.name:60} {100 * share:5.1f}%{more}", flush=True)
            if not options.power and share > REPEATED:
                again = jobs(delayed(n_real)(case, 10 * options.seed + i) for i in range(1000))
                share = found[f"{case.name}, again"] = float((np.array(again) > 0).mean())
                missed += share > MOST_REPEATED
                print(f"{case.name + ', 1,000 other runs':60} {100 * share:5.1f}%", flush=True)
    pooled = float(np.mean([share for name, share in found.items() if not name.endswith("again")]))
    print(f"{len(cases)} cases, pooled: {100 * pooled:.2f}%")
    if options.json is not None:
        options.json.write_text(json.dumps(found, indent=1, ensure_ascii=False), encoding="utf-8")
    if not options.power and (missed or pooled > POOLED):
        sys.exit(f"{missed} cases above {100 * MOST_REPEATED}%, or too many in all")


if __name__ == "__main__":
    main()
