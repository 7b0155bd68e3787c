"""The tasks of the experiment with the chaotic series: networks, offline learning, exact SFA, and a NumPy loop."""

import time
from collections.abc import Iterator

import numpy as np

from biosfa import metrics
from biosfa.estimators import SFA, BioSFA, OfflineBioSFA
from biosfa.experiments.chaotic._baseline import numpy_loop
from biosfa.experiments.chaotic._config import AUTOMATIC, LEARNING_RATE, RULES, TAU, ChaoticConfig, load, others, signal
from biosfa.experiments.engine import Task
from biosfa.learning import Recorder, log_spaced
from biosfa.typing import Advance, Arrays

SHOWN = 5000  # steps in the panels, as in the paper
CHUNK = 20_000  # rows per call of partial_fit; so few that they stay in the cache of the processor
LOOP_STEPS = 20_000  # steps of the NumPy loop that are timed


def tasks(config: ChaoticConfig) -> list[Task]:
    """Return all tasks of the experiment."""
    return [
        Task("offline", 0, run_offline, (config,)),
        Task("exact", 0, run_exact, (config,)),
        *(
            Task(f"{rule}-{run:02d}", config.steps, run_network, (config, rule, run, config.seed))
            for rule in RULES
            for run in range(config.runs)
        ),
        *(
            Task(f"tuned-{name}-{run:02d}", config.samples, run_tuned, (config, name, run))
            for name in AUTOMATIC
            for run in range(config.runs)
        ),
        *(
            Task(f"bio-sfa-series-{seed:02d}", config.steps, run_network, (config, "bio-sfa", 0, seed))
            for seed in others(config)
        ),
    ]


def recorded_steps(steps: int) -> list[int]:
    """Return the numbers of updates at which errors are measured: log-spaced, and every fifth of the whole."""
    spaced = list(iter_until(log_spaced(10), steps))
    return sorted({*spaced, *(steps * i // 5 for i in range(1, 6))})


def iter_until(values: Iterator[int], last: int) -> Iterator[int]:
    """Yield the values up to and including ``last``."""
    for value in values:
        if value > last:
            return
        yield value


def run_network(config: ChaoticConfig, rule: str, run: int, seed: int, report: Advance) -> Arrays:
    """Train one network on one series, streamed repeatedly from a random index; each repetition is an episode."""
    X, moments = signal(config, seed)
    rng = np.random.default_rng([seed, run])
    begin = position = int(rng.integers(config.samples))
    net = BioSFA(
        1, rule=rule, learning_rate=LEARNING_RATE, tau=TAU, center=False, random_state=int(rng.integers(2**31))
    )
    recorder = Recorder(steps=recorded_steps(config.steps))
    learning = 0.0
    done = 0
    begins = True  # the next row begins an episode and makes no update
    while done < config.steps:
        chunk = X[position : position + min(CHUNK, config.steps - done + begins)]
        start = time.perf_counter()
        net.partial_fit(chunk, recorder=recorder)
        learning += time.perf_counter() - start
        position += len(chunk)
        begins = position == len(X)
        if begins:
            net.end_episode()
            position = 0
        report(net.n_updates_ - done)
        done = net.n_updates_
    force = load(config, seed).driving_force
    outputs = np.stack([np.linalg.solve(M, W) for M, W in zip(recorder.M, recorder.W, strict=True)])
    last = (position + np.arange(-SHOWN, 0)) % len(X)
    return {
        "steps": recorder.steps,
        "error": np.asarray(metrics.slowness_error(recorder.W, moments)),
        "constraint_error": np.array([metrics.constraint_error(V, moments) for V in outputs]),
        "correlation": np.array(abs(np.corrcoef(net.transform(X)[:, 0], force)[0, 1])),
        "lambda_slow": np.array(metrics.slowest(moments, 1)[0]),
        "begin": np.array(begin),
        "last": last,
        "last_output": net.transform(X[last])[:, 0],
        "learning_seconds": np.array(learning),
    }


def run_tuned(config: ChaoticConfig, name: str, run: int, report: Advance) -> Arrays:
    """Train one network with automatic rates in one pass over the series."""
    X, moments = signal(config, config.seed)
    net = AUTOMATIC[name].kind(1, random_state=run)
    recorder = Recorder(steps=[step for step in iter_until(log_spaced(10), len(X) - 1) if step >= X.shape[1]])
    for begin in range(0, len(X), CHUNK):
        net.partial_fit(X[begin : begin + CHUNK], recorder=recorder)
        report(min(CHUNK, len(X) - begin))
    force = load(config, config.seed).driving_force
    return {
        "steps": np.append(recorder.steps, net.n_updates_),
        "error": np.append(
            metrics.slowness_error(recorder.W, moments), metrics.slowness_error(net.components_, moments)
        ),
        "watched_steps": recorder.steps,
        "delta": recorder.delta_values[:, 0],
        "constraint_error": recorder.constraint_error,
        "learning_rate": recorder.learning_rate,
        "correlation": np.array(abs(np.corrcoef(net.transform(X)[:, 0], force)[0, 1])),
    }


def run_offline(config: ChaoticConfig, report: Advance) -> Arrays:
    """Run the offline algorithm on the covariances of the whole series."""
    X, moments = signal(config, config.seed)
    recorder = Recorder(steps=list(iter_until(log_spaced(10), config.offline_steps)))
    OfflineBioSFA(1, max_iter=config.offline_steps, tau=TAU, random_state=0).fit(X, recorder=recorder)
    return {"steps": recorder.steps, "error": np.asarray(metrics.slowness_error(recorder.W, moments))}


def run_exact(config: ChaoticConfig, report: Advance) -> Arrays:
    """Fit exact SFA to more and more samples from the beginning of the series, and measure its error on all samples."""
    X, moments = signal(config, config.seed)
    sfa = SFA(1)
    steps, errors, seen = [], [], 0
    for step in iter_until(log_spaced(10), config.samples):
        if step < 2 * X.shape[1]:
            continue
        sfa.partial_fit(X[seen:step])
        seen = step
        steps.append(step)
        errors.append(metrics.slowness_error(sfa.components_, moments))
    force = load(config, config.seed).driving_force
    correlation = abs(np.corrcoef(SFA(1).fit_transform(X)[:, 0], force)[0, 1])
    return {"steps": np.array(steps), "error": np.array(errors), "correlation": np.array(correlation)}


def time_numpy_loop(config: ChaoticConfig) -> float:
    """Return the seconds per step of the NumPy loop on the same signal: the best of three measurements."""
    X, _ = signal(config, config.seed)
    times = []
    for _ in range(3):
        begin = time.perf_counter()
        numpy_loop(X[:LOOP_STEPS], np.full((1, X.shape[1]), 0.1), np.eye(1), LEARNING_RATE(1), TAU)
        times.append((time.perf_counter() - begin) / LOOP_STEPS)
    return min(times)
