"""Model files: loaded, used, inspected, saved again."""

import json
from contextlib import contextmanager

import numpy as np
from safetensors.numpy import save
from sklearn.base import clone

import biosfa
from biosfa import SFA, Annealed, BioSFA, GraphSFA, InverseTime, LocalSFA, OnlineSFA, QuadraticExpansion
from biosfa.hierarchy import HierarchicalSFA, Layer, Learner
from biosfa.integrations.onnx import to_onnx
from biosfa.io import model_file
from biosfa.monitoring import SlowFeatureMonitor
from biosfa.recordings import inspection
from biosfa.rivals import FoldiakTrace, IncrementalSFA, OnlineGEV
from tests.conftest import slow_mixture
from tests.fuzzing.damage import ODD, altered, damaged
from tests.fuzzing.sandbox import check_one_line

ESTIMATORS = {
    "sfa": SFA(2),
    "sfa-all": SFA(),
    "sfa-delays": SFA(2, n_delays=3, lag=2, expansion="quadratic"),
    "sfa-pca": SFA(2, pca=3, expansion="quadratic"),
    "auto": BioSFA(3, random_state=0),
    "one": BioSFA(1, learning_rate=InverseTime(100.0, 0.1), tau=0.5, random_state=0),
    "large": BioSFA(6, n_delays=3, expansion=QuadraticExpansion(), dtype=np.float32, random_state=0),
    "reversible": BioSFA(2, rule="reversible", learning_rate=Annealed(1e-3, 100.0), dynamics="euler", center=False),
    "interneuron": BioSFA(3, rule="interneuron", random_state=0),
    "nonnegative": BioSFA(2, rule="nonnegative", forget=80, random_state=0),
    "online": OnlineSFA(2, random_state=0),
    "local": LocalSFA(2, random_state=0),
    "online-large": OnlineSFA(4, n_delays=3, expansion="quadratic", whitening_rank=5, forget=80),
    "incremental": IncrementalSFA(2, random_state=0),
    "gev": OnlineGEV(2, random_state=0),
    "trace": FoldiakTrace(2, random_state=0),
}
MONITORS = {
    "monitor": SlowFeatureMonitor(),
    "monitor-delays": SlowFeatureMonitor(n_delays=2, forget=900, persistence=(2, 3)),
    "monitor-quadratic": SlowFeatureMonitor(expansion="quadratic", family=True),
}
LAYERS = [
    Layer((2, 2), stride=(2, 2), n_components=2, n_reduced=2, linear=Learner(BioSFA(learning_rate=1e-3))),
    Layer((2, 2), n_components=2, n_reduced=2),
]
CLAIMS = [
    ("n_features_in",),
    ("state", "n_streams"),
    *(("parameters", name) for name in ("n_components", "pca", "n_delays", "lag", "whitening_rank", "n_whitened")),
]
MOST_COLUMNS = 2000  # of a model that is tried out


def signal(n_samples=300):
    """Samples of five columns."""
    return slow_mixture(n_samples, times=(30.0, 5.0), n_noise=3, seed=1)[1]


def frames():
    """Pictures of 4 × 4 pixels."""
    return np.random.default_rng(0).standard_normal((300, 4, 4)).cumsum(axis=0)


