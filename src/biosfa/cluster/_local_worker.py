"""Loaded by the workers that ``--scheduler local`` starts."""

import signal
from typing import Any


def dask_setup(worker: Any) -> None:
    """Ignore Ctrl-C, which a terminal sends to the workers too. The client stops them."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
