"""Runs tasks at the same time: on threads of this process, or on the workers of a Dask cluster."""

import threading
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from typing import Any

import joblib
from threadpoolctl import threadpool_limits

from biosfa.cluster import Call, Cluster
from biosfa.experiments.engine._runner import Result, RunFolder, Stopped, Task
from biosfa.presentation.progress import Progress
from biosfa.typing import Advance

TELL_SECONDS = 0.5  # between two messages of a task about its progress


def run_tasks(
    folder: RunFolder, tasks: list[Task], *, jobs: int | None, title: str, cluster: Cluster | None = None
) -> dict[str, Result]:
    """Run the tasks that have no stored result, and return all results by the names of the tasks.

    Ctrl-C stops the running tasks. The results of finished tasks stay on disk.

    Parameters
    ----------
    folder : RunFolder
        Folder with the results.
    tasks : list of Task
        All tasks.
    jobs : int or None
        Number of threads that run tasks. None: one per core. Not used with a cluster.
    title : str
        Text of the progress bar.
    cluster : Cluster, optional
        Cluster whose workers run the tasks, in place of threads of this process.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> from biosfa.experiments.engine import RunFolder, Task, run_tasks
    >>> def square(x, report):
    ...     report(1)
    ...     return {"square": np.array(x**2)}
    >>> tasks = [Task(f"square-{x}", 1, square, (x,)) for x in range(3)]
    >>> with tempfile.TemporaryDirectory() as path:
    ...     results = run_tasks(RunFolder(Path(path)), tasks, jobs=1, title="squares")
    >>> [int(result.arrays["square"]) for result in results.values()]
    [0, 1, 4]
    """
    results = {task.name: result for task in tasks if (result := folder.load(task)) is not None}
    left = [task for task in tasks if task.name not in results]
    with Progress(title, total=sum(task.steps for task in tasks)) as bar:
        bar.skip(sum(task.steps for task in tasks if task.name in results))
        finished = on_threads(folder, left, jobs, bar) if cluster is None else on_cluster(folder, left, cluster, bar)
        results.update(finished)
    return {task.name: results[task.name] for task in tasks}


def timed(task: Task, report: Advance) -> Result:
    """Run a task, and measure its time."""
    begin = time.perf_counter()
    arrays = task.run(report)
    return Result(arrays, time.perf_counter() - begin)


def on_threads(folder: RunFolder, tasks: list[Task], jobs: int | None, bar: Progress) -> Iterator[tuple[str, Result]]:
    """Run tasks on threads of this process, store their results, and yield each as soon as it is there.

    Threads, because the kernels release the GIL, and the tasks share their data.
    """
    stop = threading.Event()

    def report(steps: int) -> None:
        if stop.is_set():
            raise Stopped
        bar.advance(steps)

    def work(task: Task) -> tuple[str, Result]:
        result = timed(task, report)
        folder.store(task, result)
        return task.name, result

    parallel = joblib.Parallel(
        n_jobs=jobs or joblib.cpu_count(), prefer="threads", return_as="generator_unordered", pre_dispatch="n_jobs"
    )
    try:
        with threadpool_limits(1):  # sums must not depend on the number of threads
            yield from parallel(joblib.delayed(work)(task) for task in tasks)
    except BaseException:
        stop.set()
        raise


def on_cluster(folder: RunFolder, tasks: list[Task], cluster: Cluster, bar: Progress) -> Iterator[tuple[str, Result]]:
    """Run tasks on workers of a cluster, store their results here, and yield each as soon as it is there."""
    by_name = {task.name: task for task in tasks}
    shared = {id(item): item for task in tasks for item in task.shared}
    sent = {key: cluster.share(item) for key, item in shared.items()}
    reached, lock = dict.fromkeys(by_name, 0), threading.Lock()  # steps

    def reach(told: tuple[str, int]) -> None:
        name, steps = told
        with lock:
            bar.advance(max(0, steps - reached[name]))  # a task whose worker has ended begins again
            reached[name] = max(steps, reached[name])

    with cluster.listening(reach) as topic:
        calls = [(topic, replace(task, shared=()), *(sent[id(item)] for item in task.shared)) for task in tasks]
        with closing(cluster.as_completed(run_on_worker, calls)) as finished:
            for name, result in finished:
                folder.store(by_name[name], result)
                reach((name, by_name[name].steps))
                yield name, result


def run_on_worker(topic: str, task: Task, *shared: Any) -> tuple[str, Result]:
    """Run a task on the worker that this process is."""
    threadpool_limits(1)  # as on threads; for good, because tasks of other threads may run
    return task.name, timed(replace(task, shared=shared), Reporter(topic, task.name))


class Reporter:
    """Counts the steps of a task on a worker, and tells the client."""

    def __init__(self, topic: str, name: str) -> None:
        self._call, self._topic, self._name = Call(), topic, name
        self._steps, self._told = 0, time.monotonic()

    def __call__(self, steps: int) -> None:
        if not self._call.is_wanted:
            raise Stopped
        self._steps += int(steps)
        if time.monotonic() - self._told > TELL_SECONDS:
            self._call.tell(self._topic, (self._name, self._steps))
            self._told = time.monotonic()
