"""Locks on files that the operating system releases when their process ends, however it ends."""

import errno
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from biosfa.exceptions import OutputError

HELD = (errno.EWOULDBLOCK, errno.EAGAIN, errno.EACCES, errno.EDEADLK)  # what says that somebody else has the lock

if sys.platform == "win32":
    import msvcrt

    def _try_to_lock(descriptor: int) -> None:
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)

else:
    import fcntl

    def _try_to_lock(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


@contextmanager
def locked(file: Path, output: Path) -> Iterator[None]:
    """Hold the lock ``file``, which is removed at the end; of a process that was killed it stays, and locks nothing.

    Where the file system has no locks, there is none.

    Parameters
    ----------
    file : Path
        An empty file, made if it is not there.
    output : Path
        What the lock is for, to be named in messages.

    Raises
    ------
    OutputError
        If another process, or another part of this one, has the lock.
    """
    try:
        descriptor = _acquired(file)
    except BlockingIOError:
        raise OutputError(
            f"another run is writing to {output}: wait until it has ended, or choose another place with --out"
        ) from None
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(output)) from None
    try:
        yield
    finally:
        if sys.platform != "win32":  # removed while it is held, so that nobody can lock a file that is about to go
            file.unlink(missing_ok=True)
        os.close(descriptor)
        if sys.platform == "win32":  # only closed files can be removed there, and not if somebody else has them open
            with suppress(OSError):
                file.unlink(missing_ok=True)


def _acquired(file: Path) -> int:
    """A descriptor of the locked file.

    Raises
    ------
    BlockingIOError
        If somebody else has the lock.
    """
    while True:
        # never through a link: whoever may write to this folder could point it anywhere
        descriptor = os.open(file, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o666)
        try:
            _try_to_lock(descriptor)
        except OSError as error:
            if error.errno in HELD:
                os.close(descriptor)
                raise BlockingIOError from None
            return descriptor  # this file system has no locks
        except BaseException:
            os.close(descriptor)
            raise
        if _is_still(file, descriptor):
            return descriptor
        os.close(descriptor)  # its last holder has removed it meanwhile


def _is_still(file: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(file.stat(), os.fstat(descriptor))
    except FileNotFoundError:
        return False
