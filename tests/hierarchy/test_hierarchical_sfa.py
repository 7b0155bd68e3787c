"""Hierarchies against flat slow feature analysis, layer by layer."""

import json
from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import clone

import biosfa
from biosfa import SFA, BioSFA, InverseTime, ModelFileError, OnlineSFA, QuadraticExpansion, metrics
from biosfa.hierarchy import HierarchicalSFA, Layer, Learner, _modules, _training

SMALL = (
    Layer(
        (4, 4), (2, 2), n_components=3, n_reduced=4, linear=Learner(OnlineSFA(), 2), quadratic=Learner(OnlineSFA(), 2)
    ),
    Layer((3, 5), n_components=2, n_reduced=5, linear=Learner(OnlineSFA(), 3), quadratic=Learner(OnlineSFA(), 3)),
)


def film(n=1500, seed=0, shape=(8, 12)):
    """A bright spot that wanders over a dim, noisy picture."""
    rng = np.random.default_rng(seed)
    where = np.cumsum(rng.standard_normal((n, 2)) * 0.15, axis=0)
    y, x = np.mgrid[: shape[0], : shape[1]]
    center = (np.sin(where) + 1) / 2 * (np.array(shape) - 1)
    spot = np.exp(-((y - center[:, :1, None]) ** 2 + (x - center[:, 1:, None]) ** 2) / 8)
    return (np.clip(150 * spot + rng.normal(60, 8, (n, *shape)), 0, 255)).astype(np.uint8)


def test_the_papers_fields_tile_the_papers_frames():
    sizes = [(40, 320)]
    for layer in (Layer((8, 10)), Layer((6, 14)), Layer((2, 8))):
        sizes.append(layer.tiles(sizes[-1]))
    assert sizes[1:] == [(9, 63), (2, 8), (1, 1)]


def test_fields_that_do_not_tile_are_named():
    with pytest.raises(ValueError, match=r"fields of 10 columns every 5 do not tile 323 columns: .* 320 or 325"):
        Layer((8, 10)).tiles((40, 323))
    with pytest.raises(ValueError, match="layer 2: fields of 9 rows"):
        HierarchicalSFA([SMALL[0], Layer((9, 5))]).fit(film(50))
    with pytest.raises(ValueError, match="two whole numbers"):
        Layer(3)


def test_patches_are_cut_from_the_maps():
    maps = np.random.default_rng(0).standard_normal((2, 8, 12, 3)).astype(np.float32)
    patches = SMALL[0].patches(maps)
    assert patches.shape == (2, 3 * 5, 4 * 4 * 3)
    np.testing.assert_array_equal(patches[1, 1 * 5 + 2], maps[1, 2:6, 4:8].ravel())


def test_a_module_is_sfa_expansion_sfa_with_one_memory_for_each_patch():
    """Shared weights: as exact SFA of the patches, one after the other, as episodes."""
    frames = film(400)
    lengths = [150, 250]
    layer = Layer((8, 8), (8, 4), n_components=3, n_reduced=4)
    found = HierarchicalSFA([layer], solver="exact", clip=100.0).fit(frames, lengths=lengths).transform(frames)
    pixels = (frames - frames.astype(float).mean()) / frames.std()
    patches = [pixels[:, :, begin : begin + 8].reshape(400, -1) for begin in (0, 4)]
    rows, episodes = np.concatenate(patches), lengths * 2
    reduced = SFA(4).fit(rows, lengths=episodes).transform(rows)
    expanded = QuadraticExpansion().fit_transform(reduced)
    expected = SFA(3).fit(expanded, lengths=episodes).transform(expanded)
    expected = np.concatenate(np.split(expected, 2), axis=1)
    signs = np.sign((found * expected).sum(axis=0))
    np.testing.assert_allclose(found, expected * signs, atol=5e-3)


def test_online_features_become_about_as_slow_as_exact_ones():
    frames = film()
    slowness = {
        solver: metrics.slowest(HierarchicalSFA(SMALL, solver=solver).fit_transform(frames).astype(float), 2).sum()
        for solver in ("exact", "online", "random")
    }
    assert slowness["online"] < 1.3 * slowness["exact"]
    assert slowness["random"] > 3 * slowness["exact"]


