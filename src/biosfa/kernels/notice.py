"""A line on the terminal when compiling makes somebody wait."""

import sys
import threading
import time

from numba.core.event import Event, Listener

from biosfa.kernels.cache import KernelCache, Store

PATIENCE = 2.0  # seconds of compiling in a process before it says so


class Notice(Listener):
    """Says once per process that kernels are being compiled, if that takes long.

    It speaks on terminals only: notebooks, logs and programs that read standard error have no use for it. Numba
    compiles one function at a time, within which it may compile those that it calls.

    Parameters
    ----------
    store : Store
        Where the result is kept.
    patience : float
        Seconds of compiling before it speaks.
    """

    def __init__(self, store: Store, patience: float = PATIENCE) -> None:
        self._store = store
        self._left = patience
        self._depth = 0
        self._began = 0.0
        self._timer: threading.Timer | None = None
        self._has_spoken = False

    def on_start(self, event: Event) -> None:
        """Begin to wait, unless this is part of a longer compilation."""
        if not _is_ours(event):
            return
        self._depth += 1
        if self._depth == 1 and not self._has_spoken and sys.stderr is not None and sys.stderr.isatty():
            self._began = time.monotonic()
            self._timer = threading.Timer(self._left, self._speak)
            self._timer.daemon = True
            self._timer.start()

    def on_end(self, event: Event) -> None:
        """Stop to wait."""
        if not _is_ours(event):
            return
        self._depth -= 1
        if self._depth == 0 and self._timer is not None:
            self._timer.cancel()
            self._timer = None
            self._left = max(0.0, self._left - (time.monotonic() - self._began))

    def _speak(self) -> None:
        self._has_spoken = True
        if self._store.prepare():
            words = "compiling for the first use, which can take a minute; the result is kept on disk"
        else:
            words = "compiling, which can take a minute each time: set NUMBA_CACHE_DIR to keep the result in a folder"
        print(f"biosfa: {words}", file=sys.stderr, flush=True)


def _is_ours(event: Event) -> bool:
    return isinstance(getattr(event.data["dispatcher"], "_cache", None), KernelCache)
