"""Recorded paths: interpolated in time, stretched to fill the room, and with a heading for every frame."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from biosfa.datasets import rat_stream
from biosfa.datasets.rat import Room, Walk

CORNERS = [[0.0, 0.0, 0.0], [1.0, 3.0, 2.0]]
WALKED = (
    [[37.62982087624566, 12.469992538169594], [21.607497367153925, 15.067888787999756]],
    [321.41984475478, 213.76367195213186],
)  # the first and the last step of 1000


def turn(a, b):
    """The angle from one heading to another, from -180 to 180 degrees."""
    return (np.asarray(b) - np.asarray(a) + 180.0) % 360.0 - 180.0


def with_headings(time, heading):
    """A path across the room with these headings. Its extents have the ratio of the room: nothing is distorted."""
    share = np.linspace(0, 1, len(time))
    return np.column_stack([time, 5.0 * share, 3.0 * share, heading])


def test_a_circle_at_constant_speed():
    time = np.linspace(0, 20 * np.pi, 20_001) + 1e9  # clocks begin anywhere
    path = np.column_stack([time, 0.3 * np.cos(time - 1e9), 0.3 * np.sin(time - 1e9)])
    position, heading = rat_stream(1001, path=path, room=Room(width=40.0, depth=40.0)).path
    at = np.linspace(0, 20 * np.pi, 1001)
    np.testing.assert_allclose(position, 20 + 15 * np.column_stack([np.cos(at), np.sin(at)]), atol=1e-4)
    tangent = np.degrees(at) + 90.0
    half_a_step = np.degrees(at[1]) / 2  # the last step is the chord to this position
    np.testing.assert_allclose(turn(tangent[1:] - half_a_step, heading[1:]), 0.0, atol=1e-2)
    assert np.all(heading >= 0)
    assert np.all(heading < 360)


def test_a_heading_just_below_zero_is_zero():
    """The remainder of a small negative number and 360 is 360."""
    assert rat_stream(4, path=with_headings([0, 1], [-1e-15, -1e-15])).path.heading.max() < 360.0


def test_uneven_times_are_made_even():
    time = np.array([0.0, 1.0, 1.5, 4.0])  # at constant velocity
    position, heading = rat_stream(9, path=np.column_stack([time, 5 * time, 3 * time])).path
    np.testing.assert_allclose(position, np.linspace([5, 5], [55, 35], 9), atol=1e-12)
    np.testing.assert_allclose(heading, np.degrees(np.arctan2(3, 5)), atol=1e-9)


def test_directions_are_interpolated_along_the_circle():
    heading = rat_stream(5, path=with_headings([0, 1], [170.0, -170.0])).path.heading
    np.testing.assert_allclose(heading, [170, 175, 180, 185, 190])
    constant = rat_stream(50, path=with_headings([0, 1, 2, 3], [180.0, -180.0, 180.0, -180.0])).path.heading
    np.testing.assert_allclose(constant, 180.0)


@given(
    st.lists(st.floats(-90, 90), min_size=2, max_size=8),
    st.lists(st.integers(-3, 3), min_size=8, max_size=8),
    st.integers(2, 40),
)
def test_full_turns_make_no_difference(turns, full, n_frames):
    heading = np.cumsum(turns)
    time = np.arange(len(turns))
    wound = heading + 360.0 * np.array(full[: len(turns)])
    found = rat_stream(n_frames, path=with_headings(time, wound)).path.heading
    wanted = np.interp(np.linspace(0, time[-1], n_frames), time, heading)
    np.testing.assert_allclose(turn(wanted, found), 0.0, atol=1e-6)


@given(st.integers(1, 60), st.integers(2, 30), st.integers(0, 2**32 - 1), st.floats(1e-3, 1e6), st.floats(-1e6, 1e6))
def test_any_path_fills_the_room_and_units_do_not_matter(n_frames, n_rows, seed, unit, offset):
    rng = np.random.default_rng(seed)
    rows = np.column_stack([np.cumsum(rng.uniform(0.1, 2, n_rows)), rng.normal(size=(n_rows, 2))])
    position, heading = rat_stream(n_frames, path=rows).path
    assert position.shape == (n_frames, 2)
    assert np.all((position >= 5) & (position <= [55, 35]))
    assert np.all((heading >= 0) & (heading < 360))
    rows[:, 1:] *= unit
    again = rat_stream(n_frames, path=np.column_stack([7 * rows[:, 0] + offset, rows[:, 1:] + offset * unit]))
    np.testing.assert_allclose(again.path.position, position, atol=1e-4)


def test_a_path_is_stretched_with_its_headings():
    path = np.column_stack([CORNERS, [45.0, 45.0]])
    position, heading = rat_stream(2, path=path, walk=Walk(margin=10.0)).path
    np.testing.assert_allclose(position, [[10, 10], [50, 30]])
    np.testing.assert_allclose(heading, np.degrees(np.arctan2(20 / 2, 40 / 3)))


def test_a_rat_that_stands_still_keeps_its_direction():
    x = [0, 0, 1, 1, 1, 0]
    y = [0, 0, 0, 0, 1, 1]
    heading = rat_stream(6, path=np.column_stack([np.arange(6), x, y])).path.heading
    np.testing.assert_allclose(heading, [0, 0, 0, 0, 90, 180])


def test_the_head_may_turn_as_on_the_simulated_walk():
    walked = rat_stream(300, random_state=3).path
    stream = rat_stream(300, path=np.array(CORNERS), head="walk", random_state=3)
    np.testing.assert_array_equal(stream.path.heading, walked.heading)
    np.testing.assert_allclose(stream.path.position, np.linspace([5, 5], [55, 35], 300))
    pair = rat_stream(path=(walked.position[:20], np.zeros(20)), head="walk", walk=Walk(rotation=1.0))
    assert np.abs(turn(pair.path.heading[:-1], pair.path.heading[1:])).max() < 10


def test_the_simulated_walk_is_what_it_was():
    position, heading = rat_stream(1000, random_state=0).path
    np.testing.assert_allclose(position[[0, -1]], WALKED[0], atol=1e-9)
    np.testing.assert_allclose(heading[[0, -1]], WALKED[1], atol=1e-9)
    again = rat_stream(path=(position, heading))
    np.testing.assert_array_equal(again.path.position, position)
    np.testing.assert_array_equal(again.path.heading, heading)


@pytest.mark.parametrize(
    ("path", "message"),
    [
        (np.zeros((5, 2)), r"path must be a pair .* got an array of shape \(5, 2\)"),
        (np.zeros((1, 3)), "at least two rows"),
        ([[0, 0, 0], [1, 1, np.nan], [2, 2, 2]], "row 1 of the path has missing or infinite values"),
        ([[0, 0, 0], [2, 1, 1], [2, 2, 2]], "row 2 has 2.0 after 2.0"),
        ([[0, 0, 0], [1, 1, 0], [2, 2, 0]], "must extend along x and along y"),
    ],
)
def test_paths_that_cannot_be_used_are_said(path, message):
    with pytest.raises(ValueError, match=message):
        rat_stream(10, path=path)


def test_wrong_words_are_said():
    with pytest.raises(ValueError, match="head must be 'path' or 'walk'; got 'tail'"):
        rat_stream(10, path=np.array(CORNERS), head="tail")
    with pytest.raises(ValueError, match="n_frames must be a whole number"):
        rat_stream(0, path=np.array(CORNERS))
    with pytest.raises(ValueError, match="leaves no room"):
        rat_stream(10, path=np.array(CORNERS), walk=Walk(margin=25.0))
