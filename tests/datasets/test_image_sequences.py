"""Windows that move over images."""

import numpy as np
import pytest
from PIL import Image
from scipy.ndimage import map_coordinates

from biosfa.datasets import dead_leaves, image_sequences, pink_noise


@pytest.fixture(scope="module")
def photograph():
    return pink_noise(1, side=256, random_state=3)[0]


def test_frames_are_bilinear_samples_of_the_image(photograph):
    sequences = image_sequences(3, images=[photograph])
    frames = sequences.frames(1, 2)
    motion = sequences.motion(1)
    grid = np.linspace(-8, 8, 16)
    v, u = np.meshgrid(grid, grid, indexing="ij")
    for t in (0, 37, 99):
        c, s = np.cos(motion.angle[t]) * motion.zoom[t], np.sin(motion.angle[t]) * motion.zoom[t]
        where = [motion.y[t] + s * u + c * v, motion.x[t] + c * u - s * v]
        expected = map_coordinates(photograph, where, order=1).ravel()
        np.testing.assert_allclose(frames[t], expected, atol=1e-5)


def test_motion_is_that_of_the_published_program(photograph):
    """Measured from it: mean speed 2.25 pixels and rotation 0.118 rad a frame, zoom within [0.6, 1.67]."""
    sequences = image_sequences(200, images=[np.pad(photograph, 200, mode="reflect")])
    motions = [sequences.motion(i) for i in range(200)]
    speed = np.mean([np.hypot(np.diff(m.x), np.diff(m.y)).mean() for m in motions])
    rotation = np.std(np.concatenate([np.diff(m.angle) for m in motions]))
    zoom = np.concatenate([m.zoom for m in motions])
    assert speed == pytest.approx(2.25, rel=0.05)
    assert rotation == pytest.approx(0.118, rel=0.05)
    assert zoom.min() > 0.5
    assert zoom.max() < 1.8


def test_the_same_frames_come_however_they_are_asked_for(photograph):
    whole = image_sequences(7, images=[photograph], random_state=5).frames()
    chunks = list(image_sequences(7, images=[photograph], chunk=3, random_state=5))
    assert [len(chunk) for chunk in chunks] == [300, 300, 100]
    np.testing.assert_array_equal(np.concatenate(chunks), whole)
    other = image_sequences(7, images=[photograph], random_state=6).frames()
    assert not np.array_equal(other, whole)


def test_dead_leaves_look_like_photographs_to_a_spectrum():
    """Their power falls about as frequency to the −2.2."""
    image = dead_leaves(1, random_state=1)[0]
    power = np.abs(np.fft.rfft2(image - image.mean())) ** 2
    frequency = np.hypot(np.fft.fftfreq(512)[:, None], np.fft.rfftfreq(512))
    band = (frequency > 0.01) & (frequency < 0.2)
    slope = np.polyfit(np.log(frequency[band]), np.log(power[band]), 1)[0]
    assert -2.9 < slope < -1.9
    assert image.min() >= 0
    assert image.max() <= 1


def test_folders_of_images_are_read_whatever_their_kind(tmp_path, photograph):
    gray = (255 * photograph).astype(np.uint8)
    Image.fromarray(gray).save(tmp_path / "a.png")
    Image.fromarray(np.stack([gray] * 3, axis=2)).save(tmp_path / "b.tiff")
    Image.fromarray(257 * gray.astype(np.uint16)).save(tmp_path / "c.png")
    (tmp_path / "README.md").write_text("not an image, and not called one")
    images = image_sequences(1, images=tmp_path).images
    assert len(images) == 3
    for image in images:
        np.testing.assert_allclose(image, gray / 255, atol=1e-6)


def test_bad_images_are_named(tmp_path, photograph):
    with pytest.raises(ValueError, match="has no images"):
        image_sequences(1, images=tmp_path)
    (tmp_path / "broken.png").write_bytes(b"nothing")
    with pytest.raises(ValueError, match=r"broken\.png cannot be read: not an image"):
        image_sequences(1, images=tmp_path)
    (tmp_path / "broken.png").unlink()
    Image.fromarray(np.zeros((40, 300), np.uint8)).save(tmp_path / "small.png")
    with pytest.raises(ValueError, match=r"small\.png has 300 × 40 pixels"):
        image_sequences(1, images=tmp_path)
    with pytest.raises(ValueError, match="which is not a folder"):
        image_sequences(1, images="no such thing")
    with pytest.raises(ValueError, match="n_frames"):
        image_sequences(1, images=[photograph], n_frames=0)
