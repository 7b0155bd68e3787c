"""Optional libraries: imported where they are needed, with an error that says what to install."""

import re
from importlib import import_module
from importlib.metadata import version
from typing import Any

from biosfa.exceptions import MissingExtraError


def imported(module: str, extra: str, *, least: str | None = None) -> Any:
    """Import a module of an optional library.

    Parameters
    ----------
    module : str
        Name of the module.
    extra : str
        Name of the extra of this package that installs it.
    least : str, optional
        The oldest version that will do, if the library is named as its distribution is.

    Returns
    -------
    module

    Raises
    ------
    MissingExtraError
        If it is not installed, or too old.

    Examples
    --------
    >>> from biosfa.extras import imported
    >>> imported("no_such_library", "dask")
    Traceback (most recent call last):
        ...
    biosfa.exceptions.MissingExtraError: this needs no_such_library: pip install "biosfa[dask]"
    """
    library = module.partition(".")[0]
    advice = f'pip install "biosfa[{extra}]"'
    try:
        found = import_module(module)
    except ModuleNotFoundError:
        raise MissingExtraError(f"this needs {library}: {advice}") from None
    if least is not None and _numbers(version(library)) < _numbers(least):
        raise MissingExtraError(f"this needs {library} {least} or later, but {version(library)} is installed: {advice}")
    return found


def _numbers(text: str) -> list[int]:
    """Return the first two numbers of a version."""
    return [int(number) for number in re.findall(r"\d+", text)[:2]]
