"""Checkpoints of fits, of hierarchies and of networks in experiments: inspected, and resumed."""

import json
import warnings
from contextlib import nullcontext

import numpy as np

from biosfa.estimators import OnlineSFA
from biosfa.experiments.engine import NetworkCheckpoint
from biosfa.hierarchy import HierarchicalSFA
from biosfa.io import StreamOptions, model_file
from biosfa.recordings import inspection, run
from tests.fuzzing.damage import altered, damaged
from tests.fuzzing.models import LAYERS, check_equal, forged, forged_header, frames, may_refuse, odd, signal

FITS = {
    "exact-pca": {"solver": "exact", "pca": 3, "expand": "quadratic"},
    "online": {"solver": "online", "epochs": 2, "delays": 2},
    "bio": {"solver": "bio", "pca": 3},
}
INPUTS = 3  # files, each a chunk


class FitCheckpoints:
    """Fits that were stopped after some chunks."""

    def __init__(self, folder):
        self.inputs = [str(folder / f"{i}.csv") for i in range(INPUTS)]
        for name, rows in zip(self.inputs, np.array_split(signal(), INPUTS), strict=True):
            np.savetxt(name, rows, delimiter=",")
        self.files, self.contents, self.models = {}, {}, {}
        for name, settings in FITS.items():
            options = run.FitOptions(self.inputs, 2, stream=StreamOptions(header=False), **settings)
            begun = run.Run.begin(options, folder / name)
            path = run.checkpoint_of(folder / name)
            for done, _ in enumerate(begun.steps(0.0)):
                begun.keep()
                if done < (INPUTS if options.pca else 1):
                    continue
                key = f"{name}-{done}"
                self.files[key], self.contents[key] = path.read_bytes(), model_file.read_model(path)
            begun.finish()
            self.models[name] = (folder / name).read_bytes()
            path.unlink(missing_ok=True)

    def case(self, rng, folder, *, intact=False):
        """One of them with something odd about it, unless it is to be ``intact``."""
        name, out = rng.choice(sorted(self.files)), folder / "model"
        path = run.checkpoint_of(out)
        whole = rng.random() < 0.3 or intact
        if whole:
            path.write_bytes(self.files[name] if intact else damaged(self.files[name], rng))
        else:
            rng.choice([forged, forged, forged_header, _forged_settings])(path, self.contents[name], rng)

        def read():
            if rng.random() < 0.5:
                found = inspection.inspect(str(path))
                inspection.as_text(found)
                json.dumps(found)
            if whole:
                check_equal(model_file.read_model(path), self.contents[name])
            resumed = run.resume(out)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                with nullcontext() if whole else may_refuse():
                    run.work(resumed, 0.0)
            if whole:
                assert out.read_bytes() == self.models[name.rpartition("-")[0]], "other bits than of a whole run"

        return read


def _forged_settings(path, model, rng):
    """One thing in the settings is odd, and not in the options, whose oddities are those of a user."""
    settings = dict(model.settings)
    key = rng.choice(["state", "model"])
    settings[key] = altered(settings[key], rng)
    model_file.write_model(path, model._replace(settings=settings))


class OtherCheckpoints:
    """Hierarchies after some layers, and networks of experiments."""

    def __init__(self, folder):
        self.frames = frames()[:60]
        self.whole = HierarchicalSFA(LAYERS, solver="exact").fit(self.frames, checkpoint=folder / "hierarchy")
        self.hierarchy = model_file.read_model(folder / "hierarchy")
        self.net = OnlineSFA(2, random_state=0)
        NetworkCheckpoint(folder / "network", "fuzzed").save(
            OnlineSFA(2, random_state=0).partial_fit(signal()), lambda: {"samples": np.arange(3)}, now=True
        )
        self.network = model_file.read_model(folder / "network")

    def case(self, rng, folder, *, intact=False):
        """One of them with something odd about it, unless it is to be ``intact``."""
        kind = rng.choice(["hierarchy", "network"])
        path, model = folder / kind, getattr(self, kind)
        if intact:
            model_file.write_model(path, model)
        elif rng.random() < 0.3:
            model_file.write_model(path, model)
            path.write_bytes(damaged(path.read_bytes(), rng))
        else:
            for _ in range(rng.choice([1, 2])):
                model = odd(model, rng)
            model_file.write_model(path, model)

        def read():
            if kind == "hierarchy":
                HierarchicalSFA(LAYERS, solver="exact").fit(self.frames, checkpoint=path).transform(self.frames)
            else:
                NetworkCheckpoint(path, "fuzzed").load(self.net, lambda net, arrays: arrays["samples"].sum())

        return read
