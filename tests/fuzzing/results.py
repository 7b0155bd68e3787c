"""Results of experiments in their folder: a run that is resumed uses them, makes them again, or says what is wrong."""

import io
import json
import shutil

import numpy as np

from biosfa.experiments import chaotic
from tests.fuzzing.damage import altered, damaged

CONFIG = chaotic.ChaoticConfig(
    preset="small", variant="code", runs=1, seed=1, samples=6000, steps=6000, series=1, offline_steps=20
)


class Quiet(chaotic.Chaotic):
    """The experiment without its figures, which take a second."""

    def draw(self, *arguments):
        pass

    def report(self, *arguments):
        pass


class Results:
    """The folder of a finished experiment."""

    def __init__(self, folder):
        self.folder = folder / "finished"
        Quiet(CONFIG).run(self.folder, jobs=1)
        self.metrics = (self.folder / "metrics.json").read_bytes()
        self.tasks = sorted(path.name for path in (self.folder / "tasks").iterdir())

    def case(self, rng, folder, *, intact=False):
        """The same with something odd about one file, unless it is to be ``intact``."""
        out = folder / "run"
        shutil.copytree(self.folder, out)
        way, name = rng.random(), rng.choice(self.tasks)
        task = out / "tasks" / name
        if intact:
            pass
        elif way < 0.6:
            task.write_bytes(damaged(task.read_bytes(), rng))
        elif way < 0.9:
            task.write_bytes(_forged(task, rng))
        else:
            config = out / "config.json"
            odd = json.dumps(altered(json.loads(config.read_text()), rng)).encode()
            config.write_bytes(rng.choice([odd, damaged(config.read_bytes(), rng)]))

        def read():
            Quiet(CONFIG).run(out, jobs=1, resume=True)
            if way < 0.6 and (out / "metrics.json").read_bytes() != self.metrics:
                raise AssertionError("a damaged result was used")

        return read


def _forged(path, rng):
    """A result whose file is whole, of which one array is odd."""
    with np.load(path) as stored:
        arrays = {name: stored[name] for name in stored.files}
    name = rng.choice(sorted(arrays))
    way = rng.random()
    if way < 0.3:
        del arrays[name]
    elif way < 0.7:
        arrays[name] = rng.choice([np.zeros(0), np.zeros((2, 3)), np.array("x"), np.array(np.nan), np.zeros(10**4)])
    else:
        arrays[name] = arrays[name].astype(rng.choice([np.float32, np.int8, np.complex128, "U8"]))
    content = io.BytesIO()
    rng.choice([np.savez, np.savez_compressed])(content, **arrays)
    return content.getvalue()
