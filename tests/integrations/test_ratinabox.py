"""Paths of RatInABox: those of agents, also of a stand-in with the same history, and the recorded walks."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest

from biosfa.datasets import rat_stream
from biosfa.exceptions import MissingExtraError
from biosfa.integrations.ratinabox import agent_path, recorded_path


def stand_in(position, direction):
    """An object with the history that an agent of RatInABox keeps: lists."""
    time = [0.1 * (i + 1) for i in range(len(position))]
    return SimpleNamespace(history={"t": time, "pos": position, "head_direction": direction, "vel": direction})


def test_the_history_of_an_agent_is_a_path():
    agent = stand_in([[0.1, 0.1], [0.2, 0.1], [0.2, 0.3]], [[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]])
    path = agent_path(agent)
    np.testing.assert_allclose(path, [[0.1, 0.1, 0.1, 0], [0.2, 0.2, 0.1, 90], [0.3, 0.2, 0.3, 180]])
    np.testing.assert_allclose(rat_stream(3, path=path).path.heading, [0, 90, 180], atol=1e-9)


def test_histories_without_a_path_are_said():
    with pytest.raises(ValueError, match="the agent has no history"):
        agent_path(stand_in([], []))
    with pytest.raises(ValueError, match="two dimensions"):
        agent_path(stand_in([[0.1], [0.2]], [[1.0], [1.0]]))


def test_recorded_walks_need_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "ratinabox", None)
    with pytest.raises(MissingExtraError, match=r'pip install "biosfa\[ratinabox\]"'):
        recorded_path("sargolini")


def test_an_agent_of_the_host():
    host = pytest.importorskip("ratinabox")
    agent = host.Agent(host.Environment(), {"dt": 0.05})
    for _ in range(400):
        agent.update()
    position, heading = rat_stream(400, path=agent_path(agent)).path
    inner = (position > 8).all(axis=1) & (position < [52, 32]).all(axis=1)
    steps = np.diff(position, axis=0, prepend=position[:1])
    movement = np.degrees(np.arctan2(steps[:, 1], steps[:, 0]))
    turns = np.abs((heading - movement + 180) % 360 - 180)[inner]
    assert np.median(turns) < 20  # the head of an agent follows its velocity, smoothed


@pytest.mark.parametrize(
    ("name", "rows", "seconds", "size"), [("sargolini", 29_800, 600, 1.0), ("tanni", 219_670, 7323, 2.5)]
)
def test_the_recorded_walks_of_the_host(name, rows, seconds, size):
    pytest.importorskip("ratinabox")
    path = recorded_path(name)
    assert path.shape == (rows, 3)
    assert np.ptp(path[:, 0]) == pytest.approx(seconds, abs=1)
    assert np.ptp(path[:, 1:], axis=0).min() == pytest.approx(size, rel=0.05)
    assert rat_stream(500, path=path).shape == (500, 40, 320, 3)


def test_a_walk_that_the_host_does_not_have_is_said():
    pytest.importorskip("ratinabox")
    with pytest.raises(ValueError, match="no recording 'hare': choose among sargolini, tanni"):
        recorded_path("hare")
