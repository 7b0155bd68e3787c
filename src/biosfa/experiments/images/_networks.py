"""Trains networks on moving patches, and records their errors against samples."""

import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from biosfa import metrics
from biosfa.estimators import BioSFA, LocalSFA, NetworkEstimator, OnlineSFA
from biosfa.exceptions import DivergenceError
from biosfa.experiments.engine import NetworkCheckpoint, RunFolder, Stopped, Task
from biosfa.experiments.images._config import ImagesConfig, learners_of, load, samples_of
from biosfa.experiments.images._patches import CHUNK, Patches
from biosfa.experiments.images._yardsticks import analyse
from biosfa.kernels.exact import Moments, slow_directions_within
from biosfa.learning import Annealed
from biosfa.typing import Advance, Arrays, Float64Array, FloatArray

PAPER_RATES: dict[str, Any] = {"learning_rate": Annealed(alpha=5e-6, beta=5e6), "tau": 1.0}
INPUT_LAYERS: dict[str, str | int] = {"local": 64, "lateral": "lateral"}
RECORDS_PER_DECADE = 12


def networks(config: ImagesConfig, folder: RunFolder, moments: Moments) -> list[Task]:
    """Return the tasks of all networks. Errors are measured with the moments of the whole signal."""
    tasks = []
    for rule, learners in learners_of(config).items():
        for learner in learners:
            for run in range(config.runs):
                name = f"{rule}-{learner}-{run:02d}"
                arguments = (config, rule, learner, run, folder.scratch(name, "network"))
                tasks.append(Task(name, samples_of(config, learner), run_network, arguments, (moments,)))
    return tasks


def run_network(
    config: ImagesConfig,
    rule: str,
    learner: str,
    run: int,
    kept_in: Path,
    moments: Moments,
    report: Advance,
) -> Arrays:
    """Train one network on all sequences, in its own random order per pass; ``kept_in`` is its checkpoint."""
    patches, checkpoint = load(config), NetworkCheckpoint(kept_in, asdict(config))
    plan = pieces(patches, samples_of(config, learner))
    recorded = set(recorded_samples(plan))
    net, curve = new_network(config, rule, learner, run), Curve(moments)
    done = 0
    kept = checkpoint.load(net, lambda net, arrays: Curve.until(net.n_samples_seen_, moments, arrays))
    if kept is not None:
        net, curve = kept
        done = net.n_samples_seen_
        report(done)
    try:
        for piece in plan:
            if piece.end <= done:
                continue
            order = np.random.default_rng([config.seed, run, piece.epoch]).permutation(config.sequences)
            rows = patches.rows(order[piece.sequences])
            begin = time.perf_counter()
            net.partial_fit(rows, lengths=patches.sequences.lengths(rows))
            if piece is not plan[0]:  # during the first piece, kernels may be compiled
                curve.seconds += time.perf_counter() - begin
            if piece.end in recorded:
                curve.record(piece.end, net)
            done = piece.end
            checkpoint.save(net, curve.arrays)
            report(len(rows))
    except Stopped:
        checkpoint.save(net, curve.arrays, now=True)
        raise
    except DivergenceError:  # there are no units to analyse
        report(plan[-1].end - done)
        curve.pad(recorded_samples(plan))
        return curve.arrays()
    components = in_order(net.components_, moments)
    return {**curve.arrays(), "components": components, **analyse(patches, components, net.mean_)}


def new_network(config: ImagesConfig, rule: str, learner: str, run: int) -> NetworkEstimator:
    """Return a network. Runs with the same number begin with the same weights."""
    common: dict[str, Any] = {
        "expansion": "quadratic",
        "dtype": np.float32,
        "random_state": int(np.random.default_rng([config.seed, run]).integers(2**31)),
    }
    if learner == "paper":
        return BioSFA(config.units, rule=rule, **PAPER_RATES, **common)
    if learner in INPUT_LAYERS:
        return LocalSFA(config.units, input_layer=INPUT_LAYERS[learner], **common)
    return OnlineSFA(config.units, reversible=rule == "reversible", **common)


def in_order(components: FloatArray, moments: Moments) -> Float64Array:
    """Return the features that these span, in order of their slowness on all frames.

    The order of the network itself comes from its recent activity, which is not enough to order 49 features with heavy
    tails.
    """
    return slow_directions_within(components, moments.covariance, moments.difference_covariance).directions


@dataclass(frozen=True)
class Piece:
    """Sequences that are learned in one call of ``partial_fit``."""

    epoch: int
    sequences: slice  # in the order of that epoch
    end: int  # number of samples after this piece


def pieces(patches: Patches, total: int) -> list[Piece]:
    """Divide the epochs into pieces, up to ``total`` samples, rounded up to whole sequences."""
    n_sequences, n_frames = patches.sequences.n_sequences, patches.sequences.n_frames
    plan: list[Piece] = []
    epoch, begin, samples = 0, 0, 0
    while samples < total:
        end = min(begin + CHUNK, n_sequences, begin + -(-(total - samples) // n_frames))
        samples += (end - begin) * n_frames
        plan.append(Piece(epoch, slice(begin, end), samples))
        epoch, begin = (epoch + 1, 0) if end == n_sequences else (epoch, end)
    return plan


def recorded_samples(plan: list[Piece]) -> list[int]:
    """Return the numbers of samples at which errors are measured: log-spaced ends of pieces."""
    ends = np.array([piece.end for piece in plan])
    decades = np.log10(ends[-1] / ends[0])
    asked = np.geomspace(ends[0], ends[-1], 1 + int(np.ceil(decades * RECORDS_PER_DECADE)))
    return sorted({int(ends[np.abs(ends - samples).argmin()]) for samples in asked})


class Curve:
    """Errors of a network against samples."""

    def __init__(self, moments: Moments) -> None:
        self.seconds = 0.0
        self._moments = moments
        self._records: list[tuple[int, float, float]] = []

    @classmethod
    def until(cls, samples: int, moments: Moments, arrays: Arrays) -> "Curve":
        """Restore a stored curve up to a number of samples."""
        curve = cls(moments)
        curve.seconds = float(arrays["learning_seconds"])
        records = zip(arrays["samples"], arrays["slowness"], arrays["constraint_error"], strict=True)
        curve._records = [(int(n), float(total), float(error)) for n, total, error in records if n <= samples]
        return curve

    def record(self, samples: int, net: NetworkEstimator) -> None:
        """Record the slowness of the features of a network, once they are decorrelated, and its constraint error."""
        slowness = metrics.subspace_slowness(net.components_, self._moments)
        outputs = np.linalg.solve(net.M_, net.W_) if isinstance(net, BioSFA) else net.components_
        error = metrics.constraint_error(outputs, self._moments)
        self._records.append((samples, float(slowness), error))

    def pad(self, samples: Iterable[int]) -> None:
        """Fill the rest of the curve with NaN."""
        last = self._records[-1][0] if self._records else 0
        self._records += [(n, np.nan, np.nan) for n in samples if n > last]

    def arrays(self) -> Arrays:
        """Return the curve as arrays."""
        samples, slowness, error = zip(*self._records, strict=True) if self._records else ((), (), ())
        return {
            "samples": np.array(samples, dtype=np.int64),
            "slowness": np.array(slowness),
            "constraint_error": np.array(error),
            "learning_seconds": np.array(self.seconds),
        }
