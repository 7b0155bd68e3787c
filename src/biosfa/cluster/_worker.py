"""What a call can find out, and tell the client, while a worker runs it."""

from typing import Any

from biosfa.extras import imported


class Call:
    """The call that this thread of a worker runs; :meth:`Cluster.listening` returns the topic for :meth:`tell`."""

    def __init__(self) -> None:
        self._worker = imported("distributed", "dask").get_worker()
        self._key = self._worker.get_current_task()

    @property
    def is_wanted(self) -> bool:
        """Whether a client still waits for the result, and the worker has a scheduler: both may have ended."""
        task = self._worker.state.tasks.get(self._key)
        ends = self._worker.status.name in ("closing", "closed", "failed")
        return task is not None and task.state != "cancelled" and not ends

    def tell(self, topic: str, content: Any) -> None:
        """Send JSON data to the client."""
        self._worker.log_event(topic, content)
