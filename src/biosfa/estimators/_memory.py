"""Whether the matrices of exact SFA fit into memory, asked before they are made."""

from pathlib import Path

# m × m matrices of float64 at the same time, at most (measured): sums, the sums of a chunk, and what solving needs; for
# principal components, sums and a product
MATRICES = 10
PCA_MATRICES = 5


def exact_memory(n_features: int) -> int:
    """Bytes that exact SFA needs for so many (expanded) features."""
    return 8 * MATRICES * n_features**2


def available_memory() -> int:
    """Bytes that this process may still have."""
    import psutil

    available: int = psutil.virtual_memory().available
    group = Path("/sys/fs/cgroup")  # of a container
    try:
        limit = int((group / "memory.max").read_text())
        used = int((group / "memory.current").read_text())
        statistics = dict(line.split() for line in (group / "memory.stat").read_text().splitlines())
    except (OSError, ValueError):  # there is none, or no limit
        return available
    cached = int(statistics.get("inactive_file", 0))  # of files, given back when it is needed
    return min(available, max(0, limit - used + cached))


def check_memory(n_features: int) -> None:
    """Raise MemoryError if exact SFA of so many features would not fit."""
    _check(
        exact_memory(n_features),
        f"exact SFA of {n_features:,} (expanded) columns",
        "reduce the columns first (pca=N, --pca N), or use OnlineSFA (--solver online), which needs no such matrices",
    )


def check_pca_memory(n_features: int) -> None:
    """Raise MemoryError if principal components of so many columns would not fit."""
    needed = 8 * PCA_MATRICES * n_features**2
    _check(needed, f"finding principal components of {n_features:,} columns", "leave some out")


def _check(needed: int, what: str, instead: str) -> None:
    available = available_memory()
    if needed > available:
        sizes = f"{needed / 1e9:.1f} GB for its matrices, and {available / 1e9:.1f} GB are free"
        raise MemoryError(f"{what} needs about {sizes}: {instead}")
