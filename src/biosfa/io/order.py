"""The order of files: that of their paths, part by part, with numbers in them compared as numbers."""

import re
from collections.abc import Iterable
from pathlib import Path


def in_order(files: Iterable[Path]) -> list[Path]:
    """Return files in order: ``run2/x.npy`` comes before ``run10/x.npy``."""
    return sorted(files, key=lambda file: [_words(part) for part in file.parts])


def _words(part: str) -> list[tuple[int, str] | str]:
    """Return the sort key of one part of a path."""
    words = re.split(r"(\d+)", part)  # every second one is a number
    return [(int(word), word) if i % 2 else word for i, word in enumerate(words)]
