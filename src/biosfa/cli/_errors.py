"""Reports errors of a command as one line."""

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def one_line_errors() -> Iterator[None]:
    """Turn errors in files, models or settings into a UserError, which is printed as one line."""
    from biosfa.exceptions import ClusterError, DivergenceError, MissingExtraError, UserError

    try:
        yield
    except (ValueError, ClusterError, DivergenceError, MemoryError, MissingExtraError) as error:
        raise UserError(str(error)) from error
