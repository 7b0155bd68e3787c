"""Programs that measure: how each is run, and where it leaves its results."""

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
MEASURED = ROOT / "build" / "measured"
TEP = "../shared/data/tep"  # the Tennessee Eastman benchmark, which is not part of the repository


@dataclass(frozen=True)
class Source:
    """A program that measures. Its results are in a folder of its own, where it can resume."""

    command: str
    """As a reader would type it."""
    arguments: tuple[str, ...]
    """Of the Python interpreter; {out} stands for the folder."""
    files: tuple[str, ...]
    """What the program writes into the folder."""
    resume: tuple[str, ...] = ()
    """More arguments if the folder holds an unfinished run."""


@dataclass(frozen=True)
class Results:
    """The results of one source: the content of each file by name, and the commit and machine they come from."""

    content: dict[str, Any]
    origin: dict[str, str]


def _command(arguments: str, *, full: str = "") -> Source:
    """A command of biosfa, which resumes if asked to."""
    files = ("metrics.json", "timings.json")
    words = (*arguments.split(), *full.split())
    return Source(f"biosfa {arguments}", ("-m", "biosfa", *words, "--out", "{out}"), files, ("--resume",))


def _program(name: str, command: str, *arguments: str) -> Source:
    """A program of this folder that writes its figures to one file."""
    return Source(command, (f"benchmarks/{name}.py", *arguments, "--json", "{out}/figures.json"), ("figures.json",))


SOURCES = {
    "compare-mixture": _command("compare --problem mixture"),
    "compare-chaotic": _command("compare --problem chaotic", full="--no-scaling"),
    "compare-images-small": _command("compare --problem images-small", full="--no-scaling"),
    "reproduce-chaotic": _command("reproduce chaotic --preset paper"),
    "reproduce-images": _command("reproduce images --preset paper --runs 3"),
    "reproduce-rat": _command("reproduce rat --preset paper"),
    "convergence": _program("convergence", "python benchmarks/convergence.py --short", "--short"),
    "convergence-1": _program("convergence", "python benchmarks/convergence.py 1", "1"),
    "health": _program("health", "make bench-health"),
    "health-1": _program("health", "python benchmarks/health.py 1", "1"),
    "ideas": replace(_program("ideas", "python benchmarks/ideas.py"), resume=("--resume",)),
    "limits": _program("limits", "python benchmarks/limits.py"),
    "bench": _program("bench", "make bench"),
    "monitoring": _program("monitoring", "make bench-monitoring"),
    "monitoring-tep": _program(
        "monitoring", "python benchmarks/monitoring.py --only tep --tep FOLDER", "--only", "tep", "--tep", TEP
    ),
    "choosing": _program("choosing", "make bench-choosing"),
    "scaling": _program("scaling", "make bench-scaling"),
    "exporting": _program("exporting", "make bench-exporting"),
    "walks": _program("walks", "make bench-walks", "--out", "{out}"),
    "soak": Source("make soak", ("benchmarks/soak.py", "--out", "{out}"), ("OnlineSFA.json", "BioSFA.json")),
}


def read(name: str) -> Results | None:
    """Return the results of a source, or None if it has not run to its end."""
    folder = MEASURED / name
    origin = folder / "origin.json"
    if not origin.exists():
        return None
    content = {file: json.loads((folder / file).read_text(encoding="utf-8")) for file in SOURCES[name].files}
    return Results(content, json.loads(origin.read_text(encoding="utf-8")))
