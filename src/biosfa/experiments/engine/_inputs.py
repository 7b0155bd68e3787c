"""Input that tasks share: each process makes it once, and keeps it while tasks need it."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from typing import Any, ClassVar, Generic, TypeVar

from biosfa.cluster import Cluster

Input = TypeVar("Input")


def held(maxsize: int) -> Callable[[Callable[..., Input]], "Held[Input]"]:
    """Decorate a function that makes the shared input of tasks: its last ``maxsize`` results are kept.

    The first task that calls it makes the input, while the others wait.

    Examples
    --------
    >>> from biosfa.experiments.engine import held
    >>> @held(1)
    ... def load(seed):
    ...     print("loading", seed)
    ...     return [seed]
    >>> load(3)
    loading 3
    [3]
    >>> load(3)
    [3]
    """
    return lambda make: Held(make, maxsize)


class Held(Generic[Input]):
    """A function that keeps its last results; see :func:`held`."""

    all: ClassVar[list["Held[Any]"]] = []

    def __init__(self, make: Callable[..., Input], maxsize: int) -> None:
        self.all.append(self)
        self._make = lru_cache(maxsize)(make)
        self._lock = threading.Lock()

    def __call__(self, *arguments: Any) -> Input:
        with self._lock:
            return self._make(*arguments)

    def clear(self) -> None:
        """Forget all results."""
        self._make.cache_clear()


def forget_inputs() -> None:
    """Forget all shared inputs of this process."""
    for input in Held.all:
        input.clear()


@contextmanager
def fresh_inputs(cluster: Cluster | None) -> Iterator[None]:
    """Let workers of a cluster forget shared inputs, before a run and after it.

    Files may have changed since an earlier run, and other work may need the memory.
    """
    if cluster is None:
        yield
        return
    cluster.on_each_worker(forget_inputs)
    try:
        yield
    finally:
        with suppress(Exception):  # there may be no scheduler any more
            cluster.on_each_worker(forget_inputs)
