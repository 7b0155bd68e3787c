"""Work on the workers of a Dask cluster. Dask is imported only where a cluster is used."""

from biosfa.cluster._client import Cluster, connected
from biosfa.cluster._errors import plain_errors
from biosfa.cluster._worker import Call

__all__ = ["Call", "Cluster", "connected", "plain_errors"]
