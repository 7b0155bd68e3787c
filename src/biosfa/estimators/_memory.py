"""Whether the matrices of exact SFA fit into memory, asked before they are made."""

import os
from pathlib import Path

# m × m matrices of float64 at the same time, at most: sums, the sums of a chunk, and what solving needs (measured)
MATRICES = 10


def exact_memory(n_features: int) -> int:
    """Bytes that exact SFA needs for so many (expanded) features."""
    return 8 * MATRICES * n_features**2


def available_memory() -> int:
    """Bytes that this process may still have."""
    import psutil

    available: int = psutil.virtual_memory().available
    limit, used = Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory.current")
    if os.access(limit, os.R_OK) and (text := limit.read_text().strip()).isdigit():  # of a container
        available = min(available, max(0, int(text) - int(used.read_text())))
    return available


def check_memory(n_features: int) -> None:
    """Raise MemoryError if exact SFA of so many features would not fit."""
    needed, available = exact_memory(n_features), available_memory()
    if needed > available:
        raise MemoryError(
            f"exact SFA of {n_features:,} (expanded) columns needs about {needed / 1e9:.1f} GB for its matrices, and "
            f"{available / 1e9:.1f} GB are free: reduce the columns first (pca=N, --pca N), or use BioSFA "
            "(--solver bio), which needs no such matrices"
        )
