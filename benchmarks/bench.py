"""Speed of the core, each figure beside its baseline in the same run, on one thread.

Run it with ``make bench``. Times are the best of several rounds, in which the candidates of a comparison take turns:
machines are noisy, so read the ratios.
"""

import argparse
import json
import resource
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy.linalg.blas import get_blas_funcs
from sklearn.decomposition import PCA
from threadpoolctl import threadpool_limits

from biosfa import SFA, Annealed, BioSFA, InverseTime, LocalSFA, OnlineSFA
from biosfa.datasets import image_sequences, rat_stream
from biosfa.experiments.chaotic import numpy_loop
from biosfa.kernels.local import Mode, Rule, blocked, initial_state, sequential

ETA, TAU = 1e-5, 0.5
MODE = Mode(center=True, relative=False, normalized=False, rule=int(Rule.BIO_SFA))
ROUNDS = 7

FIGURES: dict[str, Any] = {}  # what was measured, by name: microseconds per sample; seconds for exact SFA


def best_times(candidates: dict[str, Callable[[], object]], rounds: int = ROUNDS) -> dict[str, float]:
    """Best time of each candidate, in seconds; a first round, not counted, compiles and warms up."""
    times: dict[str, list[float]] = {name: [] for name in candidates}
    for counted in range(rounds + 1):
        for name, candidate in candidates.items():
            begin = time.perf_counter()
            candidate()
            if counted:
                times[name].append(time.perf_counter() - begin)
    return {name: min(values) for name, values in times.items()}


def row(*cells: object) -> None:
    print("".join(f"{cell!s:<{width}}" for cell, width in zip(cells, (44, 16, 14, 14), strict=False)).rstrip())


def verdict(value: float, target: float, *, at_least: bool) -> str:
    reached = value >= target if at_least else value <= target
    return f"{'≥' if at_least else '≤'} {target:g} {'reached' if reached else 'MISSED'}"


