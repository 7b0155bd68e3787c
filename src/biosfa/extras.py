"""Optional libraries: imported where they are needed, with an error that says what to install."""

import re
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
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
        import_module(library)
        found = None if least is None else _version(library)
        if least is not None and found is not None and _numbers(found) < _numbers(least):
            message = f"this needs {library} {least} or later, but {found} is installed: {advice}"
            raise MissingExtraError(message, name=library)
        return import_module(module)  # last, because an old version may not have it
    except ModuleNotFoundError:
        raise MissingExtraError(f"this needs {library}: {advice}", name=library) from None


def _version(library: str) -> str | None:
    """Return the version of a library; None if no distribution has its name."""
    try:
        return version(library)
    except PackageNotFoundError:
        return None


def _numbers(text: str) -> list[int]:
    """Return the first three numbers of a version."""
    return [int(number) for number in re.findall(r"\d+", text)[:3]]
