"""Results in folders: a command replaces what it has written to a folder before, and nothing else.

A folder with results has a list of them, the file ``.biosfa.json``. The list has the command that wrote each file, and
the size and the digest of the file. A file is a result as long as it fits its entry. New results are written to a
folder of their own, and are moved to their places when all of them are finished.
"""

import hashlib
import json
import os
import stat
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from biosfa.exceptions import InputError, OutputError
from biosfa.io.atomic import LOCK, litter, remove, replace_file
from biosfa.io.locks import locked
from biosfa.io.targets import refuse_inputs
from biosfa.wording import listed

LIST = ".biosfa.json"
NEW = "results"  # part of the name of a folder with results that are not finished
PARTS = "transform"  # the command whose files are the parts of one table
ADVICE = "move it away, or choose another folder with --out"


class Entry(NamedTuple):
    """What a list says about a file."""

    command: str
    size: int
    sha256: str


# By the path in the folder. A file has several entries while a new result takes the place of an old one.
Entries = Mapping[str, tuple[Entry, ...]]


@contextmanager
def writing_results(
    folder: Path, command: str, names: Iterable[str], read: Iterable[str | os.PathLike[str]]
) -> Iterator[Path]:
    """Give an empty folder for results, which at the end replace the results of an earlier run of the command.

    Parameters
    ----------
    folder : Path
        The folder of the results. It is made if it does not exist. It may have other files.
    command : str
        The command.
    names : iterable of str
        Names of the results.
    read : iterable of paths
        The inputs.

    Raises
    ------
    OutputError
        If a result would replace an input or anything else that the command has not written, or if another run is
        writing to the folder.
    """
    names, read = list(names), list(read)
    for name in names:
        refuse_inputs(folder / name, read)
    with alone_in(folder):
        check_own(folder, command, names)
        with replacing_results(folder, command) as new:
            yield new


@contextmanager
def alone_in(folder: Path) -> Iterator[None]:
    """Make a folder, and lock it. If it is still empty at the end, it is removed again.

    Raises
    ------
    OutputError
        If another run is writing to the folder, or if the path is a file.
    """
    if folder.exists() and not folder.is_dir():
        raise OutputError(f"{folder} is not a folder: choose another name with --out")
    is_new = not folder.exists()
    folder.mkdir(parents=True, exist_ok=True)
    try:
        with locked(folder / LOCK, folder):
            for left_behind in (*litter(folder, of=NEW), *litter(folder, of=LIST)):
                remove(left_behind)
            yield
    finally:
        if is_new:
            with suppress(OSError):  # it has results
                folder.rmdir()


def check_own(folder: Path, command: str, names: Iterable[str] = ()) -> None:
    """Check the places of results: ``names``, and those of earlier results of the command.

    Raises
    ------
    OutputError
        If there is anything at such a place that the command has not written.
    """
    entries = _read_list(folder)
    for name in sorted({*names, *_written_by(command, entries)}):
        file = folder / name
        above = [parent for parent in reversed(file.parents) if folder in parent.parents]
        for path in (*above, file):
            if path.is_symlink():
                raise OutputError(f"{path} is a link, and links in a folder of results are not followed: {ADVICE}")
        known = [entry for entry in entries.get(name, ()) if entry.command == command]
        foreign = [path for path in above if path.exists() and not path.is_dir()]
        if foreign or (not known and file.exists()):
            raise OutputError(f"{[*foreign, file][0]} was not written by this command: {ADVICE}")
        if file.exists() and not (file.is_file() and entry_of(file, command) in known):
            raise OutputError(f"{file} has changed since this command wrote it: {ADVICE}")