def kernels(m: int, k: int, dtype: type) -> dict[str, float]:
    """Microseconds per sample: the NumPy loop, both kernels, and the two matrix products that no kernel can avoid."""
    rng = np.random.default_rng(0)
    n = 100_000 if m == 14 else 4096
    X = rng.standard_normal((n, m)).astype(dtype)
    starts, eta = np.arange(n) == 0, np.full(n, ETA)
    rate = eta / TAU
    loop_rows = {14: 2000, 560: 400}.get(m, 150)
    gemm = get_blas_funcs("gemm", dtype=np.dtype(dtype))
    B = blocked.BLOCK
    state = initial_state(k, m, 1, dtype, np.random.RandomState(0))
    P = np.zeros((B, k), dtype)

    def run(kernel: Callable[..., int]) -> Callable[[], int]:
        network = initial_state(k, m, 1, dtype, np.random.RandomState(0))
        return lambda: kernel(X, starts, eta, rate, n, MODE, network)

    def floor() -> None:
        W = state.W[:, :m]
        for begin in range(0, n // B * B, B):
            block = X[begin : begin + B]
            gemm(1.0, block.T, W.T, trans_a=True)
            gemm(1.0, block.T, P, beta=1.0, c=W.T, overwrite_c=True)

    candidates = {
        "NumPy loop": lambda: numpy_loop(X[:loop_rows], state.W[:, :m].copy(), np.eye(k, dtype=dtype), ETA, TAU),
        "sequential kernel": run(sequential.learn),
        "blocked kernel": run(blocked.learn),
        "floor": floor,
    }
    rows = {"NumPy loop": loop_rows}
    return {name: seconds / rows.get(name, n) * 1e6 for name, seconds in best_times(candidates).items()}


def bench_kernels() -> None:
    targets = {(14, 1, np.float64): {"loop": 500}, (2144, 49, np.float32): {"loop": 50, "floor": 1.6}}
    row("kernel, centring and readout included", "µs per sample", "× NumPy loop", "× floor")
    for m, k in ((14, 1), (560, 32), (2144, 49)):
        for dtype in (np.float32, np.float64):
            times = kernels(m, k, dtype)
            FIGURES.setdefault("kernels", {})[f"({m}, {k}) {np.dtype(dtype).name}"] = times
            for name, value in times.items():
                row(
                    f"({m}, {k}) {np.dtype(dtype).name} {name}",
                    f"{value:.4g}",
                    f"{times['NumPy loop'] / value:.1f}",
                    f"{value / times['floor']:.2f}",
                )
            wanted = targets.get((m, k, dtype), {})
            fastest = min(times["sequential kernel"], times["blocked kernel"])
            if "loop" in wanted:
                print(
                    "    against the NumPy loop", verdict(times["NumPy loop"] / fastest, wanted["loop"], at_least=True)
                )
            if "floor" in wanted:
                print("    against the floor", verdict(fastest / times["floor"], wanted["floor"], at_least=False))
    print()


def bench_estimator() -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200_000, 14))
    chunks = np.split(X, 20)
    starts, eta = np.zeros(10_000, bool), np.full(10_000, ETA)
    rate = eta / TAU
    state = initial_state(1, 14, 1, float, np.random.RandomState(0))
    settings = {"n_components": 1, "learning_rate": InverseTime(1 / ETA, 1e-4), "tau": TAU, "random_state": 0}
    chunked, single = (BioSFA(**settings).partial_fit(X[:10]) for _ in range(2))

    def bare() -> None:
        for i, chunk in enumerate(chunks):
            sequential.learn(chunk, starts, eta, rate, i * 10_000, MODE, state)

    def in_chunks() -> None:
        for chunk in chunks:
            chunked.partial_fit(chunk)

    def one_by_one() -> None:
        for x in X[:2000]:
            single.learn_one(x)

    def loop() -> None:
        numpy_loop(X[:2000], np.full((1, 14), 0.1), np.eye(1), ETA, TAU)

    times = best_times({"bare": bare, "chunked": in_chunks, "learn_one": one_by_one, "loop": loop})
    per_row = {"bare": 200_000, "chunked": 200_000, "learn_one": 2000, "loop": 2000}
    rates = {name: seconds / per_row[name] * 1e6 for name, seconds in times.items()}
    FIGURES["learn_one"] = rates
    row("estimator at (14, 1)", "µs per sample", "ratio", "target")
    row("bare kernel", f"{rates['bare']:.4g}")
    ratio = rates["chunked"] / rates["bare"]
    row(
        "partial_fit, chunks of 10,000, to bare kernel",
        f"{rates['chunked']:.4g}",
        f"{ratio:.2f}",
        verdict(ratio, 1.3, at_least=False),
    )
    ratio = rates["loop"] / rates["learn_one"]
    row("NumPy loop to learn_one", f"{rates['learn_one']:.4g}", f"{ratio:.2f}", verdict(ratio, 3, at_least=True))
    print()


def bench_online() -> None:
    """The natural-gradient form beside the local rule's bare kernel, and what exact SFA costs."""
    n = 6400
    row("OnlineSFA", "µs per sample", "× plain kernel", "target")
    for m, k, dtype, rank, target in ((14, 1, np.float64, "full", None), (2144, 49, np.float32, 32, 3.0)):
        X = np.random.default_rng(0).standard_normal((n, m)).astype(dtype)
        starts, eta = np.zeros(n, bool), np.full(n, ETA)
        state = initial_state(k, m, 1, dtype, np.random.RandomState(0))
        kernel = sequential.learn if m == 14 else blocked.learn
        net = OnlineSFA(k, whitening_rank=rank, random_state=0).partial_fit(X)
        times = best_times(
            {
                "plain": lambda kernel=kernel, X=X, s=starts, e=eta, state=state: kernel(X, s, e, e, n, MODE, state),
                "online": lambda net=net, X=X: net.partial_fit(X),
            }
        )
        FIGURES.setdefault("online", {})[f"({m}, {k})"] = {name: each / n * 1e6 for name, each in times.items()}
        ratio = times["online"] / times["plain"]
        asked = "" if target is None else verdict(ratio, target, at_least=False)
        row(f"({m}, {k}) rank {rank}", f"{times['online'] / n * 1e6:.3g}", f"{ratio:.2f}", asked)
    print()


