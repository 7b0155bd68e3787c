"""Check whether the matrices of exact SFA fit into memory before they are allocated."""

from pathlib import Path

# Largest number of m × m matrices of float64 in memory at the same time (measured): sums, sums of a chunk, and scratch
# matrices of the solver; for principal components, sums and one product
MATRICES = 10
PCA_MATRICES = 5


def exact_memory(n_features: int) -> int:
    """Return the number of bytes that exact SFA needs for ``n_features`` (expanded) columns."""
    return 8 * MATRICES * n_features**2


def available_memory() -> int:
    """Return the number of bytes that this process can still allocate."""
    import psutil

    available: int = psutil.virtual_memory().available
    group = Path("/sys/fs/cgroup")  # the limits of a container
    try:
        limit = int((group / "memory.max").read_text())
        used = int((group / "memory.current").read_text())
        statistics = dict(line.split() for line in (group / "memory.stat").read_text().splitlines())
    except (OSError, ValueError):  # not a container, or no limit
        return available
    cached = int(statistics.get("inactive_file", 0))  # cached files, which the system drops when memory is needed
    return min(available, max(0, limit - used + cached))


def check_memory(n_features: int) -> None:
    """Raise MemoryError if exact SFA of ``n_features`` columns does not fit into memory."""
    _check(
        exact_memory(n_features),
        f"exact SFA of {n_features:,} (expanded) columns",
        "reduce the columns first (pca=N, --pca N), or use OnlineSFA (--solver online), which needs no such matrices",
    )


def check_pca_memory(n_features: int) -> None:
    """Raise MemoryError if finding principal components of ``n_features`` columns does not fit into memory."""
    needed = 8 * PCA_MATRICES * n_features**2
    _check(needed, f"finding principal components of {n_features:,} columns", "leave some columns out")


def check_sums_memory(n_features: int, needed: int) -> None:
    """Raise MemoryError if sums over blocks of ``n_features`` columns, ``needed`` bytes, do not fit into memory."""
    _check(needed, f"sums over blocks of {n_features:,} (expanded) columns", "reduce the columns first (pca=N)")


def _check(needed: int, what: str, instead: str) -> None:
    available = available_memory()
    if needed > available:
        sizes = f"{needed / 1e9:.1f} GB for its matrices, and {available / 1e9:.1f} GB are free"
        raise MemoryError(f"{what} needs about {sizes}: {instead}")
