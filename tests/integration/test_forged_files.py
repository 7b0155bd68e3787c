"""Files that somebody made up, with a digest that fits: an error of one line, and no more memory than they justify."""

import json
import tracemalloc

import numpy as np
import pytest
from safetensors.numpy import save

import biosfa
from biosfa import SFA, BioSFA, ModelFileError, OnlineSFA
from biosfa.hierarchy import HierarchicalSFA, Layer
from biosfa.io import StreamOptions, model_file
from biosfa.recordings import inspection, run
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
    assert forged.stat().st_size < 500_000
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
        ({"arrays": {"layer1.linear.components": infinite}}, "contains NaN or infinity"),
        ({"arrays": {"layer1.linear.components": np.zeros((3, 8))}}, "but float64 of shape"),
        ({"arrays": {"more": np.zeros(3)}}, "21 arrays, but its layers have 20"),
        ({"settings": {"shape_in": [5, 4]}}, "do not tile"),
        ({"settings": {"layers": None}}, "incomplete or damaged"),
        ({"settings": {"pixels": [0.0, float("nan")]}}, "scale of its pixels is not finite"),
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


@pytest.fixture(scope="module")
def checkpoint(X, tmp_path_factory):
    """The model file of a fit that was stopped after some rows; its checkpoint is there."""
    folder = tmp_path_factory.mktemp("stopped")
    for i, rows in enumerate(np.array_split(X, 3)):  # a chunk each
        np.savetxt(folder / f"{i}.csv", rows, delimiter=",")
    inputs = [str(folder / f"{i}.csv") for i in range(3)]
    options = run.FitOptions(inputs, 2, solver="online", pca=3, epochs=2, stream=StreamOptions(header=False))
    begun = run.Run.begin(options, folder / "model")
    for _ in zip(range(5), begun.fitting.steps(), strict=False):  # three chunks for the components, two more to learn
        pass
    begun.keep()
    assert run.resume(folder / "model").fitting.n_rows == 500
    return folder / "model"


def replaced(content, path, value):
    """JSON data with one thing replaced, or removed (...)."""
    copy = json.loads(json.dumps(content))
    inner = copy
    for key in path[:-1]:
        inner = inner[key]
    if value is ...:
        del inner[path[-1]]
    else:
        inner[path[-1]] = value
    return copy


def place(path, value):
    return pytest.param(tuple(path.split(".")), value, id=f"{path}={'' if value is ... else value}")


@pytest.mark.parametrize(
    ("path", "value"),
    [
        place("owner", ...),
        place("owner", ["options"]),
        place("owner.options", ...),
        place("owner.options.inputs", 5),
        place("owner.options.inputs", ["-"]),
        place("owner.options.components", "two"),
        place("owner.options.solver", "oracle"),
        place("owner.options.stream.colour", "blue"),
        place("state", 7),
        place("state.fitting", ...),
        place("state.fitting.position", 3),
        place("state.fitting.position.cursor", ["x"]),
        place("state.fitting.position.cursor", [-5]),
        place("state.fitting.position.cursor", [100]),
        place("state.fitting.position.row", 0.5),
        place("state.fitting.position.n_jumps", -1),
        place("state.fitting.position.longest_jump", None),
        place("state.fitting.position.dated", 1),
        place("state.fitting.epoch", "first"),
        place("state.fitting.epoch", 10**9),
        place("state.fitting.begun", False),
        place("state.fitting.n_samples", 100),
        place("state.fitting.episodes.needed", None),
        place("state.constants", [[77, 0.0]]),
        place("state.fitting.monotone", 5),
        place("state.fitting.monotone", [[0], [0.0], [1]]),
        place("state.fitting.monotone", [[77], [0.0], [1], [0]]),
        place("state.fitting.monotone", [[0], [0.0], [-1], [0]]),
        place("state.fitting.monotone", [[0], ["x"], [1], [0]]),
        place("model", None),
        place("model", ["OnlineSFA"]),
        place("model", ["OnlineSFA", None]),
        place("model", ["SFA", {}]),
    ],
)
def test_forged_checkpoints_are_refused_in_one_line(path, value, checkpoint):
    kept_in = run.checkpoint_of(checkpoint)
    whole = kept_in.read_bytes()
    model = model_file.read_model(kept_in)
    try:
        model_file.write_model(kept_in, model._replace(settings=replaced(model.settings, path, value)))
        with pytest.raises((biosfa.ModelFileError, biosfa.InputError)) as error:
            run.resume(checkpoint)
        assert "\n" not in str(error.value)
        try:
            inspection.as_text(inspection.inspect(str(kept_in)))
        except ModelFileError as error:  # or it says what can be said
            assert str(kept_in) in str(error)  # noqa: PT017
    finally:
        kept_in.write_bytes(whole)


def test_checkpoints_of_version_0_2_are_resumed(checkpoint):
    """They do not have the options and the state that are newer."""
    kept_in = run.checkpoint_of(checkpoint)
    whole, settings = kept_in.read_bytes(), model_file.read_model(kept_in).settings
    try:
        newer = ["owner options stream skip", "state fitting monotone"]
        newer += [f"state fitting position {name}" for name in ("n_jumps", "longest_jump", "dated")]
        for path in [*(place.split() for place in newer), ["model", 1, "reading"]]:
            settings = replaced(settings, path, ...)
        model_file.write_model(kept_in, model_file.read_model(kept_in)._replace(settings=settings))
        assert run.resume(checkpoint).fitting.n_rows == 500
    finally:
        kept_in.write_bytes(whole)


def test_a_checkpoint_of_another_model_is_not_resumed(checkpoint, X, tmp_path):
    kept_in = run.checkpoint_of(checkpoint)
    whole, model = kept_in.read_bytes(), model_file.read_model(kept_in)
    try:
        parameters = ("model", 1, "parameters", "random_state")
        model_file.write_model(kept_in, model._replace(settings=replaced(model.settings, parameters, 7)))
        with pytest.raises(ModelFileError, match=r"parameters .* are needed"):
            run.resume(checkpoint)
        options = run.FitOptions.from_json(model.settings["owner"]["options"])
        with pytest.raises(biosfa.InputError, match="--overwrite"):
            run.begin(options, checkpoint)
    finally:
        kept_in.write_bytes(whole)


def test_what_a_model_file_says_of_its_origin_may_be_anything(X, tmp_path):
    path = tmp_path / "model"
    SFA(2).fit(X).save(path)
    for origin in (5, {}, {"inputs": 3, "constant_columns": None}, {"measured": {"delta_values": "x"}}):
        forge(path, path, settings={"origin": origin})
        with pytest.raises(ModelFileError, match="incomplete or damaged"):
            inspection.as_text(inspection.inspect(str(path)))
