"""The signal path: it turns rows of the input into rows of the expanded signal, piece by piece."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from biosfa.kernels.embedding import delay_index, gather_delays
from biosfa.registry import EXPANSIONS
from biosfa.signal._reduction import Reduction
from biosfa.typing import BoolArray, FloatArray, IntArray

# Size of a piece of the expanded signal. The whole of it is never in memory.
PIECE_BYTES = 2**21


@dataclass(frozen=True)
class Plan:
    """The rows of the expanded signal that a chunk of the input gives."""

    rows: FloatArray  # input, after the rows that were remembered from earlier chunks
    index: IntArray | None  # rows that have all their delays; None if all rows have
    starts: BoolArray  # which of these begin an episode


@dataclass
class SignalPath:
    """Principal components, delays and expansion of a stream, with a memory of the last rows of the open episode."""

    n_delays: int
    transformer: Any  # a fitted transformer, or None
    n_features_in: int
    reduction: Reduction | None = None
    n_reduced: int = field(init=False)  # number of columns that are delayed and expanded
    n_features_out: int = field(init=False)
    history: FloatArray = field(
        init=False
    )  # n_delays rows: one more than needed, to know if any row had all its delays

    def __post_init__(self) -> None:
        self.n_reduced = self.n_features_in if self.reduction is None else len(self.reduction.components)
        self.n_features_out = self.expand(np.zeros((1, self.n_reduced * self.n_delays))).shape[1]
        self.forget()

    @classmethod
    def build(
        cls, n_delays: int, expansion: Any, X: FloatArray, starts: BoolArray, reduction: Reduction | None
    ) -> "SignalPath":
        """Return the path for input like X. An expansion that is not fitted is fitted to X."""
        if expansion is None or isinstance(expansion, str) or _is_fitted(expansion):
            return cls.restore(n_delays, expansion, X.shape[1], reduction)
        index, _ = delay_index(starts, n_delays)
        if len(index) == 0:
            raise ValueError(
                f"the first chunk has too few rows to fit {expansion!r} with n_delays={n_delays}: give more rows, or "
                "fit the expansion first"
            )
        rows = X if reduction is None else reduction.apply(X)
        return cls(n_delays, clone(expansion).fit(gather_delays(rows, index, n_delays)), X.shape[1], reduction)

    @classmethod
    def restore(cls, n_delays: int, expansion: Any, n_features: int, reduction: Reduction | None) -> "SignalPath":
        """Return the path with an expansion that is named, or fitted already."""
        named = expansion if isinstance(expansion, str) else name_of_expansion(expansion)
        if named is not None:
            n_reduced = n_features if reduction is None else len(reduction.components)
            expansion = EXPANSIONS[named].load()().fit(np.zeros((1, n_reduced * n_delays)))
        if expansion is not None and not _is_fitted(expansion):
            raise ValueError(f"{expansion!r} is not fitted: give the fitted one, expansion_ of the saved model")
        return cls(n_delays, expansion, n_features, reduction)

    @property
    def is_identity(self) -> bool:
        """Whether the expanded signal is the input itself."""
        return self.n_delays == 1 and self.transformer is None and self.reduction is None

    def forget(self) -> None:
        """Forget the rows of the open episode."""
        self.history = np.empty((0, self.n_reduced))

    def reduce(self, X: FloatArray) -> FloatArray:
        """Return the principal components of samples, or the samples if there is no reduction."""
        return X if self.reduction is None else self.reduction.apply(X)

    def plan(self, X: FloatArray, starts: BoolArray, *, continued: bool) -> Plan:
        """Return the plan for (reduced) rows X, which may continue the open episode."""
        if self.n_delays == 1:
            return Plan(X, None, starts)
        history = self.history if continued else self.history[:0]
        past = len(history)
        rows = np.concatenate([history.astype(X.dtype), X])
        index, first = delay_index(np.concatenate([np.zeros(past, np.bool_), starts]), self.n_delays)
        new = index >= past
        return Plan(rows, index[new], first[new])

    def pieces(self, plan: Plan, at_least: int = 1) -> Iterator[tuple[FloatArray, slice]]:
        """Yield the expanded signal in pieces of at least ``at_least`` rows, and the place of each in the plan."""
        if self.n_delays == 1 and self.transformer is None:
            yield plan.rows, slice(0, len(plan.rows))
            return
        size = max(self.piece_rows(), at_least)
        for begin in range(0, len(plan.starts), size):
            piece = slice(begin, begin + size)
            yield self.expand(self.embed(plan, piece)), piece

    def embed(self, plan: Plan, rows: slice | IntArray) -> FloatArray:
        """Return some rows of a plan with their delays, before the expansion."""
        return plan.rows[rows] if plan.index is None else gather_delays(plan.rows, plan.index[rows], self.n_delays)

    def piece_rows(self) -> int:
        """Return the number of rows of a piece."""
        return max(64, PIECE_BYTES // (8 * self.n_features_out))

    def expand(self, rows: FloatArray) -> FloatArray:
        """Return the expansion of rows with delays."""
        if self.transformer is None:
            return rows
        return np.ascontiguousarray(self.transformer.transform(rows), dtype=rows.dtype)

    def remember(self, X: FloatArray, starts: BoolArray) -> None:
        """Store the last rows of (reduced) X, which the delays of the next rows need."""
        if self.n_delays == 1:
            return
        rows = np.concatenate([self.history, X])
        cuts = np.flatnonzero(starts) + len(self.history)
        self.history = rows[max(cuts[-1] if len(cuts) else 0, len(rows) - self.n_delays) :].copy()  # not all of rows


def name_of_expansion(expansion: Any) -> str | None:
    """Return the name of a transformer of this package, None for any other transformer."""
    return next((name for name, choice in EXPANSIONS.items() if type(expansion).__name__ == choice.name), None)


def begins_with_input(transformer: Any) -> bool:
    """Return whether the first columns of the expanded signal are those before the expansion."""
    return transformer is None or name_of_expansion(transformer) is not None


def expanded_size(expansion: str | None, n_columns: int) -> int:
    """Return the number of columns after an expansion of ``n_columns`` columns."""
    if expansion is None:
        return n_columns
    transformer = EXPANSIONS[expansion].load()()
    return int(transformer.size(n_columns))


def _is_fitted(transformer: Any) -> bool:
    try:
        check_is_fitted(transformer)
    except NotFittedError:
        return False
    return True
