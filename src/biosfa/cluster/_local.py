"""Workers on this machine, which nobody else can reach."""

import logging
import signal
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import joblib

from biosfa.extras import imported

# Dask lets workers return memory to the system at once. With it, work on large arrays takes up to twice as long. The
# pages that schedulers and workers show to browsers ask nobody for a password.
SETTINGS: dict[str, Any] = {
    "distributed.nanny.pre-spawn-environ.MALLOC_TRIM_THRESHOLD_": None,
    "distributed.scheduler.http.routes": [],
    "distributed.worker.http.routes": [],
}
LOOPBACK = "127.0.0.1"  # what listens there can be reached from this machine only


@contextmanager
def local_client(n_workers: int | None) -> Iterator[Any]:
    """Start workers, one per core by default, and connect to them.

    Client, scheduler and workers prove to each other that they belong together, by a key that only they have. So other
    users of this machine cannot connect to them, and run code as this user.
    """
    distributed = imported("distributed", "dask")
    imported("cryptography", "dask")  # which makes the key
    security = distributed.Security.temporary()
    with ExitStack() as stack:
        stack.enter_context(imported("dask.config", "dask").set(SETTINGS))
        with _ctrl_c_later():
            workers = stack.enter_context(
                distributed.LocalCluster(
                    n_workers=n_workers or joblib.cpu_count(),
                    threads_per_worker=1,
                    host=LOOPBACK,
                    security=security,
                    dashboard_address=f"{LOOPBACK}:0",
                    scheduler_kwargs={"dashboard": False},
                    silence_logs=logging.CRITICAL,
                    preload="biosfa.cluster._local_worker",
                )
            )
        yield stack.enter_context(distributed.Client(workers, security=security, set_as_default=False))


@contextmanager
def _ctrl_c_later() -> Iterator[None]:
    """Hold back Ctrl-C while workers start, also from the threads and processes that start meanwhile.

    A terminal sends it to all processes. Workers would print a traceback, and the client would leave them half started.
    """
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    from multiprocessing import resource_tracker

    resource_tracker.ensure_running()  # it lets the signal through where it starts
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
