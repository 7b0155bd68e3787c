"""When things are done that are not done for every sample."""

import numpy as np
import pytest

from biosfa.learning import _events, next_event

# Those of the whitening (all of C_xx, low rank), of automatic rates, and of answers to a stream; and odd ones.
LADDERS = [
    {"first": 2, "grid": 128, "growth": 0.125},
    {"first": 2, "grid": 128, "growth": 0.5},
    {"first": 2, "grid": 1024, "growth": 1 / 16},
    {"first": 8, "grid": 64, "growth": 1 / 64},
    {"first": 1, "grid": 1, "growth": 1.0},
    {"first": 300, "grid": 64, "growth": 0.3},
]


def step_by_step(n_seen, *, first, grid, growth, window):
    """The definition: from event to event, until one is due after ``n_seen``."""

    def step(count):
        return max(1, int(growth * count / grid)) * grid

    due = first
    while due <= n_seen:
        if due >= window:  # from here on they are equally spaced
            return due + ((n_seen - due) // step(window) + 1) * step(window)
        due = 2 * due if due < grid else due + step(due)
    return due


@pytest.mark.parametrize("ladder", LADDERS, ids=str)
@pytest.mark.parametrize("window", [1.0, 10.0, 80.0, 4096.0, 123456.7, 1e9, np.inf])
def test_events_are_those_of_the_definition(ladder, window):
    rng = np.random.default_rng(0)
    numbers = {*range(600), *(int(n) for n in 10 ** rng.uniform(0, 15, 300))}
    due = 0
    for _ in range(300):  # events, and the numbers beside them
        due = step_by_step(due, **ladder, window=window)
        if due < 10**18:  # no stream is longer
            numbers |= {due - 1, due, due + 1}
    for n_seen in numbers:
        found = next_event(n_seen, **ladder, window=window)
        assert found == step_by_step(n_seen, **ladder, window=window)
        assert type(found) is int


def test_the_next_event_is_found_without_going_through_those_before(monkeypatch):
    """Beyond the first call, which lists them: as many steps at the end of a long stream as at its beginning."""
    ladder = LADDERS[0] | {"window": np.inf}
    next_event(0, **ladder)

    def refuse(*arguments):
        raise AssertionError("the events are listed again")

    monkeypatch.setattr(_events, "_step", refuse)
    assert next_event(10**4, **ladder) < next_event(10**7, **ladder) < next_event(10**15, **ladder)


def test_events_are_no_rarer_than_the_window_asks_for():
    def events(window):
        due = [0]
        while due[-1] < 100_000:
            due.append(next_event(due[-1], first=2, grid=128, growth=0.125, window=window))
        return np.array(due)

    assert np.diff(events(4096.0)).max() == 512
    assert np.diff(events(np.inf)).max() > 8000
    assert {next_event(n, first=2, grid=128, growth=0.125, window=4096.0) for n in range(50_000, 50_600)} <= {
        *events(4096.0)
    }
