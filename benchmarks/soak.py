"""Let online learners learn from 1e9 samples, and see whether memory, time per sample and errors stay as they are.

The stream is three slow sources among white noise, under a rotation: 14 inputs, 3 outputs. It is made chunk by chunk
from a seed and the number of the chunk, so that a run that was stopped or killed resumes where it kept its state last.
What is slowest is known, so that errors are measured without noise. Time is that of the processor, for learning only.
"""

import argparse
import json
import math
import os
import statistics
import sys
import time
from collections import deque
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import psutil
from scipy.signal import lfilter
from threadpoolctl import threadpool_limits

import biosfa
from biosfa import BioSFA, OnlineSFA, metrics
from biosfa.estimators import NetworkEstimator
from biosfa.io.atomic import replace_file
from biosfa.kernels.exact import Moments
from biosfa.typing import Float64Array

TIMES = (200.0, 90.0, 40.0)  # correlation times of the sources
N_NOISE = 11
DEVIATION = math.sqrt(1.0 / 12.0)  # of a uniform number
CHUNK = 100_000  # rows
FIRST_MARK = 10**6  # samples at which the first row of the table is written
KEEP_SECONDS = 30.0  # between two checkpoints
LEARNERS = {"OnlineSFA": OnlineSFA, "BioSFA": BioSFA}
COLUMNS = ("samples", "memory", "µs/sample", "slowness error", "constraint error", "own estimate")


