"""Other monitors, as rows of a table."""

from collections.abc import Mapping

from biosfa.monitoring import Peer


def peer_rows(peers: Mapping[str, Peer]) -> list[list[str]]:
    """Return a row per monitor: how many rows it finds out of its limits, with each of its statistics."""
    return [
        [
            name,
            f"{100 * peer.alarms.mean():.1f}%",
            ", ".join(
                f"{statistic}: {100 * (column > 1.0).mean():.1f}%"
                for statistic, column in zip(peer.names, peer.statistics.T, strict=True)
            ),
        ]
        for name, peer in peers.items()
    ]
