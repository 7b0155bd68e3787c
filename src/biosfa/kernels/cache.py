"""Where compiled functions are kept on disk: compiled once, and never stale.

Numba's own cache of a function depends on the file of that function alone. An edit of a function that it calls in
another file leaves the old machine code in use. Here the name of the folder contains a digest of all kernels, so that
an edit of any of them leads to another folder. Each file also knows the source file of its function, which may be
outside of the kernels.

The folder is in the cache folder of the user, or in ``NUMBA_CACHE_DIR``, because installations are often read-only and
often shared. Importing writes nothing. Where nothing can be written, each process compiles what it needs. The same
holds where another user could write: reading a file of the cache runs the code in it.
"""

import hashlib
import os
import pickle
import re
import shutil
import sys
import uuid
import warnings
from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any

import llvmlite
import numba
import numpy as np
from numba.core.caching import _Cache
from numba.core.compiler import CompileResult
from numba.core.errors import NumbaWarning
from numba.core.serialize import dumps

from biosfa.kernels.private import is_own, why_not_private

COMPILED_BY = (numba.__version__, llvmlite.__version__, np.__version__, sys.implementation.cache_tag)
FOLDER = re.compile("kernels-[0-9a-f]{32}")
FOLDERS_KEPT = 8  # versions, environments and checkouts take turns; a folder with everything has 20 MB


def digest_of(kernels: Path) -> str | None:
    """Return a digest of all kernels and of the versions that compile them, or None where there are no sources."""
    files = sorted(kernels.rglob("*.py"))
    hasher = hashlib.sha256(repr(COMPILED_BY).encode())
    for file in files:
        content = file.read_bytes()
        hasher.update(f"\n{file.relative_to(kernels).as_posix()} {len(content)}\n".encode() + content)
    return hasher.hexdigest()[:32] if files else None


@lru_cache
def checksum_of(file: str) -> bytes | None:
    """Return a checksum of a source file as it is when first asked for, or None where it cannot be read."""
    try:
        return hashlib.sha256(Path(file).read_bytes()).digest()
    except OSError:
        return None


def cache_folder() -> Path | None:
    """Return the folder for the caches of all versions, or None where the user has no home."""
    if numba.config.CACHE_DIR:
        return Path(numba.config.CACHE_DIR) / "biosfa"
    try:
        home = Path.home()
    except RuntimeError:
        return None
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or home / "AppData" / "Local") / "biosfa" / "Cache"
    if sys.platform == "darwin":
        return home / "Library" / "Caches" / "biosfa"
    given = Path(os.environ.get("XDG_CACHE_HOME", ""))
    return (given if given.is_absolute() else home / ".cache") / "biosfa"


