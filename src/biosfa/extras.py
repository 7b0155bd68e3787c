"""Optional libraries: imported where they are needed, with an error that says what to install."""

import re
from importlib import import_module
from importlib.metadata import PackageNotFoundError, requires, version
from typing import Any

from biosfa.exceptions import MissingExtraError


def imported(module: str, extra: str) -> Any:
    """Import a module of an optional library.

    Parameters
    ----------
    module : str
        Name of the module.
    extra : str
        Name of the extra of this package that installs it.

    Returns
    -------
    module

    Raises
    ------
    MissingExtraError
        If it is not installed, or older than the extra asks for.

    Examples
    --------
    >>> from biosfa.extras import imported
    >>> imported("no_such_library", "dask")
    Traceback (most recent call last):
        ...
    biosfa.exceptions.MissingExtraError: this needs no_such_library: pip install "biosfa[dask]"
    """
    library = module.partition(".")[0]
    _check_version(library, extra)
    try:
        return import_module(module)
    except ModuleNotFoundError:
        message = f'this needs {library}: pip install "biosfa[{extra}]"'
        raise MissingExtraError(message, name=library) from None


def _check_version(library: str, extra: str) -> None:
    """Raise MissingExtraError if an installed library is older than the metadata of this package ask for."""
    try:
        found, requirements = version(library), requires("biosfa") or []
    except PackageNotFoundError:  # nothing to compare: the import says what is missing
        return
    for requirement in requirements:
        asked = re.match(rf"{library}>=([\d.]+) *; *extra == .{extra}.$", requirement)
        if asked and _numbers(found) < _numbers(asked[1]):
            raise MissingExtraError(
                f'this needs {library} {asked[1]} or later, but {found} is installed: pip install "biosfa[{extra}]"',
                name=library,
            )


def _numbers(version: str) -> tuple[int, ...]:
    """Return the numbers that a version begins with."""
    return tuple(int(number) for number in re.findall(r"\d+", re.match(r"[\d.]*", version)[0]))  # type: ignore[index]
