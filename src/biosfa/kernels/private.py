"""Whether only this user can change a folder or a file. Compiled code is unpickled, which runs whatever it holds."""

import errno
import os
import stat
import sys
from collections import deque
from collections.abc import Iterator
from pathlib import Path

MOST_LINKS = 40  # on the way to a folder, as in Linux


def why_not_private(folder: Path) -> str | None:
    """Return why somebody else could change a folder, or put another one in its place; None if nobody else can.

    The folder must belong to this user, and nobody else may write in it. Every folder and link on the way to it must
    belong to this user or to root. Others may write in such a folder only if it is sticky, as ``/tmp`` is: they can
    remove only their own files from it. What does not exist, or cannot be reached, is not looked at. On Windows the
    folder of the user is private, and there are no numbers of users to compare.
    """
    if sys.platform == "win32":
        return None
    try:
        for place, found in _way_to(folder):
            if found.st_uid not in (os.geteuid(), 0):
                return f"{place} belongs to another user"
            sticky = bool(found.st_mode & stat.S_ISVTX)
            if stat.S_ISDIR(found.st_mode) and _others_may_write(found) and not sticky:
                return f"other users may write to {place}"
        found = folder.stat()
    except OSError:  # only this user and root can change the places up to here, and nothing can be read behind them
        return None
    return None if is_own(found) else f"{folder} does not belong to you alone"


def is_own(found: os.stat_result) -> bool:
    """Return whether a file or a folder belongs to this user, and nobody else may write to it."""
    return sys.platform == "win32" or (found.st_uid == os.geteuid() and not _others_may_write(found))


def _others_may_write(found: os.stat_result) -> bool:
    others, group = found.st_mode & stat.S_IWOTH, found.st_mode & stat.S_IWGRP
    return bool(others) or (bool(group) and not _is_group_of_one(found.st_gid))


def _is_group_of_one(group: int) -> bool:
    """Return whether a group is the one that many systems make for each user. New files may be open to that group."""
    import grp
    import pwd

    if os.geteuid() == 0:
        return False
    try:
        name, found = pwd.getpwuid(os.geteuid()).pw_name, grp.getgrgid(group)
    except KeyError:  # a user or a group without a name, as in some containers
        return False
    return found.gr_name == name and set(found.gr_mem) <= {name}


def _way_to(folder: Path) -> Iterator[tuple[Path, os.stat_result]]:
    """Yield the folders and links that lead to a folder, from the root on, and the folder itself."""
    parts, place, n_links = deque(folder.absolute().parts), Path(), 0
    while parts:
        part = parts.popleft()
        place = place.parent if part == ".." else place / part  # ``place`` goes through no link
        found = place.lstat()
        yield place, found
        if stat.S_ISLNK(found.st_mode):
            n_links += 1
            if n_links > MOST_LINKS:
                raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(folder))
            parts.extendleft(reversed(place.readlink().parts))
            place = place.parent
