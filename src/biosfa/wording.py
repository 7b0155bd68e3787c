"""Functions that format names, numbers and texts for messages and results.

Every text that leaves the program goes through :func:`printable`, :func:`as_json` or :func:`as_cell`, because the names
in it come from files that others have written.
"""

import json
import re
from collections.abc import Iterable
from typing import Any

import numpy as np

SHOWN = 8  # largest number of names in a list
LETTERS = 200  # of what others have written, in a message
NAME_LETTERS = 60  # of a name among several
FORMULA = ("=", "+", "-", "@")  # how formulas begin in spreadsheets
# Characters that do something to a terminal or to the text around them: controls, halves of characters, other ends of
# lines, and marks that turn the direction of writing.
ACTING = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff\u2028\u2029\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def printable(text: object) -> str:
    """Return a text as one line that is safe for any terminal: control characters become escapes, as in Python."""
    return ACTING.sub(lambda found: found[0].encode("unicode_escape").decode(), str(text))


def as_json(content: Any, **options: Any) -> str:
    """Return JSON that is safe for any terminal, in any encoding; ``options`` are those of ``json.dumps``."""
    return json.dumps(content, **options).replace("\x7f", "\\u007f")  # the only control character that JSON keeps


def as_cell(text: str) -> str:
    """Return a text as the cell of a table in CSV: safe for any terminal, and never a formula.

    A spreadsheet would compute a cell that begins like a formula, so such a text gets an apostrophe. Numbers stay.
    """
    line = printable(text)
    return f"'{line}" if line.startswith(FORMULA) and not _is_number(line) else line


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def listed(names: Iterable[object]) -> str:
    """The first few of some names, and how many more there are."""
    words = list(names)
    shown = ", ".join(shortened(printable(word), NAME_LETTERS) for word in words[:SHOWN])
    return shown + (f" and {len(words) - SHOWN} more" if len(words) > SHOWN else "")


def counted(n: int, noun: str) -> str:
    """Return a number and a noun, in the plural if the number is not 1."""
    return f"{n:,} {noun}{'' if n == 1 else 's'}"


def duration(seconds: float) -> str:
    """Return a duration in days, hours, minutes or seconds, whichever is suitable."""
    for unit, size in (("day", 86400.0), ("hour", 3600.0), ("minute", 60.0)):
        if seconds >= 1.5 * size:
            return f"{seconds / size:.3g} {unit}s"
    return f"{seconds:.3g} seconds"


def first_line(error: BaseException) -> str:
    """Return the first line of the message of an error, shortened, and safe for a terminal."""
    words = next((line.strip() for line in str(error).splitlines() if line.strip()), "") or type(error).__name__
    return shortened(printable(words))


def quoted(word: str) -> str:
    """A name or a cell as it is shown in a message."""
    return shortened(repr(word))


def shortened(words: str, letters: int = LETTERS) -> str:
    """The beginning of a text that may be long."""
    return words if len(words) <= letters else f"{words[:letters]}…"


def time_text(time: Any) -> str:
    """Return a time as text: dates without fractions of seconds that are zero, numbers with all digits."""
    if time != time:  # missing
        return ""
    if isinstance(time, np.datetime64):
        return str(time).rstrip("0").removesuffix(".").replace("T", " ")
    return np.format_float_positional(time, trim="-")
