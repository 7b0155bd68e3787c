"""Other monitors, as rows of a table."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from biosfa.monitoring import Peer
from biosfa.typing import BoolArray


def peer_rows(peers: Mapping[str, Peer]) -> list[list[str]]:
    """Return a row per monitor: how many of the rows with data it finds out of its limits, with each statistic."""
    return [
        [
            name,
            _share(peer.alarms, np.any(~np.isnan(peer.statistics), axis=1)),
            ", ".join(
                f"{statistic}: {_share(column > 1.0, ~np.isnan(column))}"
                for statistic, column in zip(peer.names, peer.statistics.T, strict=True)
            ),
        ]
        for name, peer in peers.items()
    ]


def _share(out: BoolArray, known: Any) -> str:
    return f"{100 * out[known].mean():.1f}%" if known.any() else "no data"
