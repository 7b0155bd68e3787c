"""How numbers are written in tables."""

import math
from collections.abc import Sequence
from typing import Any

PLAIN = -300  # the least power of ten without an exponent, where none has one


def number(value: float | None, digits: int = 2, *, least_power: int = -3) -> str:
    """A number with some significant digits: 0.012, 3.1, 42, 3.5e-5; nothing for None.

    It has an exponent if the power of ten is smaller than ``least_power``.
    """
    if value is None:
        return ""
    if value == 0.0 or not math.isfinite(value):
        return f"{value:g}"
    exponent = math.floor(math.log10(abs(float(f"{value:.{digits - 1}e}"))))
    if exponent < least_power:
        mantissa, power = f"{value:.{digits - 1}e}".split("e")
        return f"{mantissa}e{int(power)}"
    return f"{value:,.{max(0, digits - 1 - exponent)}f}"


def spread(found: dict[str, Any], digits: int = 2, *, unit: float = 1.0, least_power: int = -3) -> str:
    """A median with the least and the greatest value, in a unit; None is never reached.

    They have an exponent if the power of ten of the median is smaller than ``least_power``.
    """
    middle = number(found["median"] / unit, digits, least_power=least_power)
    power = least_power if "e" in middle else PLAIN
    least, greatest = (
        "never" if found[name] is None else number(found[name] / unit, digits, least_power=power)
        for name in ("least", "greatest")
    )
    return middle if least == greatest == middle else f"{middle} ({least}–{greatest})"


def between(values: Sequence[float], digits: int = 2) -> str:
    """One number, or the least and the greatest, if they differ in these digits."""
    least, greatest = number(min(values), digits), number(max(values), digits)
    return least if least == greatest else f"{least}–{greatest}"


def percent(share: float, digits: int = 2) -> str:
    """A share as a percentage."""
    return f"{number(100.0 * share, digits)}%"


def microseconds(value: float | None, digits: int = 2) -> str:
    """A time in seconds as a number of µs; nothing for None."""
    return "" if value is None else number(value * 1e6, digits)
