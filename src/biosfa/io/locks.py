"""Locks on files. The operating system releases them when the process ends, even if it is killed."""

import errno
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from biosfa.exceptions import OutputError

HELD = (errno.EWOULDBLOCK, errno.EAGAIN, errno.EACCES, errno.EDEADLK)  # errors if somebody else holds the lock

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
    """Hold a lock on ``file``, and remove the file at the end.

    A killed process leaves the file behind, but no lock. On a file system without locks, nothing is locked.

    Parameters
    ----------
    file : Path
        An empty file, created if it does not exist.
    output : Path
        The output that the lock protects, for messages.

    Raises
    ------
    OutputError
        If another process, or another part of this one, holds the lock.
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
        if sys.platform != "win32":  # removed while it is locked, so that nobody locks a file that is about to vanish
            file.unlink(missing_ok=True)
        os.close(descriptor)
        if sys.platform == "win32":  # there, open files cannot be removed, and somebody else may have opened it
            with suppress(OSError):
                file.unlink(missing_ok=True)


def _acquired(file: Path) -> int:
    """Lock a file and return its descriptor.

    Raises
    ------
    BlockingIOError
        If somebody else holds the lock.
    """
    while True:
        # links are not followed: anybody who may write to this folder could point one anywhere
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
        os.close(descriptor)  # the last holder has removed the file meanwhile


def _is_still(file: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(file.stat(), os.fstat(descriptor))
    except FileNotFoundError:
        return False
