"""Optional libraries: imported where they are needed, with an error that says what to install."""

from importlib import import_module
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
        If it is not installed.

    Examples
    --------
    >>> from biosfa.extras import imported
    >>> imported("no_such_library", "dask")
    Traceback (most recent call last):
        ...
    biosfa.exceptions.MissingExtraError: this needs no_such_library: pip install "biosfa[dask]"
    """
    try:
        return import_module(module)
    except ModuleNotFoundError:
        raise MissingExtraError(f'this needs {module.partition(".")[0]}: pip install "biosfa[{extra}]"') from None