class Store:
    """The folder of the present kernels.

    Several processes may use it at the same time: a file is written whole or not at all, and any file may be missing.

    Parameters
    ----------
    parent : Path or None
        The folder for the caches of all versions.
    kernels : Path
        The folder with the sources of all kernels.
    """

    def __init__(self, parent: Path | None, kernels: Path) -> None:
        self._kernels = kernels
        self._digest = digest_of(kernels)
        self._was_used = False
        self._has_warned = False
        self.folder = parent / f"kernels-{self._digest}" if parent and self._digest else None

    def prepare(self) -> bool:
        """Make the folder if need be, remove those that were not used for longest, and say if it can be written to."""
        if self.folder is None or not self._is_private():
            return False
        try:
            if not self.folder.exists():
                for missing in reversed([path for path in self.folder.parents if not path.exists()]):
                    missing.mkdir(mode=0o700, exist_ok=True)
                self.folder.mkdir(mode=0o700, exist_ok=True)
                self._remove_old(self.folder)
        except OSError:
            return False
        return self._is_private() and os.access(self.folder, os.W_OK)

    def _is_private(self) -> bool:
        """Return whether nobody else can write to the folder; say so once if somebody can."""
        assert self.folder is not None
        reason = why_not_private(self.folder)
        if reason is not None and not self._has_warned:
            self._has_warned = True
            warnings.warn(
                f"compiled code is not kept, because others could make you run theirs ({reason}): set "
                "NUMBA_CACHE_DIR to a folder that only you can write to",
                UserWarning,
                stacklevel=2,
            )
        return reason is None

    @staticmethod
    def _remove_old(folder: Path) -> None:
        others = [path for path in folder.parent.iterdir() if FOLDER.fullmatch(path.name) and path != folder]
        for path in sorted(others, key=_last_use)[: -(FOLDERS_KEPT - 1)]:
            shutil.rmtree(path, ignore_errors=True)

    def read(self, name: str) -> bytes | None:
        """Return the content of a file, or None if it is missing, damaged, or not ours alone."""
        if self.folder is None or not self._is_private():
            return None
        try:
            with open(self.folder / name, "rb") as file:
                if not is_own(os.fstat(file.fileno())):
                    return None
                kept = file.read()
        except OSError:
            return None
        if not self._was_used:
            self._was_used = True
            with suppress(OSError):
                os.utime(self.folder)
        checksum, content = kept[:32], kept[32:]
        return content if hashlib.sha256(content).digest() == checksum else None

    def write(self, name: str, content: bytes) -> None:
        """Keep a file if the folder can be written to, and if no kernel was edited since this process began."""
        if self.folder is None or not self.prepare() or digest_of(self._kernels) != self._digest:
            return
        temporary = self.folder / f"{uuid.uuid4().hex}.tmp"
        try:
            with open(temporary, "xb", opener=_for_this_user) as file:
                file.write(hashlib.sha256(content).digest() + content)
            os.replace(temporary, self.folder / name)
        except OSError:  # the disk is full, or another process removed the folder
            with suppress(OSError):
                temporary.unlink()

    def remove(self, pattern: str) -> None:
        """Remove the files with such names."""
        for file in self.folder.glob(pattern) if self.folder else []:
            with suppress(OSError):
                file.unlink()


def _for_this_user(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _last_use(folder: Path) -> float:
    try:
        return folder.stat().st_mtime
    except OSError:  # another process has removed it
        return 0.0


STORE = Store(cache_folder(), Path(__file__).parent)


class KernelCache(_Cache):
    """The cache of one compiled function: what Numba asks before it compiles, and gives the result to.

    There is one file per signature and kind of processor. Its name depends on nothing else, so that new code replaces
    old code. Numba's own index of numbered files is not used, because two processes that add to it at the same time
    can mix up their signatures.

    Parameters
    ----------
    function : callable
        The function in Python.
    store : Store
        Where to keep what it is compiled to.
    """

    def __init__(self, function: Callable[..., object], store: Store) -> None:
        self._store = store
        self._name = f"{function.__module__}.{function.__qualname__}"
        self._source = checksum_of(function.__code__.co_filename)
        # Functions that are made inside of others share a name, and differ in what they hold.
        self._is_kept = self._source is not None and "<locals>" not in self._name

    @property
    def cache_path(self) -> str | None:
        """The folder, for those who ask the compiled function for its statistics."""
        return str(self._store.folder) if self._store.folder else None

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return what was compiled for a signature, or None."""
        if not self._is_kept:
            return None
        target_context.refresh()
        key = self._key(sig, target_context.codegen())
        content = self._store.read(self._file(key))
        if content is None:
            return None
        try:
            found, compiled = pickle.loads(content)
            return CompileResult._rebuild(target_context, *compiled) if found == key else None
        except Exception:  # whatever is wrong with a file of the cache, the function can be compiled again
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep what was compiled for a signature."""
        if not self._is_kept:
            return
        if data.lifted or data.library.has_dynamic_globals:
            message = f"{self._name} is not kept on disk: it refers to an address or to a large array"
            warnings.warn(message, NumbaWarning, stacklevel=2)
            return
        key = self._key(sig, data.codegen)
        self._store.write(self._file(key), dumps((key, data._reduce())))

    def _key(self, signature: Any, codegen: Any) -> tuple[object, ...]:
        return signature, codegen.magic_tuple(), self._source

    def _file(self, key: tuple[object, ...]) -> str:
        return f"{self._name}-{hashlib.sha256(repr(key[:2]).encode()).hexdigest()[:16]}.nbc"

    def flush(self) -> None:
        """Forget what was compiled for any signature."""
        self._store.remove(f"{self._name}-*.nbc")

    def enable(self) -> None:
        """Do nothing: the cache is always on."""

    def disable(self) -> None:
        """Do nothing: the cache is always on."""
