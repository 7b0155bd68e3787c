"""Three slow signals, hidden in ten noisy channels, found online: learn from a stream and draw what was learned.

Run it with ``make demo``; it writes ``results/streaming.png``.
"""

import time
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from biosfa import SFA, BioSFA

CHUNKS, ROWS, SHOWN = 300, 1000, 1500
OUTPUT = Path("results/streaming.png")


def slow_signals(t: np.ndarray) -> np.ndarray:
    """Three signals that change slowly: a wobble, a wave, and a slow switch."""
    wobble = np.sin(t / 160) + np.sin(t / 90 + 1)
    wave = np.sin(t / 47)
    switch = np.tanh(3 * np.sin(t / 31 + 2))
    return np.stack([wobble, wave, switch], axis=1)


def main() -> None:
    """Stream, learn, compare with the exact solution, draw."""
    rng = np.random.default_rng(0)
    mixing = np.linalg.qr(rng.standard_normal((10, 10)))[0]

    def chunk(number: int) -> tuple[np.ndarray, np.ndarray]:
        sources = slow_signals(np.arange(number * ROWS, (number + 1) * ROWS))
        noise = rng.standard_normal((ROWS, 7))
        return sources, np.hstack([sources, noise]) @ mixing

    net, exact = BioSFA(n_components=3, random_state=0), SFA(n_components=3)
    seen, deltas = [], []
    net.partial_fit(chunk(0)[1])  # compiles the kernels, or loads them from their cache
    learning = 0.0
    for number in range(1, CHUNKS):
        sources, samples = chunk(number)
        before = time.perf_counter()
        net.partial_fit(samples)
        learning += time.perf_counter() - before
        exact.partial_fit(samples)
        seen.append(net.n_samples_seen_)
        deltas.append(net.delta_values_)

    count = (CHUNKS - 1) * ROWS
    print(
        f"learned from {count:,} samples of 10 channels in {learning:.2f} s "
        f"({learning / count * 1e9:.0f} ns per sample)"
    )
    for name, values in (("Bio-SFA", net.delta_values_), ("exact SFA", exact.delta_values_)):
        print(f"slowness, {name:<10}", "  ".join(f"{value:.2e}" for value in values))

    sources, samples = (np.concatenate(parts)[-SHOWN:] for parts in zip(*map(chunk, (CHUNKS, CHUNKS + 1)), strict=True))
    features = net.transform(samples)
    correlation = np.corrcoef(features.T, sources.T)[:3, 3:]
    print(f"correlation of the features with the hidden signals: {np.abs(correlation).max(axis=0).round(3)}")
    draw(samples, features, sources, correlation, np.array(seen), np.array(deltas), exact.delta_values_)
    print(f"picture: {OUTPUT.resolve()}")


def draw(
    samples: np.ndarray,
    features: np.ndarray,
    sources: np.ndarray,
    correlation: np.ndarray,
    seen: np.ndarray,
    deltas: np.ndarray,
    exact: np.ndarray,
) -> None:
    """What goes in, what comes out, and how it was learned."""
    figure, (left, middle, right) = plt.subplots(1, 3, figsize=(12, 3.6), layout="constrained")
    for i in range(10):
        left.plot(samples[:, i] / 6 - i, lw=0.3, color="0.25")
    left.set(title="in: ten noisy channels", xlabel="time step", yticks=[])
    for i in range(3):
        twin = np.abs(correlation[i]).argmax()
        source = sources[:, twin] / sources[:, twin].std() * np.sign(correlation[i, twin])
        middle.plot(source / 5 - i, color="tab:red", lw=2.5, alpha=0.5, label="hidden signal" if i == 0 else None)
        middle.plot(features[:, i] / 5 - i, color="tab:green", lw=0.8, label="slow feature" if i == 0 else None)
    middle.set(title="out: the slow features, in order", xlabel="time step", yticks=[], ylim=(-2.5, 0.9))
    middle.legend(loc="upper right", fontsize=8, ncols=2, frameon=False)
    right.loglog(seen, deltas, color="tab:green", lw=1.5)
    for i, value in enumerate(exact):
        right.axhline(value, color="k", ls=":", lw=1, label="exact SFA" if i == 0 else None)
    right.set(title="slowness while it learns", xlabel="samples seen", ylabel="δ")
    right.legend(fontsize=8)
    OUTPUT.parent.mkdir(exist_ok=True)
    figure.savefig(OUTPUT, dpi=110)


if __name__ == "__main__":
    main()
