"""How things are put into words in messages."""

from collections.abc import Iterable

SHOWN = 8
LONGEST = 200  # characters of what others have written, in a message


def listed(names: Iterable[object]) -> str:
    """The first few of some names, and how many more there are."""
    words = [str(name) for name in names]
    return ", ".join(words[:SHOWN]) + (f" and {len(words) - SHOWN} more" if len(words) > SHOWN else "")


def counted(n: int, noun: str) -> str:
    """A number of things, in the plural if there are several."""
    return f"{n:,} {noun}{'' if n == 1 else 's'}"


def duration(seconds: float) -> str:
    """A length of time in one unit that suits it."""
    for unit, size in (("day", 86400.0), ("hour", 3600.0), ("minute", 60.0)):
        if seconds >= 1.5 * size:
            return f"{seconds / size:.3g} {unit}s"
    return f"{seconds:.3g} seconds"


def first_line(error: BaseException) -> str:
    """What an error of another library says, in one line that a terminal can show."""
    words = next((line.strip() for line in str(error).splitlines() if line.strip()), "") or type(error).__name__
    shown = "".join(letter if letter.isprintable() else "?" for letter in words)
    return shortened(shown)


def shortened(words: str) -> str:
    """The beginning of a text that may be long."""
    return words if len(words) <= LONGEST else f"{words[:LONGEST]}…"
