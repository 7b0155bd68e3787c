"""A connection to a Dask cluster: what the commands with ``--scheduler`` compute on."""

import logging
import re
import time
import warnings
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager, suppress
from queue import Empty, Queue
from typing import Any
from uuid import uuid4

from biosfa import __version__
from biosfa.cluster._errors import LOST, plain_errors
from biosfa.cluster._local import local_client
from biosfa.exceptions import ClusterError
from biosfa.extras import imported
from biosfa.wording import listed

CONNECT_SECONDS = 15  # to find a scheduler, and to find it again if the connection is lost
WORKER_SECONDS = 30  # until the first worker of a scheduler is there
AHEAD = 2  # calls per thread of the cluster that wait for a free thread
STUCK_SECONDS, STUCK_CHECKS = 45.0, 3  # how long to wait for workers that cannot work, and how often to look
VERSION = "__import__('biosfa').__version__"  # evaluated by workers, which may not have biosfa


class Waiting(Exception):  # noqa: N818 (it is no error)
    """There is no result yet."""


class Cluster:
    """The workers of a scheduler; :func:`connected` returns it."""

    def __init__(self, client: Any) -> None:
        self._client = client

    @property
    def n_threads(self) -> int:
        """Number of calls that the workers can run at the same time. Workers may come and go."""
        try:
            if self._client.status == "running":  # otherwise this would wait for a scheduler that is gone
                return sum(self._client.nthreads().values())
        except OSError:
            pass
        raise ClusterError(LOST)

    def check(self) -> None:
        """Wait for a worker, and check that all of them have this version of biosfa.

        Raises
        ------
        ClusterError
            If there is no worker, or if one has another version.
        """
        found = self._versions()
        if not found:
            raise ClusterError(
                f"the scheduler has no workers: start some with: dask worker {self._client.scheduler.address}. Each "
                "needs 500 MB of memory to import biosfa"
            )
        wrong = [
            f"{worker} has {'no biosfa' if isinstance(version, Exception) else version}"
            for worker, version in sorted(found.items())
            if version != __version__
        ]
        if wrong:
            raise ClusterError(f"all workers need biosfa {__version__}, as here, but {listed(wrong)}: install it there")

    def _versions(self) -> dict[str, Any]:
        """Wait for workers, and return what each says is its version of biosfa: a string, or an error."""
        deadline = time.monotonic() + WORKER_SECONDS
        while time.monotonic() < deadline:
            found = self._client.run(eval, VERSION, on_error="return") if self._client.nthreads() else {}
            there = {worker: said for worker, said in found.items() if not isinstance(said, OSError)}  # others are gone
            if there:
                return there
            time.sleep(0.2)
        return {}

    def share(self, content: Any) -> Any:
        """Send something to the cluster once, to be an argument of many calls."""
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Sending large graph")
            return self._client.submit(_itself, content, pure=False)  # a worker that ends loses it: it is sent again

    def on_each_worker(self, function: Callable[..., Any], *arguments: Any) -> dict[str, Any]:
        """Call a function on each worker, and return the results by the addresses of those that are still there."""
        found = self._client.run(function, *arguments, on_error="return")
        lost = imported("distributed.comm", "dask").CommClosedError
        results = {worker: result for worker, result in found.items() if not isinstance(result, lost)}
        for result in results.values():
            if isinstance(result, Exception):
                raise result
        return results

    def in_order(self, function: Callable[..., Any], calls: Iterable[tuple[Any, ...]]) -> Iterator[Any]:
        """Call a function with many arguments on the workers, and yield the results in this order.

        Only a few calls per thread are under way at any time, so that results do not pile up.
        """
        most, pending = 0, deque[Any]()
        try:
            for number, arguments in enumerate(calls):  # the priority lets earlier calls run first
                pending.append(self._client.submit(function, *arguments, pure=False, priority=-number))
                if len(pending) >= most:
                    most = (AHEAD + 1) * self.n_threads
                if len(pending) >= most:
                    yield self._result(pending.popleft())
            while pending:
                yield self._result(pending.popleft())
        finally:
            self._cancel(list(pending))

    def as_completed(
        self, function: Callable[..., Any], calls: Iterable[tuple[Any, ...]]
    ) -> Generator[Any, None, None]:
        """Call a function with many arguments on the workers, and yield each result as soon as it is there."""
        futures, done = [self._client.submit(function, *arguments, pure=False) for arguments in calls], Queue[Any]()
        try:
            for future in futures:
                future.add_done_callback(done.put)
            for _ in futures:
                future = self._patiently(done.get, Empty)
                yield self._result(future)
                future.release()
        finally:
            self._cancel(futures)

    @contextmanager
    def listening(self, hear: Callable[[Any], None]) -> Iterator[str]:
        """Pass what calls tell to a function, in another thread. Yields the topic that they must give."""
        topic = f"biosfa-{uuid4()}"
        self._client.subscribe_topic(topic, lambda event: hear(event[1]))
        try:
            yield topic
        finally:
            with suppress(Exception):  # there may be no scheduler any more
                self._client.unsubscribe_topic(topic)

    def _result(self, future: Any) -> Any:
        """Wait for the result of a call."""

        def result(timeout: float) -> Any:
            try:
                return future.result(timeout=timeout)
            except TimeoutError:
                if not future.done():
                    raise Waiting from None
            return future.result()  # a large one, or an error of the function

        return self._patiently(result, Waiting)

    def _patiently(self, wait: Callable[..., Any], late: type[Exception]) -> Any:
        """Wait for something, as long as there are workers that can still compute it.

        Raises
        ------
        ClusterError
            If all workers have been gone, or paused for lack of memory, for some time.
        """
        stuck = 0
        while True:
            try:
                return wait(timeout=STUCK_SECONDS / STUCK_CHECKS)
            except late:
                pass
            states = {worker["status"] for worker in self._client.scheduler_info(n_workers=-1)["workers"].values()}
            stuck = stuck + 1 if states <= {"paused"} else 0
            if stuck >= STUCK_CHECKS:
                why = "use nearly all of their memory: start workers with more" if states else "are gone: start others"
                raise ClusterError(f"all workers {why}, and run this again")

    def _cancel(self, futures: list[Any]) -> None:
        with suppress(Exception):  # there may be no scheduler any more
            self._client.cancel(futures)


