"""The command that chooses settings."""

from pathlib import Path
from typing import Annotated

import typer

from biosfa.cli._errors import one_line_errors
from biosfa.cli._options import Given, Inputs, Typed, takes_stream_options
from biosfa.cli._output import say


def add_to(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command(rich_help_panel="Your own recordings")(choose)


@takes_stream_options(missing="break")
def choose(
    inputs: Inputs,
    out: Annotated[
        Path | None, typer.Option(help="Folder for choice.html and choice.png.", show_default="INPUT-choice")
    ] = None,
    lags: Annotated[
        str | None,
        typer.Option(help="Lags to try, in rows, with commas between them.", show_default="1,2,5,…,1000"),
    ] = None,
    max_components: Annotated[int, typer.Option(min=1, help="Recommend at most this many features.")] = 10,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the random inputs.")] = 0,
    *,
    given: Given,
    typed: Typed,
) -> None:
    """Recommend how many features, which lag, delays and expansion to use.

    The page shows timescales against lag, slowness on data that were not learned
    from, and whether features are slower than chance. It ends with the command to
    run next. The input may be larger than memory.

    Example: [b]biosfa choose recording.csv --time timestamp[/b]
    """
    with one_line_errors():
        from biosfa.recordings.choosing import work

        folder = out or Path(f"{Path(inputs[0].partition('::')[0]).stem}-choice")
        choice, command = work.choose(
            inputs, given, typed, folder, lags=_numbers(lags), max_components=max_components, seed=seed
        )
        for sentence in (*choice.reasons, *choice.cautions):
            say(sentence)
        say(f"page: {(folder / work.PAGE).resolve()}")
        say(f"\n{command}")


def _numbers(words: str | None) -> list[int] | None:
    if words is None:
        return None
    found = [word.strip() for word in words.split(",")]
    if not all(word.isdigit() and int(word) > 0 for word in found):
        raise ValueError(f"--lags {words} must be whole numbers from 1 on with commas between them, as in 1,2,5")
    return [int(word) for word in found]
