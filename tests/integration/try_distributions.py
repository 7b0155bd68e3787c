"""Installs each wheel and sdist of a folder in a fresh environment, and tries it there: ``make build``.

Nothing is taken from the source tree: Python and the command run in an empty folder.
"""

import os
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

TRIAL = """
import numpy as np
import biosfa

assert "site-packages" in biosfa.__file__, biosfa.__file__
rng = np.random.default_rng(0)
X = np.column_stack([np.sin(np.arange(1000) / 50), rng.standard_normal((1000, 3))]) @ rng.standard_normal((4, 4))
for learner in (biosfa.SFA(2), biosfa.OnlineSFA(2), biosfa.LocalSFA(2), biosfa.BioSFA(2)):
    assert learner.fit(X).transform(X).shape == (1000, 2)
np.savetxt("recording.csv", X, delimiter=",", header="a,b,c,d", comments="")
print("biosfa", biosfa.__version__)
"""
COMMANDS = (
    "--version",
    "--help",
    "fit recording.csv --components 2 --out model.safetensors",
    "inspect model.safetensors",
    "transform model.safetensors recording.csv --out features.csv",
    "plot model.safetensors recording.csv --out picture.png",
)
PRODUCTS = ("model.safetensors", "features.csv", "picture.png")


def try_out(distribution: Path, folder: Path) -> None:
    """Install a distribution, run Python and the command, and check that the files are there."""
    venv.create(folder / "venv", with_pip=True)
    binaries = folder / "venv" / ("Scripts" if os.name == "nt" else "bin")
    place = folder / "empty"
    place.mkdir()
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}

    def run(program: str, *arguments: str) -> None:
        subprocess.run([binaries / program, *arguments], cwd=place, env=environment, check=True)

    run("python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", str(distribution.resolve()))
    run("python", "-c", TRIAL)
    for command in COMMANDS:
        print(f"$ biosfa {command}", flush=True)
        run("biosfa", *command.split())
    assert all((place / name).stat().st_size > 0 for name in PRODUCTS)


def main() -> None:
    distributions = sorted([*Path(sys.argv[1]).glob("*.whl"), *Path(sys.argv[1]).glob("*.tar.gz")])
    assert distributions, f"{sys.argv[1]} has no wheel and no sdist"
    for distribution in distributions:
        print(f"--- {distribution.name}", flush=True)
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            try_out(distribution, Path(folder))


if __name__ == "__main__":
    main()
