"""Heaps in HDF5 files, where words of any length are kept: a damaged one makes the HDF5 library loop for ever."""

import mmap
from pathlib import Path

from biosfa.exceptions import InputError

SIGNATURE = b"GCOL\x01\0\0\0"  # of a heap, with its version
HEAD = 16  # bytes before the content of a heap, and of an object in it; the size stands in the second half


def check_heaps(path: Path, width: int) -> None:
    """Raise InputError if a heap has free space of no size: the library would look for what comes after it for ever.

    Sizes have ``width`` bytes in this file.
    """
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        begin = content.find(SIGNATURE)
        while begin >= 0:
            if _is_stuck(content, begin, width):
                raise InputError(f"{path} is damaged: a heap in it has no end")
            begin = content.find(SIGNATURE, begin + len(SIGNATURE))


def _is_stuck(content: mmap.mmap, begin: int, width: int) -> bool:
    """Whether one cannot get to the end of a heap."""

    def size(place: int) -> int:
        return int.from_bytes(content[place + HEAD // 2 : place + HEAD // 2 + width], "little")

    end = min(len(content), begin + size(begin))
    place = begin + HEAD
    while place + HEAD <= end:
        is_object = content[place : place + 2] != b"\0\0"  # its number; that of free space is 0
        step = HEAD + -(-size(place) // 8) * 8 if is_object else size(place)
        if step == 0:
            return True
        place += step
    return False
