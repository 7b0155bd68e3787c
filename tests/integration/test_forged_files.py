"""Files that somebody made up, with a digest that fits: an error of one line, and no more memory than they justify."""

import json
import tracemalloc

import numpy as np
import pytest
from safetensors.numpy import save

import biosfa
from biosfa import SFA, BioSFA, ModelFileError, OnlineSFA
from biosfa.hierarchy import HierarchicalSFA, Layer
from biosfa.io import model_file
from tests.conftest import slow_mixture


@pytest.fixture(scope="module")
def X():
    return slow_mixture(300, times=(30.0, 5.0), n_noise=3, seed=1)[1]


def forge(source, target, *, settings=None, arrays=None, **parameters):
    """Copy a model file with some of its content replaced."""
    model = model_file.read_model(source)
    changed = {**model.settings, **(settings or {})}
    changed["parameters"] = {**changed["parameters"], **parameters}
    model_file.write_model(target, model._replace(settings=changed, arrays={**model.arrays, **(arrays or {})}))


def numbers(*shape):
    return np.zeros(shape, np.float32)


@pytest.mark.parametrize(
    ("model", "parameters", "settings", "arrays"),
    [
        (
            OnlineSFA(2, random_state=0),
            {"whitening_rank": "full"},
            {"n_features_in": 12_000},
            {"history": numbers(0, 12_000), "network.more": numbers(24_100)},
        ),
        (
            BioSFA(2, rule="nonnegative", random_state=0),
            {"n_components": 12_000},
            {},
            {"network.more": numbers(60_100)},
        ),
        (SFA(2, expansion="quadratic"), {}, {"n_features_in": 15_000}, {"more": numbers(15_100)}),
        (OnlineSFA(2, random_state=0), {"n_components": 8}, {}, {}),  # of 5 columns
    ],
    ids=["full", "nonnegative", "quadratic", "components"],
)
def test_what_settings_claim_is_checked_before_it_is_built(model, parameters, settings, arrays, X, tmp_path):
    path, forged = tmp_path / "model", tmp_path / "forged"
    model.fit(X).save(path)
    forge(path, forged, settings=settings, arrays=arrays, **parameters)
    assert forged.stat().st_size < 300_000
    tracemalloc.start()
    try:
        with pytest.raises(ModelFileError, match=r"too small|exceeds"):
            biosfa.load(forged)
        assert tracemalloc.get_traced_memory()[1] < 20e6
    finally:
        tracemalloc.stop()


def header_of(path):
    content = path.read_bytes()
    return json.loads(json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])["__metadata__"]["biosfa"])


@pytest.mark.parametrize("changes", [{"kind": None}, {"kind": ["SFA"]}, {"settings": None}, {"settings": [1]}])
def test_a_header_must_say_what_the_file_holds(changes, X, tmp_path):
    path = tmp_path / "model"
    SFA(2).fit(X).save(path)
    arrays = model_file.read_model(path).arrays
    header = {name: value for name, value in {**header_of(path), **changes}.items() if value is not None}
    del header["digest"]
    header["digest"] = model_file._digest(header, arrays)
    path.write_bytes(save(arrays, metadata={"biosfa": json.dumps(header)}))
    with pytest.raises(ModelFileError, match="model is damaged: its header"):
        biosfa.load(path)


@pytest.mark.parametrize("dtype", ["BF16", "F8_E4M3", "F16", "U8"])
def test_arrays_of_other_types_are_refused(dtype, X, tmp_path):
    path = tmp_path / "model"
    SFA(2).fit(X).save(path)
    content = path.read_bytes()
    end = 8 + int.from_bytes(content[:8], "little")
    header, data = json.loads(content[8:end]), content[end:]
    size = {"BF16": 2, "F16": 2}.get(dtype, 1)
    header["odd\nname"] = {"dtype": dtype, "shape": [4], "data_offsets": [len(data), len(data) + 4 * size]}
    altered = json.dumps(header).encode()
    path.write_bytes(len(altered).to_bytes(8, "little") + altered + data + bytes(4 * size))
    with pytest.raises(ModelFileError, match=rf"its array 'odd\\nname' has the type {dtype}$"):
        biosfa.load(path)


@pytest.fixture(scope="module")
def frames():
    return np.random.default_rng(0).standard_normal((300, 4, 4)).cumsum(axis=0)


LAYERS = [Layer((2, 2), stride=(2, 2), n_components=2, n_reduced=2), Layer((2, 2), n_components=2, n_reduced=2)]


@pytest.mark.parametrize("load", [biosfa.load, HierarchicalSFA.load])
def test_hierarchies_are_loaded_in_the_one_way(load, frames, X, tmp_path):
    path, forged = tmp_path / "model", tmp_path / "forged"
    HierarchicalSFA(LAYERS, solver="exact").fit(frames).save(path)
    arrays = model_file.read_model(path).arrays
    infinite = arrays["layer1.linear.components"] * np.inf
    for changes, message in (
        ({"arrays": {"layer1.linear.components": infinite}}, "not finite"),
        ({"arrays": {"layer1.linear.components": np.zeros((3, 8))}}, "where float64 of shape"),
        ({"arrays": {"more": np.zeros(3)}}, "21 arrays where its layers have 20"),
        ({"settings": {"shape_in": [5, 4]}}, "do not tile"),
        ({"settings": {"layers": None}}, "incomplete or damaged"),
        ({"settings": {"pixels": [0.0, float("nan")]}}, "no scale"),
        ({"clip": "x"}, "clip must be"),
    ):
        forge(path, forged, **changes)
        with pytest.raises(ModelFileError, match=message) as error:
            load(forged)
        assert "\n" not in str(error.value)
    SFA(2).fit(X).save(path)
    with pytest.raises(ModelFileError, match="holds SFA, not HierarchicalSFA"):
        HierarchicalSFA.load(path)


def test_slowness_that_is_not_known_is_no_damage(frames, tmp_path):
    path = tmp_path / "random"
    HierarchicalSFA(LAYERS, solver="random").fit(frames).save(path)
    for load in (biosfa.load, HierarchicalSFA.load):
        assert np.isnan(load(path).delta_values_[0][0]).all()
