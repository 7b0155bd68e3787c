"""A recording with two slow sources, and what ``choose`` says about it: makes docs/images/choosing.png.

Run it with ``python examples/choosing.py [picture.png]``.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from scipy.signal import lfilter

TIMES = np.array([100, 40, 3, 2.5, 2, 1.5, 1, 0.5])  # of the sources, in rows


def main(picture: Path) -> None:
    """Write the recording, run ``biosfa choose`` on it, and keep the picture."""
    rng = np.random.default_rng(0)
    noise = rng.standard_normal((20_000, len(TIMES)))
    columns = [lfilter([1], [1, -np.exp(-1 / T)], e) for T, e in zip(TIMES, noise.T, strict=True)]
    sources = np.column_stack(columns)
    with tempfile.TemporaryDirectory() as folder:
        np.save(f"{folder}/recording.npy", sources @ rng.standard_normal((8, 8)))
        command = [sys.executable, "-m", "biosfa", "choose", "recording.npy", "--out", "choice"]
        print(subprocess.check_output(command, cwd=folder, text=True))
        picture.write_bytes(Path(folder, "choice", "choice.png").read_bytes())


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "docs/images/choosing.png"))