@contextmanager
def connected(scheduler: str) -> Iterator[Cluster]:
    """Connect to a cluster, whose workers must have this version of biosfa.

    Parameters
    ----------
    scheduler : str
        Address of a scheduler, such as ``tcp://10.0.0.1:8786``. ``local`` starts workers on this machine, one per core;
        ``local:4`` starts four.

    Yields
    ------
    Cluster

    Raises
    ------
    ClusterError
        If there is no scheduler at the address, or if its workers do not fit.

    Examples
    --------
    >>> from biosfa.cluster import connected
    >>> with connected("nonsense") as cluster:
    ...     pass
    Traceback (most recent call last):
        ...
    biosfa.exceptions.ClusterError: nonsense is not a scheduler: give local, local:4 or an address such as tcp://HOST:8786
    """
    local = re.fullmatch(r"local(?::([1-9]\d*))?", scheduler)
    if local is None and not re.fullmatch(r"\w+://.+:\d+", scheduler):
        raise ClusterError(f"{scheduler} is not a scheduler: give local, local:4 or an address such as tcp://HOST:8786")
    distributed = imported("distributed", "dask")
    with _quiet(), plain_errors():
        if local is None:
            try:
                client = distributed.Client(scheduler, timeout=CONNECT_SECONDS, set_as_default=False)
            except (OSError, ValueError) as error:
                raise ClusterError(f"there is no scheduler at {scheduler}: start one with: dask scheduler") from error
            with client:
                yield from _checked(client)
            return
        with local_client(int(local[1]) if local[1] else None) as client:
            yield from _checked(client)


def _checked(client: Any) -> Iterator[Cluster]:
    cluster = Cluster(client)
    cluster.check()
    yield cluster


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep the log of Dask's client, which speaks of lost connections in many words, from standard error."""
    loggers = [logging.getLogger(name) for name in logging.root.manager.loggerDict if name.startswith("distributed")]
    before = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        for logger, level in zip(loggers, before, strict=True):
            logger.setLevel(level)


def _itself(content: Any) -> Any:
    return content
