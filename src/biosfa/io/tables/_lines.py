"""Lines of text in blocks. Lines end with LF, CR LF or CR."""

from collections.abc import Callable, Iterator
from typing import IO

from biosfa.exceptions import InputError

BLOCK_BYTES = 2**22  # of a block, at least
BLOCK_LINES = 64  # in it, unless they are very long
LONGEST_LINE = 2**26  # bytes
NEAR_END = 2**16  # bytes at the end of a block that tell whether it ends with a line that is not blank
BLANK = b" \r\n"  # what blank lines are made of; tabs are cells without a value


def count_lines(text: bytes) -> int:
    """How many lines end in a text."""
    return text.count(b"\n") + (text.count(b"\r") - text.count(b"\r\n") if b"\r" in text else 0)


def blank_lines(text: bytes) -> bytes:
    """The blank lines at the beginning of a text."""
    blank = text[: len(text) - len(text.lstrip(BLANK))]
    return blank[: max(blank.rfind(b"\n"), blank.rfind(b"\r")) + 1]


def whole_lines(file: IO[bytes], name: str, line_bytes: int = 0) -> bytes:
    """Return the next block of a file, which ends with a line that is not blank; empty at the end of the file.

    So blank lines are in the same block as the line after them, and blank lines at the end of the file are in the last
    block. The end of a block depends only on its beginning and on ``line_bytes``, the approximate length of a line:
    blocks of long lines are larger, because few large blocks are read faster than many small ones.
    """
    size = _block_bytes(line_bytes)
    block = file.read(size)
    if len(block) < size or _ends_filled(block):
        return block
    return block + _filled_line(file, name)


def ends_of_blocks(file: IO[bytes], file_bytes: int, name: str, begin: int, line_bytes: int) -> Iterator[int]:
    """Yield where the blocks of :func:`whole_lines` end, except for the last; only what is near the ends is read."""
    size = _block_bytes(line_bytes)
    while begin + size < file_bytes:
        begin += size
        near = min(NEAR_END, size)
        file.seek(begin - near)
        if not _ends_filled(file.read(near)):
            begin += len(_filled_line(file, name))
        if begin < file_bytes:
            yield begin


def _block_bytes(line_bytes: int) -> int:
    """Return how many bytes a block has, up to the end of its last line."""
    return min(max(BLOCK_BYTES, BLOCK_LINES * line_bytes), LONGEST_LINE)


def _filled_line(file: IO[bytes], name: str) -> bytes:
    """Return the rest of a file up to the end of a line that is not blank."""
    rest = bytearray()
    while line := file.readline(LONGEST_LINE):
        rest += line
        if len(rest) > LONGEST_LINE:
            raise _too_long(name)
        if line.endswith(b"\n") and line.strip(BLANK):
            break
    return bytes(rest)


def live_lines(read: Callable[[], bytes], name: str) -> Callable[[], bytes]:
    """What gives lines as soon as they are whole, where ``read`` gives what has come, and nothing at the end.

    They end where a line does that is not blank, as above. Every byte is copied a few times, however many readings a
    line takes.
    """
    pieces: list[bytes] = []  # what has come of an unfinished line, and blank lines before it
    filled = False  # whether there is more than blanks in them

    def lines() -> bytes:
        nonlocal filled
        n_bytes = sum(map(len, pieces))
        while data := read():
            pieces.append(data)
            n_bytes += len(data)
            end = data.rfind(b"\n") + 1
            if end and (filled or data[:end].strip(BLANK)):
                text = b"".join(pieces)
                whole = text[: len(text) - len(data) + end]
                end = whole.index(b"\n", len(whole.rstrip(BLANK))) + 1
                pieces[:] = [text[end:]]
                filled = bool(pieces[0].strip(BLANK))
                return text[:end]
            filled = filled or bool(data.strip(BLANK))
            if n_bytes > LONGEST_LINE:
                raise _too_long(name)
        last = b"".join(pieces)
        pieces.clear()
        return last + b"\n" if last.strip(BLANK) else b""

    return lines


def _ends_filled(block: bytes) -> bool:
    """Return whether a block ends with a line that is not blank."""
    return block.endswith(b"\n") and block[len(block.rstrip(BLANK)) :].count(b"\n") == 1


def _too_long(name: str) -> InputError:
    return InputError(f"{name} has a line of more than {LONGEST_LINE:,} bytes; lines should end with a line feed (LF)")