class Source:
    """A stream whose slow features are known."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self._memory = np.exp(-1.0 / np.asarray(TIMES))
        size = len(TIMES) + N_NOISE
        self._rotation = np.linalg.qr(np.random.default_rng(seed).standard_normal((size, size)))[0]
        self._noise_mixing = (self._rotation[len(TIMES) :] / DEVIATION).astype(np.float32)

    def chunk(self, number: int, last: list[float]) -> tuple[Float64Array, list[float]]:
        """A chunk of samples, after which the sources have the values that are returned."""
        # uniform numbers of single precision, which cost a fraction of what learning does
        rng = np.random.Generator(np.random.SFC64([self.seed, number]))
        driven, noise = (rng.random(shape, np.float32) for shape in ((len(TIMES), CHUNK), (CHUNK, N_NOISE)))
        slow, ends = np.empty((len(TIMES), CHUNK)), []
        for i, p in enumerate(self._memory):
            gain = math.sqrt(1.0 - p**2) / DEVIATION
            slow[i], state = lfilter([gain], [1.0, -p], driven[i] - 0.5, zi=[p * last[i]])
            ends.append(float(state[0]) / p)
        X = slow.T @ self._rotation[: len(TIMES)]
        X += (noise - np.float32(0.5)) @ self._noise_mixing
        return X, ends

    def moments(self) -> Moments:
        """What the moments of an endless stream are: sources of unit variance, and δ = 2(1 − p) of each."""
        size = len(self._rotation)
        delta = 2.0 * (1.0 - np.append(self._memory, np.zeros(N_NOISE)))
        known = {
            "mean": np.zeros(size),
            "scatter": np.eye(size),
            "difference": self._rotation.T @ (delta[:, None] * self._rotation),
        }
        return Moments.of(known, 1, 1)


@dataclass
class Log:
    """How far a learner has come, and what was seen at the marks: JSON data."""

    learner: str
    seed: int
    n_chunks: int = 0
    last: list[float] = field(default_factory=lambda: [0.0] * len(TIMES))  # values of the sources
    model: str | None = None  # name of the file that goes with it
    rows: list[dict[str, float]] = field(default_factory=list)

    @classmethod
    def read(cls, path: Path, learner: str, seed: int) -> "Log":
        """The log of a run before this one, or a new one."""
        if not path.exists():
            return cls(learner, seed)
        found = cls(**json.loads(path.read_text()))
        if found.seed != seed:
            sys.exit(f"{path} is of a run with seed {found.seed}: choose another folder with --out")
        return found


class Soak:
    """One learner on the stream."""

    def __init__(self, learner: str, folder: Path, seed: int) -> None:
        self.folder = folder
        self.path = folder / f"{learner}.json"
        self.source = Source(seed)
        self.moments = self.source.moments()
        self.log = Log.read(self.path, learner, seed)
        self.net: NetworkEstimator = (
            LEARNERS[learner](len(TIMES), random_state=0)
            if self.log.model is None
            else biosfa.load(folder / self.log.model)
        )
        self._times: deque[float] = deque(maxlen=1000)  # seconds of the last chunks
        self._kept = time.monotonic()

    def run(self, n_samples: int) -> None:
        """Learn until so many samples were seen; print a line at every mark."""
        while self.log.n_chunks * CHUNK < n_samples:
            X, self.log.last = self.source.chunk(self.log.n_chunks, self.log.last)
            begin = time.process_time()  # which other work on the machine does not count in
            self.net.partial_fit(X)
            self._times.append(time.process_time() - begin)
            self.log.n_chunks += 1
            marked = is_mark(self.log.n_chunks * CHUNK) or self.log.n_chunks * CHUNK >= n_samples
            if marked:
                self.log.rows.append(self.measured())
                print(as_line(self.log.rows[-1]), flush=True)
            if marked or time.monotonic() - self._kept > KEEP_SECONDS:
                self.keep()

    def measured(self) -> dict[str, float]:
        """What there is to see now; time is the median over the last chunks."""
        components = self.net.components_
        numbers = (
            self.net.n_samples_seen_,
            psutil.Process().memory_info().rss,
            statistics.median(self._times) / CHUNK,
            metrics.slowness_error(components, self.moments),
            metrics.constraint_error(components, self.moments),
            self.net.constraint_error_,
        )
        return dict(zip(COLUMNS, map(float, numbers), strict=True))

    def keep(self) -> None:
        """Keep the model, then the log, which says which model goes with it."""
        self.log.model = f"{self.log.learner}-{self.log.n_chunks}.safetensors"
        self.net.save(self.folder / self.log.model)
        content = json.dumps(asdict(self.log), indent=1) + "\n"
        replace_file(self.path, lambda file: file.write(content.encode()))
        for path in self.folder.glob(f"*{self.log.learner}-*"):  # also what a killed run has left
            if path.name != self.log.model:
                path.unlink(missing_ok=True)
        self._kept = time.monotonic()


def is_mark(n_samples: int) -> bool:
    """Whether something is written down after so many samples: 1, 3, 10, 30 … million."""
    if n_samples < FIRST_MARK:
        return False
    power = 10 ** int(math.log10(n_samples) + 1e-9)
    return n_samples in (power, 3 * power)


def as_line(row: dict[str, Any]) -> str:
    """A row of the table."""
    samples, memory, seconds, *errors = row.values()
    numbers = "".join(f"{error:>18.3g}" for error in errors)
    return f"{samples:>14,.0f}{memory / 2**20:>9.1f} MB{1e6 * seconds:>12.3f}{numbers}"


def header() -> str:
    """The names of the columns."""
    first, memory, seconds, *errors = COLUMNS
    return f"{first:>14}{memory:>12}{seconds:>12}" + "".join(f"{name:>18}" for name in errors)


def main() -> None:
    """Run, or resume, all learners."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--samples", type=float, default=1e9, help="so many for each learner")
    parser.add_argument("--learner", choices=LEARNERS, action="append", help="by default both, one after the other")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("results/soak"), help="folder for models and logs")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    with threadpool_limits(1):
        for learner in options.learner or LEARNERS:
            soak = Soak(learner, options.out, options.seed)
            print(f"{learner}, {len(TIMES) + N_NOISE} inputs, {len(TIMES)} outputs; process {os.getpid()}")
            print(header())
            for row in soak.log.rows:
                print(as_line(row))
            soak.run(int(options.samples))


if __name__ == "__main__":
    main()