@contextmanager
def replacing_results(folder: Path, command: str) -> Iterator[Path]:
    """Give an empty folder for results, which at the end replace the results of an earlier run of the command.

    The caller holds the lock of the folder. Earlier results stay as they are until the new ones are finished. Those
    that have no successor are then removed.
    """
    new = folder / f".{NEW}.{os.getpid()}-{threading.get_ident()}.tmp-biosfa"
    remove(new)  # left by a killed process with the same process id
    new.mkdir()
    try:
        yield new
        files = sorted(file for file in new.rglob("*") if file.is_file())
        found = {file.relative_to(new).as_posix(): (entry_of(file, command),) for file in files}
        check_own(folder, command, found)  # again, because the run may have taken long
        before = _read_list(folder)
        old = _written_by(command, before)
        # if the process is killed meanwhile, the next run may replace old and new results
        write_list(folder, {**before, **{name: (*before.get(name, ()), *found[name]) for name in found}})
        for name in found:
            target = folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            if target.exists():
                (new / name).chmod(stat.S_IMODE(target.stat().st_mode))
            os.replace(new / name, target)
        for name in old - found.keys():
            (folder / name).unlink(missing_ok=True)
        write_list(folder, {**{name: before[name] for name in before.keys() - old}, **found})
    finally:
        remove(new)


def check_replaceable(folder: Path, command: str) -> None:
    """Raise OutputError if a folder has anything that the command has not written, so that it cannot be replaced."""
    if not folder.exists():
        return
    if not folder.is_dir():
        raise OutputError(f"{folder} is a file, and the results are a folder: choose another name with --out")
    own = {*_written_by(command, _read_list(folder)), LIST, *(file.name for file in litter(folder))}
    others = sorted(file.name for file in folder.iterdir() if file.name not in own)
    if others:
        raise OutputError(
            f"{folder} holds {listed(others)}, which this command has not written: choose another name with --out"
        )
    check_own(folder, command)


def check_complete(folder: Path) -> None:
    """Raise InputError if parts are missing of a table that was written to a folder."""
    try:
        entries = _read_list(folder)
    except OutputError as error:
        raise InputError(str(error)) from None
    parts = sorted(_written_by(PARTS, entries))
    missing = [name for name in parts if not _has_size(folder / name, entries[name])]
    if missing:
        raise InputError(
            f"{folder} is incomplete: of its {len(parts)} parts, {listed(missing)} are missing or not whole. Write the "
            f"folder again, or remove {folder / LIST} to read the files that are there"
        )


def entry_of(file: Path, command: str) -> Entry:
    """Return the entry of a file that a command has written."""
    with open(file, "rb") as content:
        return Entry(command, file.stat().st_size, hashlib.file_digest(content, "sha256").hexdigest())


def write_list(folder: Path, entries: Entries) -> None:
    """Write the list of the results in a folder."""
    content = {name: [entry._asdict() for entry in known] for name, known in sorted(entries.items())}
    replace_file(folder / LIST, lambda file: file.write((json.dumps(content, indent=1) + "\n").encode()))


def _read_list(folder: Path) -> Entries:
    """Return the list of the results in a folder; an empty one if there is no list.

    Raises
    ------
    OutputError
        If the list is damaged.
    """
    file = folder / LIST
    if not os.path.lexists(file):
        return {}
    try:
        if file.is_symlink():
            raise ValueError("it is a link")
        content: dict[str, list[dict[str, Any]]] = json.loads(file.read_bytes())
        found = {name: tuple(Entry(**entry) for entry in known) for name, known in content.items()}
        if not all(_is_inside(name) for name in found):
            raise ValueError("it names files elsewhere")
        if not all(
            isinstance(each.size, int) and isinstance(each.sha256, str) for known in found.values() for each in known
        ):
            raise ValueError("its entries are not sizes and digests")
    except (ValueError, TypeError, AttributeError, RecursionError):
        raise OutputError(f"{file} is not a list of results, or is damaged: remove it") from None
    return found


def _is_inside(name: str) -> bool:
    """Return whether a name is that of a file in the folder, or in a folder in it."""
    path = PurePosixPath(name)
    return bool(path.parts) and not path.is_absolute() and ".." not in path.parts and "\\" not in name


def _written_by(command: str, entries: Entries) -> set[str]:
    return {name for name, known in entries.items() if any(entry.command == command for entry in known)}


def _has_size(file: Path, known: Iterable[Entry]) -> bool:
    return file.is_file() and file.stat().st_size in {entry.size for entry in known}
