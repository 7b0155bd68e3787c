"""Kill ``biosfa fit`` at random moments and resume it: every resume must end with the bits of an undisturbed run."""

import argparse
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from biosfa.io.model_file import read_model

COMMAND = [sys.executable, "-m", "biosfa"]
FITS = {
    "exact": ["--pca", "10", "--expand", "quadratic"],
    "online": ["--solver", "online", "--epochs", "2", "--delays", "2", "--missing", "break"],
    "bio": ["--solver", "bio", "--pca", "8", "--missing", "break"],
}


def main() -> None:
    """Kill and resume until there were so many kills."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=50)
    kills_wanted = parser.parse_args().kills
    rng = random.Random(0)
    kills = runs = 0
    with tempfile.TemporaryDirectory() as folder:
        X = np.random.default_rng(0).standard_normal((600_000, 12)).cumsum(axis=0)
        np.save(f"{folder}/x.npy", X)
        while kills < kills_wanted:
            name = list(FITS)[runs % len(FITS)]
            arguments = ["fit", "x.npy", "-k", "3", "--checkpoint-every", "0.02", *FITS[name]]
            begin = time.perf_counter()
            subprocess.run([*COMMAND, *arguments, "--out", "whole"], cwd=folder, check=True, capture_output=True)
            duration = time.perf_counter() - begin
            here = 0
            command = [*COMMAND, *arguments, "--out", "killed"]
            while not (Path(folder) / "killed").exists():
                process = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL)
                try:
                    process.wait(duration * rng.uniform(0.2, 1.0) if here < 12 else None)
                except subprocess.TimeoutExpired:
                    process.kill()
                here += process.wait() == -signal.SIGKILL
                checkpoint = Path(folder) / "killed.checkpoint"
                if checkpoint.exists():
                    read_model(checkpoint)  # raises if it is not whole
                    command = [*COMMAND, "resume", "killed", "--checkpoint-every", "0.02"]
            same = (Path(folder) / "killed").read_bytes() == (Path(folder) / "whole").read_bytes()
            kills, runs = kills + here, runs + 1
            print(f"{name}: killed {here} times, {'same bits' if same else 'OTHER BITS'}", flush=True)
            if not same:
                sys.exit(1)
            for file in ("killed", "whole", "killed.checkpoint"):
                (Path(folder) / file).unlink(missing_ok=True)
    print(f"{kills} kills in {runs} runs, every resume ended with the bits of an undisturbed run")


if __name__ == "__main__":
    main()
