"""How numbers are written in tables."""

import math
from collections.abc import Sequence
from typing import Any


def number(value: float | None, digits: int = 2) -> str:
    """A number with some significant digits: 0.012, 3.1, 42, 3.5e-5; nothing for None."""
    if value is None:
        return ""
    if value == 0.0 or not math.isfinite(value):
        return f"{value:g}"
    exponent = math.floor(math.log10(abs(float(f"{value:.{digits - 1}e}"))))
    if exponent < -3:
        mantissa, power = f"{value:.{digits - 1}e}".split("e")
        return f"{mantissa}e{int(power)}"
    return f"{value:,.{max(0, digits - 1 - exponent)}f}"


def spread(found: dict[str, Any], digits: int = 2) -> str:
    """A median with the least and the greatest value."""
    least, greatest = (number(found[name], digits) for name in ("least", "greatest"))
    middle = number(found["median"], digits)
    return middle if least == greatest == middle else f"{middle} ({least}–{greatest})"


def between(values: Sequence[float], digits: int = 2) -> str:
    """One number, or the least and the greatest, if they differ in these digits."""
    least, greatest = number(min(values), digits), number(max(values), digits)
    return least if least == greatest else f"{least}–{greatest}"


def percent(share: float, digits: int = 2) -> str:
    """A share as a percentage."""
    return f"{number(100.0 * share, digits)}%"


def seconds(value: float | None) -> str:
    """A time in the unit that fits it."""
    if value is None:
        return ""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if value >= size:
            return f"{number(value / size)} {unit}"
    return f"{number(value / 1e-9)} ns"
