"""Whether there are enough pairs of samples for slow features."""

from biosfa.wording import counted


def why_undetermined(n_pairs: int, rank: int) -> str | None:
    """Return why pairs of samples do not determine slow features, and what to do; None if they do.

    ``rank`` is the number of dimensions in which the (expanded) samples vary. Fewer differences than this vanish along
    some direction whatever the signal is, so that its slowness is 0.
    """
    if n_pairs >= rank:
        return None
    return (
        f"{counted(n_pairs, 'usable pair')} of samples cannot determine slow features: the (expanded) samples vary in "
        f"{counted(rank, 'dimension')}, so some features change in no pair (δ = 0), whatever the signal is. Give at "
        f"least {rank:,} pairs, leave out columns, or reduce them with pca=N (--pca N)"
    )


def check_determined(n_pairs: int, rank: int) -> None:
    """Raise ValueError if pairs of samples do not determine slow features; see :func:`why_undetermined`."""
    why = why_undetermined(n_pairs, rank)
    if why is not None:
        raise ValueError(why)
