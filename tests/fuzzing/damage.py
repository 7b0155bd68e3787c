"""Ways to damage bytes and JSON."""

import json

ODD = [
    None,
    True,
    False,
    -1,
    0,
    1,
    2,
    7,
    255,
    10**4,
    10**6,
    10**9,
    2**31,
    2**63,
    10**18,
    10**40,
    -(10**9),
    0.5,
    -0.0,
    1e-320,
    1e160,
    1e308,
    float("nan"),
    float("inf"),
    "",
    "auto",
    "x",
    "two\nlines",
    "\x1b[31m",
    "\ud800",
    "x" * 10_000,
    [],
    {},
    [3],
    [[]],
    {"x": 1},
]


def places(content, path=()):
    """Where something could be changed in JSON data."""
    yield path
    items = content.items() if isinstance(content, dict) else enumerate(content) if isinstance(content, list) else ()
    for key, value in items:
        yield from places(value, (*path, key))


def altered(content, rng):
    """JSON data with one thing replaced, removed, doubled, or exchanged with another."""
    content = json.loads(json.dumps(content))
    paths = [path for path in places(content) if path]
    if not paths:
        return rng.choice(ODD)
    inner, key = _inside(content, rng.choice(paths))
    way = rng.random()
    if way < 0.15:
        del inner[key]
    elif way < 0.25:
        other, other_key = _inside(content, rng.choice(paths))
        inner[key] = json.loads(json.dumps(other[other_key]))
    elif way < 0.35 and isinstance(inner[key], int | float):
        inner[key] = rng.choice([inner[key] + 1, inner[key] - 1, -inner[key], inner[key] * 10**6])
    elif way < 0.4 and isinstance(inner, list):
        inner.extend(inner)
    else:
        inner[key] = rng.choice(ODD)
    return content


def _inside(content, path):
    for key in path[:-1]:
        content = content[key]
    return content, path[-1]


def damaged(content, rng):
    """Bytes with one or a few things wrong."""
    for _ in range(rng.choice([1, 1, 1, 2, 4])):
        content = rng.choice(WAYS)(bytearray(content), rng)
    return bytes(content)


def _somewhere(content, rng):
    """A place; often near the beginning or the end, where headers are."""
    size = len(content)
    if size == 0:
        return 0
    near = min(size, 300)
    return rng.choice([rng.randrange(size), rng.randrange(near), size - 1 - rng.randrange(near)])


def _flip(content, rng):
    if content:
        content[_somewhere(content, rng)] ^= 1 << rng.randrange(8)
    return content


def _set(content, rng):
    if content:
        content[_somewhere(content, rng)] = rng.choice([0, 1, 0x20, 0x7F, 0x80, 0xFF, rng.randrange(256)])
    return content


def _set_number(content, rng):
    """Write a large or a negative number of 2, 4 or 8 bytes."""
    size = rng.choice([2, 4, 8])
    place = _somewhere(content, rng)
    value = rng.choice([0, 1, 2 ** (8 * size - 1) - 1, 2 ** (8 * size - 1), 2 ** (8 * size) - 1, 10**4, 65535])
    content[place : place + size] = (value % 2 ** (8 * size)).to_bytes(size, "little")
    return content


def _set_digits(content, rng):
    """Replace a number that is written in digits."""
    digits = [i for i, byte in enumerate(content) if chr(byte).isdigit()]
    if not digits:
        return content
    begin = end = rng.choice(digits)
    while end < len(content) and chr(content[end]).isdigit():
        end += 1
    content[begin:end] = rng.choice([b"0", b"-1", b"9" * 18, b"1e999", b"65536", b"", b"2147483648", b"x"])
    return content


def _cut(content, rng):
    return content[: _somewhere(content, rng)]


def _remove(content, rng):
    begin = _somewhere(content, rng)
    del content[begin : begin + rng.choice([1, 2, 8, 100])]
    return content


def _insert(content, rng):
    place = _somewhere(content, rng)
    content[place:place] = rng.choice([b"\0", b"\n", b"\r", b'"', b",", b"\xff\xfe", b"\0" * 64, rng.randbytes(20)])
    return content


def _repeat(content, rng):
    begin = _somewhere(content, rng)
    content[begin:begin] = content[begin : begin + rng.choice([1, 8, 200])]
    return content


def _blank(content, rng):
    begin, size = _somewhere(content, rng), rng.choice([4, 16, 512])
    content[begin : begin + size] = rng.choice([b"\0", b"\xff", b" "]) * size
    return content


WAYS = [_flip, _flip, _flip, _set, _set_number, _set_digits, _cut, _remove, _insert, _repeat, _blank]
