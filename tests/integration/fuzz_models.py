"""Loads mutated model files under a limit of memory; run by ``test_model_files.py`` in a process of its own."""

import json
import random
import resource
import sys
from pathlib import Path

import numpy as np

import biosfa
from biosfa.io import model_file

ODD = [
    None,
    True,
    -1,
    0,
    1,
    2,
    7,
    10**6,
    10**9,
    10**18,
    -(10**9),
    0.5,
    1e308,
    float("nan"),
    "",
    "auto",
    "x",
    [],
    {},
    [3],
]


def places(content, path=()):
    """Where something could be changed in JSON data."""
    yield path
    items = content.items() if isinstance(content, dict) else enumerate(content) if isinstance(content, list) else ()
    for key, value in items:
        yield from places(value, (*path, key))


def changed(content, rng):
    """JSON data with one thing changed, or gone."""
    content = json.loads(json.dumps(content))
    path = rng.choice([path for path in places(content) if path])
    inner = content
    for key in path[:-1]:
        inner = inner[key]
    if isinstance(inner, dict) and rng.random() < 0.2:
        del inner[path[-1]]
    else:
        inner[path[-1]] = rng.choice(ODD)
    return content


def mutated(model, rng):
    """A model with a valid digest of which one thing is odd."""
    arrays = dict(model.arrays)
    name = rng.choice(sorted(arrays))
    kind = rng.randrange(6)
    if kind == 0:
        del arrays[name]
    elif kind == 1:
        arrays[name] = rng.choice([np.zeros(3), np.zeros((0, 2)), np.array(1.0), np.arange(5), np.zeros((2, 2, 2))])
    elif kind == 2 and arrays[name].size:
        odd = np.array(arrays[name], dtype=np.float64).reshape(-1)
        odd[rng.randrange(len(odd))] = rng.choice([np.nan, np.inf, 1e300, -1.0])
        arrays[name] = odd.reshape(arrays[name].shape)
    else:
        return model._replace(settings=changed(model.settings, rng))
    return model._replace(arrays=arrays)


def main(folder, count):
    """Mutate every model in a folder so many times; prints how many were refused and how many still are models."""
    resource.setrlimit(resource.RLIMIT_AS, (4 * 2**30,) * 2)
    rng = random.Random(0)
    refused = loaded = 0
    for path in sorted(Path(folder).glob("*.model")):
        whole, target = path.read_bytes(), path.with_suffix(".mutated")
        for i in range(count):
            if i % 3:
                model_file.write_model(target, mutated(model_file.read_model(path), rng))
            else:
                content = bytearray(whole)
                for _ in range(rng.randrange(1, 4)):
                    content[rng.randrange(len(content))] = rng.randrange(256)
                target.write_bytes(content[: rng.choice([len(content), rng.randrange(len(content))])])
            try:
                biosfa.load(target)
                loaded += 1
            except biosfa.ModelFileError as error:
                assert str(target) in str(error), error  # noqa: PT017 (this is no test)
                refused += 1
    print(refused, loaded)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
