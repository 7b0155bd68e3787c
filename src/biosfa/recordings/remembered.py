"""Reads inputs of a model as the input of its fit was read: columns, time, episodes, missing values."""

from collections.abc import Mapping
from typing import Any

from biosfa.estimators import SlowFeatureEstimator, check_columns, reading_of
from biosfa.io import Reading, Stream, StreamOptions
from biosfa.io.tables import STDIN, standard_input
from biosfa.monitoring import SlowFeatureMonitor
from biosfa.recordings.notes import note, note_order
from biosfa.wording import listed, quoted


def stream_for(model: SlowFeatureEstimator | SlowFeatureMonitor, source: Any, given: Mapping[str, Any]) -> Stream:
    """Open an input of a model with the given fields of StreamOptions; the others are those of the fit."""
    return opened_for(model, source, given)[0]


def opened_for(
    model: SlowFeatureEstimator | SlowFeatureMonitor, source: Any, given: Mapping[str, Any]
) -> tuple[Stream, StreamOptions]:
    """Do the same, and return the options, too.

    The columns are those that the model was fitted to, by name if they have names. A note says what follows if the
    column of time or of episodes is not in the input.
    """
    header = given.get("header")
    piped = isinstance(source, list) and len(source) == 1 and isinstance(source[0], str) and source[0] == STDIN
    opened = standard_input(header) if piped else source
    options = {"missing": model.missing, **_episodes_of_fit(reading_of(model), opened, given), **given}
    if hasattr(model, "feature_names_in_") and "columns" not in given:
        options["columns"] = [str(name) for name in model.feature_names_in_]
    complete = StreamOptions(**options)
    stream = complete.open(opened)
    note_order(stream)
    check_columns(model, stream)
    return stream, complete


def _episodes_of_fit(reading: Reading, source: Any, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options that divide the input into episodes as the fit did, where the input has the columns."""
    found: dict[str, Any] = {"joined": reading.joined}
    names: list[str] = []
    if {reading.time, reading.episodes} != {None}:
        names = StreamOptions(header=given.get("header")).open(source).feature_names
    time, episodes = given.get("time", reading.time), given.get("episodes", reading.episodes)
    if "time" not in given and time is not None and time not in names:
        note(
            f"the fit took the time from column {quoted(time)}, which is not in the input; it has {listed(names)}. So "
            "gaps in time are not noticed here: name the column of time with --time"
        )
        time = None
    if isinstance(time, int) and time < len(names):
        time = names[time]
    if time is not None and time == reading.time:
        found |= {"time": time, "max_step": reading.max_step}
    if "episodes" in given:
        return found
    if isinstance(episodes, str) and episodes not in names:
        note(
            f"the fit took the episodes from column {quoted(episodes)}, which is not in the input; it has "
            f"{listed(names)}. So each file is one episode here: name the column of episodes with --episodes"
        )
    elif reading.lengths:
        note(
            "the fit was told the length of each episode, which holds only for its own input. So each file is one "
            "episode here: give the lengths with --episodes"
        )
    else:
        found["episodes"] = episodes
    return found
