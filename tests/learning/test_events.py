"""When things are done that are not done for every sample."""

import numpy as np

from biosfa.learning import next_event


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
