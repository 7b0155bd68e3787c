"""Chooses settings for files, and writes a page about them."""

import shlex
import warnings
from collections.abc import Mapping, Sequence
from itertools import chain, count
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
from biosfa.recordings.run import checkpoint_of
from biosfa.selection import Choice
from biosfa.selection import choose as recommended

PICTURE, PAGE = "choice.png", "choice.html"


def choose(
    inputs: list[str],
    given: Mapping[str, Any],
    typed: Mapping[str, Any],
    folder: Path,
    *,
    lags: Sequence[int] | None = None,
    max_components: int = 10,
    seed: int = 0,
) -> tuple[Choice, str]:
    """Return the recommendation for files, and the command that follows it, after writing page and picture.

    ``given`` has fields of StreamOptions, and ``typed`` the same as they were typed.
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
        command = fit_command(choice, inputs, typed)
        draw(choice, new / PICTURE)
        write_report(choice, inputs, command, new / PICTURE, new / PAGE)
    return choice, command


PARTS = 5  # usual number of parts: timescales, delays, one expansion, surrogates, timescales again


def fit_command(choice: Choice, inputs: Sequence[str], typed: Mapping[str, Any]) -> str:
    """Return the command that fits with the recommended settings, and reads the inputs in the same way."""
    words = ["biosfa", "fit", *inputs, "--components", str(choice.n_components)]
    if choice.lag != 1:
        words += ["--lag", str(choice.lag)]
    if choice.pca is not None:
        words += ["--pca", str(choice.pca)]
    if choice.n_delays != 1:
        words += ["--delays", str(choice.n_delays)]
    if choice.expansion is not None:
        words += ["--expand", choice.expansion]
    for name, word in typed.items():
        option = name.replace("_", "-")
        if isinstance(word, bool):
            words.append(f"--{option}" if word else f"--no-{option}")
        else:
            words += [f"--{option}", str(word)]
    if (choice.n_skipped or choice.n_jumps) and "missing" not in typed:
        words += ["--missing", "break"]
    return shlex.join([*words, "--out", _free_name()])


def _free_name() -> str:
    """Return the name of a model file that does not exist yet."""
    names = (f"model{number}.safetensors" for number in chain([""], (f"-{n}" for n in count(2))))
    return next(name for name in names if not (Path(name).exists() or checkpoint_of(Path(name)).exists()))