@pytest.mark.parametrize("solver", ["exact", "online"])
def test_what_is_kept_in_memory_changes_nothing(solver):
    frames = film(300)
    kept = HierarchicalSFA(SMALL, solver=solver).fit(frames)
    streamed = HierarchicalSFA(SMALL, solver=solver, memory_budget=0).fit(frames)
    np.testing.assert_allclose(streamed.transform(frames), kept.transform(frames), atol=1e-4)


@pytest.mark.parametrize("solver", ["exact", "online"])
def test_chunks_change_nothing_and_episodes_do(solver, monkeypatch):
    """Chunks of some frames, which end within episodes, beside one that has all."""
    frames, lengths = film(300), [110, 190]
    whole = HierarchicalSFA(SMALL, solver=solver).fit(frames, lengths=lengths).transform(frames)
    joined = HierarchicalSFA(SMALL, solver=solver).fit(frames).transform(frames)
    monkeypatch.setattr(_modules, "CHUNK_BYTES", 4 * 240 * 7)
    monkeypatch.setattr(_training, "BLOCK_ROWS", 45)
    pieces = HierarchicalSFA(SMALL, solver=solver, memory_budget=0).fit(frames, lengths=lengths)
    np.testing.assert_allclose(pieces.transform(frames), whole, atol=5e-3)  # float32, through four eigenproblems
    assert np.abs(joined - whole).max() > 2e-2


class Frames:
    """Not an array: gives frames for slices only."""

    def __init__(self, frames):
        self._frames = frames
        self.shape = frames.shape

    def __getitem__(self, index):
        assert isinstance(index, slice)
        return self._frames[index]


def test_files_and_anything_that_gives_slices(tmp_path):
    frames = film(300)
    layers = [
        SMALL[0],
        Layer((3, 5), n_components=2, n_reduced=5, linear=Learner(OnlineSFA(learning_rate=InverseTime(100, 1)))),
    ]
    hierarchy = HierarchicalSFA(layers, random_state=3).fit(Frames(frames))
    hierarchy.save(tmp_path / "rat.safetensors")
    loaded = biosfa.load(tmp_path / "rat.safetensors")
    np.testing.assert_array_equal(loaded.transform(frames), hierarchy.transform(frames))
    assert loaded.layers == layers
    assert loaded.get_params(deep=False) == hierarchy.get_params(deep=False)
    np.testing.assert_array_equal(loaded.delta_values_[1][0], hierarchy.delta_values_[1][0])
    SFA(1).fit(frames.reshape(300, -1)[:, :3].astype(float)).save(tmp_path / "sfa.safetensors")
    with pytest.raises(ModelFileError, match="holds SFA, not"):
        HierarchicalSFA.load(tmp_path / "sfa.safetensors")