class Models:
    """Model files, whole; made once, which also compiles the kernels."""

    def __init__(self, folder):
        X = signal()
        fitted = {name: clone(estimator).partial_fit(X) for name, estimator in ESTIMATORS.items()}
        fitted["graph"] = GraphSFA(2).fit(X, np.arange(len(X)) // 50)
        rows = signal(2000)
        fitted |= {name: clone(monitor).fit(rows) for name, monitor in MONITORS.items()}
        fitted["monitor-online"] = SlowFeatureMonitor(model=OnlineSFA(3, random_state=0).fit(rows)).fit(rows)
        constant = np.column_stack([rows, np.full(len(rows), 3.7)])
        fitted["monitor-constant"] = SlowFeatureMonitor().fit(constant).accept(constant[:500])
        for solver in ("exact", "online", "random"):
            fitted[f"hierarchy-{solver}"] = HierarchicalSFA(LAYERS, solver=solver).fit(frames())
        self.files = {}
        for name, estimator in fitted.items():
            estimator.save(folder / name)
            use(biosfa.load(folder / name), folder / name)
            self.files[name] = (folder / name).read_bytes()
        self.contents = {name: model_file.read_model(folder / name) for name in fitted}

    def case(self, rng, folder, *, intact=False):
        """One of them with something odd about it, unless it is to be ``intact``."""
        name, path = rng.choice(sorted(self.files)), folder / "model.safetensors"
        forge = rng.choice([None, forged, forged, forged_header])
        if intact:
            path.write_bytes(self.files[name])
        elif forge is None:
            path.write_bytes(damaged(self.files[name], rng))
        else:
            forge(path, self.contents[name], rng)

        def read():
            loaded = biosfa.load(path)
            if intact or forge is None:  # its digest says that it is whole
                check_equal(model_file.read_model(path), self.contents[name])
            use(loaded, path)

        return read


def check_equal(found, wanted):
    """Raise AssertionError unless two contents of model files are the same."""
    assert (found.kind, found.settings) == (wanted.kind, wanted.settings), "another model was read"
    assert set(found.arrays) == set(wanted.arrays), "other arrays were read"
    for name, array in found.arrays.items():
        np.testing.assert_array_equal(array, wanted.arrays[name])


def use(loaded, path):
    """Do with a model what people do."""
    found = inspection.inspect(str(path))
    inspection.as_text(found)
    json.dumps(found)
    if isinstance(loaded, HierarchicalSFA):
        if np.prod(loaded.shape_in_) < MOST_COLUMNS:
            with may_refuse():
                loaded.transform(np.ones((3, *loaded.shape_in_)))
    elif isinstance(loaded, SlowFeatureMonitor):
        use_monitor(loaded)
    elif loaded.n_features_in_ * loaded.n_delays < MOST_COLUMNS:
        X = np.random.default_rng(0).standard_normal((20, loaded.n_features_in_))
        with may_refuse(), np.errstate(all="ignore"):
            loaded.transform(X)
        with may_refuse(), np.errstate(all="ignore"):
            loaded.partial_fit(X) if hasattr(loaded, "partial_fit") else loaded.fit(X, np.arange(len(X)) // 5)
    with may_refuse(), np.errstate(all="ignore"):
        to_onnx(loaded)
    with may_refuse():
        loaded.save(path)
        biosfa.load(path)


def use_monitor(monitor):
    """Watch rows, one by one and many, and let the monitor take them for normal."""
    if monitor.n_features_in_ >= MOST_COLUMNS:
        return
    X = np.random.default_rng(0).standard_normal((200, monitor.n_features_in_))
    for watch in (
        monitor.verdicts,
        monitor.causes,
        lambda rows: [monitor.update(row) for row in rows[:20]],
        monitor.accept,
        monitor.statistics,
    ):
        with may_refuse(), np.errstate(all="ignore"):
            watch(X)


@contextmanager
def may_refuse():
    """Let errors pass that say in one line what is wrong with input or state; a made-up state need not be sensible."""
    try:
        yield
    except (ValueError, ArithmeticError) as error:
        check_one_line(error)


def forged(path, model, rng):
    """A model with a digest that fits, of which a few things are odd."""
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        model = odd(model, rng)
    model_file.write_model(path, model)


def odd(model, rng):
    """A model of which one thing is odd."""
    way = rng.random()
    if way < 0.1:
        return boastful(model, rng)
    if way < 0.5:
        settings = altered(model.settings, rng)
        return model._replace(settings=settings if isinstance(settings, dict) else {})
    if rng.random() < 0.05:
        return model._replace(
            kind=rng.choice(["SFA", "OnlineSFA", "LocalSFA", "HierarchicalSFA", "Checkpoint", "", "two\nlines"])
        )
    arrays = dict(model.arrays)
    names = sorted(arrays)
    if not names:
        return model._replace(arrays={"more": np.zeros(3)})
    name = rng.choice(names)
    arrays[name] = rng.choice([_of_another_shape, _with_an_odd_number, _gone, _of_another_type])(arrays, name, rng)
    return model._replace(arrays={name: array for name, array in arrays.items() if array is not None})


def boastful(model, rng):
    """A model that claims to be large, and has some more numbers to go with it."""
    settings = json.loads(json.dumps(model.settings))
    n = rng.choice([100, 3000, 12_000, 40_000])
    for path in rng.sample(CLAIMS, rng.choice([1, 2])):
        inner = settings
        for key in path[:-1]:
            inner = inner.get(key) if isinstance(inner, dict) else None
        if isinstance(inner, dict) and path[-1] in inner:
            inner[path[-1]] = n
    if rng.random() < 0.3 and "whitening_rank" in settings.get("parameters", {}):
        settings["parameters"]["whitening_rank"] = "full"
    arrays = dict(model.arrays)
    if "history" in arrays:
        arrays["history"] = np.zeros((0, rng.choice([n, arrays["history"].shape[-1]])))
    arrays[rng.choice(["network.more", "state.more", "moments.more"])] = np.zeros(n * rng.choice([0, 1, 8]), np.float32)
    return model._replace(settings=settings, arrays=arrays)


def _of_another_shape(arrays, name, rng):
    shape = list(arrays[name].shape)
    odd_shapes = [(3,), (0, 2), (), (2, 2, 2), (0,), (10**6, 0), (1, 10_000), tuple(shape[::-1]), (*shape, 1)]
    return np.zeros(rng.choice(odd_shapes), arrays[name].dtype)


def _with_an_odd_number(arrays, name, rng):
    array = np.array(arrays[name]).reshape(-1)
    if len(array) and array.dtype.kind == "f":
        array[rng.randrange(len(array))] = rng.choice([np.nan, np.inf, 1e30, 1e300, -1.0, 0.0, 5e-324])
    elif len(array) and array.dtype.kind == "i":
        array[rng.randrange(len(array))] = rng.choice([-1, 10**6, np.iinfo(array.dtype).max])
    return array.reshape(arrays[name].shape)


def _gone(arrays, name, rng):
    if rng.random() < 0.3:
        arrays[rng.choice(["more", "two\nlines", "network.W", "model.more"])] = np.zeros(3)
    return None


def _of_another_type(arrays, name, rng):
    kinds = [np.float32, np.float64, np.int64, np.int32, np.bool_, np.float16, np.uint8]
    with np.errstate(all="ignore"):
        return arrays[name].astype(rng.choice(kinds))


def forged_header(path, model, rng):
    """A file whose header is odd, and fits its digest nevertheless; or whose table of arrays is."""
    header = {"schema": model_file.SCHEMA, "kind": model.kind, "settings": model.settings}
    if rng.random() < 0.5:
        header = altered(header, rng) if rng.random() < 0.7 else rng.choice(ODD)
    arrays = {name: np.asarray(array, order="C") for name, array in model.arrays.items()}
    if isinstance(header, dict):
        header["digest"] = rng.choice([model_file._digest(header, arrays)] * 9 + ODD[:10])
    content = save(arrays, metadata={model_file.KEY: json.dumps(header, sort_keys=True)})
    if rng.random() < 0.5:
        end = 8 + int.from_bytes(content[:8], "little")
        change = rng.choice([altered, _of_a_foreign_type])
        table = json.dumps(change(json.loads(content[8:end]), rng)).encode()
        content = len(table).to_bytes(8, "little") + table + content[end:]
    path.write_bytes(content)


def _of_a_foreign_type(table, rng):
    """The table of the arrays, one of which has a type that models do not have."""
    entry = table[rng.choice(sorted(name for name in table if name != "__metadata__"))]
    kind, size = rng.choice(
        [("BF16", 2), ("F16", 2), ("F8_E4M3", 1), ("F8_E5M2", 1), ("U8", 1), ("BOOL", 1), ("I16", 2)]
    )
    begin, end = entry["data_offsets"]
    entry |= {"dtype": kind, "shape": [(end - begin) // size]}
    return table
