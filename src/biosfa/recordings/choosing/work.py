"""Chooses settings for files, and writes a page about them."""

import shlex
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from biosfa.exceptions import ShortEpisodeWarning
from biosfa.io import StreamOptions
from biosfa.io.results import writing_results
from biosfa.io.tables import STDIN
from biosfa.presentation.progress import Progress
from biosfa.recordings.choosing._picture import draw
from biosfa.recordings.choosing._report import write_report
from biosfa.recordings.notes import note_order
from biosfa.selection import Choice
from biosfa.selection import choose as recommended

PICTURE, PAGE = "choice.png", "choice.html"
OPTIONS = {"time": "--time", "max_step": "--max-step", "missing": "--missing", "episodes": "--episodes"}


def choose(
    inputs: list[str],
    given: Mapping[str, Any],
    folder: Path,
    *,
    lags: Sequence[int] | None = None,
    max_components: int = 10,
    seed: int = 0,
) -> tuple[Choice, str]:
    """Return the recommendation for files, and the command that follows it, after writing page and picture.

    ``given`` has fields of StreamOptions.
    """
    if inputs == [STDIN]:
        raise ValueError("standard input can be read only once, and choosing reads rows several times: use a file")
    stream = StreamOptions(**{"missing": "break", **given}).open(inputs)
    note_order(stream)
    with (
        writing_results(folder, "choose", (PICTURE, PAGE), stream.files()) as new,
        Progress("choose", total=None, unit="parts") as progress,
    ):
        parts: list[str] = []

        def report(what: str, share: float) -> None:
            if what not in parts:
                parts.append(what)
            progress.reach(min(1.0, (len(parts) - 1 + share) / PARTS), len(parts))

        with warnings.catch_warnings():
            warnings.simplefilter("once", ShortEpisodeWarning)
            choice = recommended(stream, lags=lags, max_components=max_components, random_state=seed, progress=report)
        command = fit_command(choice, inputs, given)
        draw(choice, new / PICTURE)
        write_report(choice, inputs, command, new / PICTURE, new / PAGE)
    return choice, command


PARTS = 3  # timescales, one expansion, surrogates


def fit_command(choice: Choice, inputs: Sequence[str], given: Mapping[str, Any]) -> str:
    """Return the command that fits with the recommended settings."""
    words = ["biosfa", "fit", *inputs, "--components", str(choice.n_components)]
    if choice.lag != 1:
        words += ["--lag", str(choice.lag)]
    if choice.pca is not None:
        words += ["--pca", str(choice.pca)]
    if choice.expansion is not None:
        words += ["--expand", choice.expansion]
    for name, option in OPTIONS.items():
        if isinstance(given.get(name), str | int | float):
            words += [option, str(given[name])]
    if choice.n_skipped and "missing" not in given:
        words += ["--missing", "break"]
    for name in ("columns", "skip"):
        if given.get(name) is not None:
            words += [f"--{name}", ",".join(_quoted(str(column)) for column in given[name])]
    for name in ("joined", "header"):
        if given.get(name) is not None:
            words.append(f"--{'' if given[name] else 'no-'}{name}")
    return shlex.join([*words, "--out", "model.safetensors"])


def _quoted(name: str) -> str:
    return f'"{name}"' if "," in name else name