def bench_local() -> None:
    """LocalSFA with a synapse between any two inputs, beside one product Lx."""
    row("LocalSFA", "µs per sample", "× one y = Lx", "target")
    for m, k, n, target in ((14, 1, 200_000, 0.5), (80, 8, 20_000, 6.0), (500, 20, 5000, 120.0)):
        X = np.random.default_rng(0).standard_normal((n, m))
        net = LocalSFA(k, random_state=0).partial_fit(X)
        L, y, repeats = np.eye(m), np.zeros(m), 200

        def products(L: np.ndarray = L, X: np.ndarray = X, y: np.ndarray = y, repeats: int = repeats) -> None:
            for x in X[:repeats]:
                np.dot(L, x, out=y)

        times = best_times({"local": lambda net=net, X=X: net.partial_fit(X), "product": products})
        cost, product = times["local"] / n * 1e6, times["product"] / repeats * 1e6
        FIGURES.setdefault("local", {})[f"({m}, {k})"] = {"local": cost, "product": product}
        row(f"({m}, {k})", f"{cost:.3g}", f"{cost / product:.2f}", verdict(cost, target, at_least=False))
    print()


def bench_interneurons() -> None:
    """LocalSFA with interneurons, for many columns, beside the product z = Fᵀx of a block of 64 samples."""
    row("LocalSFA, 64 interneurons", "µs per sample", "× one Fᵀx")
    r, n = 64, 6400
    for m, k, dtype in ((1000, 10, np.float64), (2144, 49, np.float32)):
        X = np.random.default_rng(0).standard_normal((n, m)).astype(dtype)
        net = LocalSFA(k, input_layer=r, random_state=0).partial_fit(X)
        F, blocks = np.random.default_rng(1).standard_normal((m, r)).astype(dtype), np.split(X, n // 64)

        def products(F: np.ndarray = F, blocks: list[np.ndarray] = blocks) -> None:
            for block in blocks:
                block @ F

        times = best_times({"local": lambda net=net, X=X: net.partial_fit(X), "product": products})
        cost, product = (times[name] / n * 1e6 for name in ("local", "product"))
        FIGURES.setdefault("interneurons", {})[f"({m}, {k})"] = {"local": cost, "product": product}
        row(f"({m}, {k}) {np.dtype(dtype).name}", f"{cost:.3g}", f"{cost / product:.2f}")
    print()


def bench_images() -> None:
    """Moving patches from the image to the weights, beside the bare kernel on samples that are there already."""
    m, k = 2144, 49
    sequences = image_sequences(100, random_state=1)
    pca = PCA(64, whiten=True).fit(sequences.frames())
    n = sequences.n_sequences * sequences.n_frames
    X = np.random.default_rng(0).standard_normal((n, m)).astype(np.float32)
    starts, eta = np.arange(n) % sequences.n_frames == 0, np.full(n, ETA)
    state = initial_state(k, m, 1, np.float32, np.random.RandomState(0))
    net = BioSFA(k, expansion="quadratic", learning_rate=Annealed(5e-6, 5e6), tau=1.0, random_state=0)

    def pipeline() -> None:
        for frames in sequences:
            net.partial_fit(pca.transform(frames), lengths=sequences.lengths(frames))

    def bare() -> None:
        blocked.learn(X, starts, eta, eta, n, MODE, state)

    times = best_times({"bare": bare, "pipeline": pipeline}, rounds=5)
    ratio = times["pipeline"] / times["bare"]
    row("moving images at (2144, 49), float32", "µs per sample", "ratio", "target")
    row("bare kernel", f"{times['bare'] / n * 1e6:.3g}")
    row(
        "frames, PCA, expansion, network",
        f"{times['pipeline'] / n * 1e6:.3g}",
        f"{ratio:.2f}",
        verdict(ratio, 2, at_least=False),
    )
    print()


def bench_rat() -> None:
    """Walk and frames of the rat."""
    n = 2000

    def frames() -> None:
        for _ in rat_stream(n):
            pass

    seconds = best_times({"frames": frames}, rounds=3)["frames"] * 10_000 / n
    row("the rat", "seconds", "", "target")
    row("walk and 10,000 frames of 320 × 40", f"{seconds:.2f}", "", verdict(seconds, 15, at_least=False))
    print()


def peers() -> dict[str, Callable[[np.ndarray], object]]:
    """Other implementations of exact SFA that are installed."""
    found: dict[str, Callable[[np.ndarray], object]] = {}
    try:
        from deeptime.decomposition import TICA

        found["deeptime TICA"] = lambda X: TICA(lagtime=1).fit(X).fetch_model().singular_values
    except ImportError:
        print("deeptime is not installed")
    try:
        import sksfa

        found["sklearn-sfa"] = lambda X: sksfa.SFA(n_components=min(10, X.shape[1])).fit(X)
    except ImportError:
        print("sklearn-sfa is not installed")
    return found


def bench_exact() -> None:
    row("exact SFA", "seconds", "× slower", "target")
    for n, m in ((1_000_000, 14), (200_000, 100), (20_000, 1000)):
        X = np.random.default_rng(0).standard_normal((n, m)).cumsum(axis=1)
        candidates: dict[str, Callable[[], object]] = {"biosfa": lambda X=X: SFA().fit(X)}
        candidates |= {name: (lambda X=X, fit=fit: fit(X)) for name, fit in peers().items()}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            times = best_times(candidates, rounds=3)
            FIGURES.setdefault("exact", {})[f"{n:,} × {m}"] = times
        for name, seconds in times.items():
            row(f"{n:,} × {m} {name}", f"{seconds:.4g}", f"{seconds / times['biosfa']:.2f}")
        if len(times) > 1:
            ratio = min(seconds for name, seconds in times.items() if name != "biosfa") / times["biosfa"]
            print("    fastest peer to biosfa", verdict(ratio, 2 if m == 14 else 1, at_least=True))
    print()


def bench_pairs() -> None:
    """Pairs, weights and uneven time beside the same samples as an even series without weights."""
    n, m = 1_000_000, 100
    rng = np.random.default_rng(0)
    X, v = rng.standard_normal((n, m)).cumsum(axis=1), rng.uniform(0.5, 1.5, n)
    pairs = np.column_stack([np.arange(n - 1), np.arange(1, n)])
    times = best_times(
        {
            "fit": lambda: SFA().fit(X),
            "fit, weights": lambda: SFA().fit(X, sample_weight=v),
            "fit, uneven time": lambda: SFA().fit(X, time=v.cumsum()),
            "fit_pairs, weights": lambda: SFA().fit_pairs(X, pairs, weights=v[1:], sample_weight=v),
        },
        rounds=3,
    )
    FIGURES["pairs"] = times
    row(f"weights and pairs, {n:,} × {m}", "seconds", "× fit", "target")
    for name, seconds in times.items():
        ratio = seconds / times["fit"]
        asked = verdict(ratio, 2, at_least=False) if name == "fit_pairs, weights" else ""
        row(name, f"{seconds:.3g}", f"{ratio:.2f}", asked)
    print()


def bench_memory() -> None:
    def stream() -> Iterator[np.ndarray]:
        rng = np.random.default_rng(0)
        for _ in range(1000):
            yield rng.standard_normal((10_000, 14))

    net = BioSFA(1, random_state=0)
    first = None
    for chunk in stream():
        net.partial_fit(chunk)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        first = peak if first is None else first
    growth = peak - (first or 0)
    row("memory", "MB")
    row("growth over 1e7 samples, first chunk apart", f"{growth:.1f}", "", verdict(growth, 50, at_least=False))
    print()


def bench_import() -> None:
    code = "import time; t = time.perf_counter(); import biosfa; print(time.perf_counter() - t)"
    seconds = min(float(subprocess.check_output([sys.executable, "-c", code])) for _ in range(3))
    code = "import time; t = time.perf_counter(); from biosfa import BioSFA; print(time.perf_counter() - t)"
    use = min(float(subprocess.check_output([sys.executable, "-c", code])) for _ in range(3))
    row("import", "seconds")
    row("import biosfa", f"{seconds:.3f}", "", verdict(seconds, 1, at_least=False))
    row("from biosfa import BioSFA", f"{use:.3f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    options = parser.parse_args()
    with threadpool_limits(1):
        bench_memory()
        bench_kernels()
        bench_estimator()
        bench_online()
        bench_local()
        bench_interneurons()
        bench_images()
        bench_rat()
        bench_exact()
        bench_pairs()
    bench_import()
    if options.json:
        options.json.write_text(json.dumps(FIGURES, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