def test_a_checkpoint_spares_the_layers_that_are_trained(tmp_path):
    frames, file = film(300), tmp_path / "checkpoint.safetensors"
    whole = HierarchicalSFA(SMALL).fit(frames)
    learned = []

    def stop(count):
        learned.append(count)
        if sum(learned) > 4 * 300:  # within the second layer
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        HierarchicalSFA(SMALL).fit(frames, checkpoint=file, progress=stop)
    rest = []
    again = HierarchicalSFA(SMALL).fit(frames, checkpoint=file, progress=rest.append)
    assert rest[0] == 4 * 300
    assert sum(rest) == again.frames_to_learn(300) == 10 * 300
    np.testing.assert_array_equal(again.transform(frames), whole.transform(frames))
    with pytest.raises(ValueError, match="another hierarchy"):
        HierarchicalSFA(SMALL, solver="exact").fit(frames, checkpoint=file)
    for others, lengths in ((frames // 2, None), (film(301), None), (frames, [100, 200])):
        with pytest.raises(ValueError, match="other frames"):
            HierarchicalSFA(SMALL).fit(others, lengths=lengths, checkpoint=file)
    with pytest.raises(ModelFileError, match="is a checkpoint, not a model"):
        biosfa.load(file)
    whole.save(file)
    with pytest.raises(TypeError, match="cannot be replaced"):
        biosfa.load(file, clip=3.0)


def test_wrong_frames_are_said():
    with pytest.raises(ValueError, match="frames must have the shape"):
        HierarchicalSFA(SMALL).fit(np.zeros((10, 5)))
    with pytest.raises(ValueError, match="all of one colour"):
        HierarchicalSFA(SMALL).fit(np.zeros((10, 8, 12)))
    with pytest.raises(ValueError, match="trained on"):
        HierarchicalSFA(SMALL, solver="exact").fit(film(200)).transform(film(10, shape=(8, 10)))
    spoiled = film(700).astype(float)
    spoiled[600, 2, 3] = np.nan
    with pytest.raises(ValueError, match="frame 600 has NaN"):
        HierarchicalSFA(SMALL, solver="exact").fit(spoiled)
    with pytest.raises(ValueError, match="fewer dimensions"):
        HierarchicalSFA([Layer((8, 12), n_reduced=5)], solver="random").fit(film(3))
    with pytest.raises(ValueError, match="one frame"):
        HierarchicalSFA(SMALL).fit(film(1))
    with pytest.raises(ValueError, match="passes must be"):
        Learner(OnlineSFA(), passes=0)
    with pytest.raises(ValueError, match="can be saved in a file"):
        Learner(BioSFA(learning_rate=lambda t: 0.1))
    with pytest.raises(ValueError, match="learns with one of OnlineSFA, LocalSFA, BioSFA"):
        Learner(SFA())
    for unfit in ({"pca": 3}, {"expansion": "quadratic"}, {"n_delays": 2}, {"n_epochs": 2}, {"missing": "break"}):
        with pytest.raises(ValueError, match=f"{next(iter(unfit))}=.* cannot be used in a hierarchy"):
            Learner(OnlineSFA(**unfit))
    with pytest.raises(ValueError, match="linear must be a Learner"):
        Layer((2, 2), linear=OnlineSFA())
    with pytest.raises(ValueError, match="solver must be one of"):
        HierarchicalSFA(SMALL, solver="fast").fit(film(50))
    with pytest.raises(ValueError, match="sequence of Layer"):
        HierarchicalSFA([]).fit(film(50))


def test_layers_are_data():
    for layer in (SMALL[1], Layer((2, 2)), Layer((2, 2), linear=Learner(BioSFA(rule="reversible", tau=0.1), 4))):
        description = json.loads(json.dumps(layer.described()))
        assert Layer.from_description("file", description) == layer
    assert Layer((2, 2), linear=Learner(BioSFA())) != Layer((2, 2), linear=Learner(BioSFA(tau=0.1)))
    assert len({Layer((2, 2), linear=Learner(BioSFA())), Layer((2, 2), linear=Learner(BioSFA()))}) == 1


def test_a_step_learns_by_its_own_rule_or_by_that_of_the_solver():
    """Training by hand, with the estimator that should be at work: all patches are streams of one network."""
    frames, layer = film(200), Layer((4, 4), (4, 4), n_components=2, n_reduced=3)
    scaled = (frames[..., None].astype(np.float32) - frames.mean()) / frames.std()
    streams = layer.patches(scaled)
    own = Learner(BioSFA(rule="reversible"), passes=1)
    for solver, linear, wanted in (
        ("online", None, OnlineSFA()),
        ("bio", None, BioSFA()),
        ("online", own, own.estimator),
        ("bio", own, own.estimator),
    ):
        hierarchy = HierarchicalSFA([replace(layer, linear=linear)], solver=solver).fit(frames)
        seed = int(np.random.default_rng([0, 0, 0]).integers(2**31))
        net = clone(wanted).set_params(n_components=3, dtype=np.float32, random_state=seed)
        net.partial_fit_streams(streams)
        np.testing.assert_allclose(hierarchy.steps_[0][0].components, net.components_, rtol=1e-3, atol=1e-4)
