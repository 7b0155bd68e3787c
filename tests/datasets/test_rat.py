"""The rat's room, walk and camera."""

import numpy as np
import pytest
from PIL import Image

from biosfa.datasets import rat_stream
from biosfa.datasets.rat import Room, Walk
from biosfa.datasets.rat._textures import NAMES, made_textures


def trace(room, x, y, azimuth, slope):
    """Colour along one ray, by marching: an independent, slow ray caster."""
    sides = {"walls": (0.0, room.width, 0.0, room.depth, room.height), "scenes": (-300.0, 300.0, -300.0, 300.0, 300.0)}
    direction = np.array([np.cos(azimuth), np.sin(azimuth), slope])
    for name, (left, right, low, high, top) in sides.items():
        hits = []
        for side, (axis, at) in enumerate(((0, left), (1, high), (0, right), (1, low))):
            if direction[axis] != 0.0 and (at - (x, y)[axis]) / direction[axis] > 0:
                hits.append(((at - (x, y)[axis]) / direction[axis], side))
        distance, side = min(hits)
        point = np.array([x, y, 3.0]) + distance * direction
        if point[2] < 0:
            point = np.array([x, y, 3.0]) + direction * (-3.0 / slope)
            rows, columns = room.floor.shape[:2]
            return room.floor[int(point[1] / room.depth * rows), int(point[0] / room.width * columns)]
        if point[2] <= top:
            along_x, along_y = (point[0] - left) / (right - left), (point[1] - low) / (high - low)
            u = (along_y, along_x, 1 - along_y, 1 - along_x)[side]
            texture = getattr(room, name)[side]
            return texture[int((1 - point[2] / top) * len(texture)), int(u * texture.shape[1])]
    raise AssertionError("the ray hit nothing")


def test_frames_are_what_rays_hit():
    room, rng = Room(), np.random.default_rng(0)
    for _ in range(6):
        x, y, heading = rng.uniform(5, 55), rng.uniform(5, 35), rng.uniform(0, 360)
        frame = room.look([[x, y]], [heading])[0]
        agree = []
        for row, column in zip(rng.integers(0, 40, 200), rng.integers(0, 320, 200), strict=True):
            azimuth = np.radians(int(heading - 160) + column)
            slope = np.tan(np.radians(20)) * (1 - (row + 0.5) / 20)
            agree.append((frame[row, column] == trace(room, x, y, azimuth, slope)).all())
        assert np.mean(agree) >= 0.99  # rounding may move a ray to the next texel


def test_walk_has_the_statistics_of_ratlab():
    """Measured on RatLab's own walks: autocorrelation of the heading, slowness of position and heading, coverage."""
    path = rat_stream(10_000, random_state=0).path
    turn = np.exp(1j * np.radians(path.heading))
    correlation = [np.real(np.mean(turn[lag:] * turn[:-lag].conj())) for lag in (1, 4, 8)]
    np.testing.assert_allclose(correlation, [0.77, 0.33, 0.08], atol=0.03)
    slowness = [np.mean(np.diff(x) ** 2) / x.var() for x in (*path.position.T, turn.real, turn.imag)]
    np.testing.assert_allclose(slowness, [0.0026, 0.0066, 0.44, 0.48], rtol=0.15)
    assert np.all(path.position >= 5)
    assert np.all(path.position <= [55, 35])
    np.testing.assert_allclose(np.linalg.norm(np.diff(path.position, axis=0), axis=1), 1.0)
    visited = {tuple(bin) for bin in np.floor(path.position).astype(int).tolist()}
    assert len(visited) > 0.95 * 50 * 30


def test_head_may_turn_by_itself():
    path = rat_stream(5000, walk=Walk(speed=8.0, rotation=5.0)).path
    turn = (np.diff(path.heading) + 180) % 360 - 180
    assert np.sqrt(np.mean(turn**2)) == pytest.approx(5.0, rel=0.05)


def test_walls_without_a_way_out_are_said():
    with pytest.raises(ValueError, match="no way off the wall"):
        rat_stream(2000, walk=Walk(arc=1.0, momentum=0.9, speed=8.0))
    with pytest.raises(ValueError, match="leaves no room"):
        rat_stream(10, walk=Walk(margin=25.0))


def test_a_path_of_the_users_own_and_the_same_frames_in_any_chunks():
    positions, headings = np.array([[10.0, 10.0], [30.0, 20.0], [50.0, 30.0]]), np.array([0.0, 90.0, 725.0])
    stream = rat_stream(path=(positions, headings), chunk=2)
    frames = np.concatenate(list(stream))
    np.testing.assert_array_equal(frames, stream[:])
    np.testing.assert_array_equal(frames[2], Room().look([[50.0, 30.0]], [5.0])[0])
    assert stream.shape == frames.shape == (3, 40, 320, 3)
    with pytest.raises(ValueError, match=r"position 1, \[30.0, 70.0\]"):
        rat_stream(path=([[1.0, 1.0], [30.0, 70.0]], [0.0, 0.0]))
    np.testing.assert_array_equal(np.asarray(stream), frames)
    np.testing.assert_array_equal(stream[1], frames[1])
    with pytest.raises(ValueError, match="path must have"):
        rat_stream(path=(positions, headings[:2]))


def test_walls_differ_and_have_the_colours_asked_for():
    textures = made_textures(0)
    assert set(textures) == set(NAMES)
    means = np.array([textures[f"wall{i}"].mean(axis=(0, 1)) for i in range(4)])
    np.testing.assert_allclose(means, [(148, 139, 134), (152, 121, 105), (88, 84, 77), (114, 106, 93)], atol=4)
    gray = np.array([textures[f"wall{i}"].mean(axis=2).ravel() for i in range(4)])
    assert np.abs(np.corrcoef(gray) - np.eye(4)).max() < 0.8  # they share the bright middle only
    np.testing.assert_array_equal(made_textures(3)["floor"], made_textures(3)["floor"])


def test_textures_of_the_users_own(tmp_path):
    for i, name in enumerate(NAMES):
        Image.new("RGB", (20 + i, 30), (10 * i, 0, 0)).save(tmp_path / f"{name}.png")
    frame = Room(textures=tmp_path).look([[30.0, 20.0]], [0.0])[0]
    assert set(np.unique(frame[..., 0])) <= {10 * i for i in range(len(NAMES))}
    assert frame[39, 160, 0] == 40  # the floor
    (tmp_path / "floor.png").unlink()
    with pytest.raises(ValueError, match="no picture floor"):
        Room(textures=tmp_path)
    (tmp_path / "floor.png").write_text("no picture")
    with pytest.raises(ValueError, match=r"floor\.png cannot be read"):
        Room(textures=tmp_path)


def test_grid_has_every_position_that_keeps_off_the_walls():
    room = Room()
    grid = room.grid()
    assert room.grid_shape() == (31, 51, 8)
    assert len(grid.heading) == 31 * 51 * 8
    assert set(grid.heading) == {45.0 * i for i in range(8)}
    np.testing.assert_array_equal(grid.position[0], [5, 5])
    np.testing.assert_array_equal(grid.position[-1], [55, 35])
