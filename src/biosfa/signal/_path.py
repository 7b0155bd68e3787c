"""From rows of input to rows of the expanded signal: principal components, delays, then the expansion."""

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

# Size of a piece of expanded signal: never the whole of it is held.
PIECE_BYTES = 2**21


@dataclass(frozen=True)
class Plan:
    """Which rows of the expanded signal a chunk of input gives."""

    rows: FloatArray  # input, with what was remembered before it
    index: IntArray | None  # those that have all their delays; None if all have
    starts: BoolArray  # which of these begin an episode


@dataclass
class SignalPath:
    """Reduction, delay embedding and expansion of a stream, with what it must remember of the open episode."""

    n_delays: int
    transformer: Any  # a fitted transformer, or None
    n_features_in: int
    reduction: Reduction | None = None
    n_reduced: int = field(init=False)  # columns that are delayed and expanded
    n_features_out: int = field(init=False)
    history: FloatArray = field(init=False)  # the last n_delays rows, so that one sees whether the episode gave any yet

    def __post_init__(self) -> None:
        self.n_reduced = self.n_features_in if self.reduction is None else len(self.reduction.components)
        self.n_features_out = self.expand(np.zeros((1, self.n_reduced * self.n_delays))).shape[1]
        self.forget()

    @classmethod
    def build(
        cls, n_delays: int, expansion: Any, X: FloatArray, starts: BoolArray, reduction: Reduction | None
    ) -> "SignalPath":
        """The path for input like X; an expansion that is not fitted yet is fitted to X."""
        if expansion is None or isinstance(expansion, str) or _is_fitted(expansion):
            return cls.restore(n_delays, expansion, X.shape[1], reduction)
        index, _ = delay_index(starts, n_delays)
        if len(index) == 0:
            raise ValueError(
                f"the first rows are too few for n_delays={n_delays} to fit {expansion!r} to them: give more, or fit it"
            )
        rows = X if reduction is None else reduction.apply(X)
        return cls(n_delays, clone(expansion).fit(gather_delays(rows, index, n_delays)), X.shape[1], reduction)

    @classmethod
    def restore(cls, n_delays: int, expansion: Any, n_features: int, reduction: Reduction | None) -> "SignalPath":
        """The path with an expansion that needs no fitting any more."""
        named = expansion if isinstance(expansion, str) else name_of_expansion(expansion)
        if named is not None:
            n_reduced = n_features if reduction is None else len(reduction.components)
            expansion = EXPANSIONS[named].load()().fit(np.zeros((1, n_reduced * n_delays)))
        if expansion is not None and not _is_fitted(expansion):
            raise ValueError(f"{expansion!r} is not fitted: give the one that the model has as expansion_")
        return cls(n_delays, expansion, n_features, reduction)

    @property
    def is_identity(self) -> bool:
        """Whether rows of the expanded signal are those of the input."""
        return self.n_delays == 1 and self.transformer is None and self.reduction is None

    def forget(self) -> None:
        """Begin a new episode."""
        self.history = np.empty((0, self.n_reduced))

    def reduce(self, X: FloatArray) -> FloatArray:
        """Samples in their principal components, if these are wanted; what all the rest begins with."""
        return X if self.reduction is None else self.reduction.apply(X)

    def plan(self, X: FloatArray, starts: BoolArray, *, continued: bool) -> Plan:
        """What (reduced) X will give, by itself or as a continuation of what is remembered."""
        if self.n_delays == 1:
            return Plan(X, None, starts)
        history = self.history if continued else self.history[:0]
        past = len(history)
        rows = np.concatenate([history.astype(X.dtype), X])
        index, first = delay_index(np.concatenate([np.zeros(past, np.bool_), starts]), self.n_delays)
        new = index >= past
        return Plan(rows, index[new], first[new])

    def pieces(self, plan: Plan, at_least: int = 1) -> Iterator[tuple[FloatArray, slice]]:
        """The expanded signal piece by piece, of some rows at least, and where each stands in the plan."""
        if self.n_delays == 1 and self.transformer is None:
            yield plan.rows, slice(0, len(plan.rows))
            return
        size = max(self.piece_rows(), at_least)
        for begin in range(0, len(plan.starts), size):
            piece = slice(begin, begin + size)
            yield self.expand(self.embed(plan, piece)), piece

    def embed(self, plan: Plan, rows: slice | IntArray) -> FloatArray:
        """Some rows of a plan with their delays, before the expansion."""
        return plan.rows[rows] if plan.index is None else gather_delays(plan.rows, plan.index[rows], self.n_delays)

    def piece_rows(self) -> int:
        """Rows of a piece."""
        return max(64, PIECE_BYTES // (8 * self.n_features_out))

    def expand(self, rows: FloatArray) -> FloatArray:
        """The expansion of embedded rows."""
        if self.transformer is None:
            return rows
        return np.ascontiguousarray(self.transformer.transform(rows), dtype=rows.dtype)

    def remember(self, X: FloatArray, starts: BoolArray) -> None:
        """Keep what the next rows of the open episode will need of (reduced) X."""
        if self.n_delays == 1:
            return
        rows = np.concatenate([self.history, X])
        cuts = np.flatnonzero(starts) + len(self.history)
        self.history = rows[max(cuts[-1] if len(cuts) else 0, len(rows) - self.n_delays) :]


def name_of_expansion(expansion: Any) -> str | None:
    """The name that a transformer of this package has, None for one of the user's own."""
    return next((name for name, choice in EXPANSIONS.items() if type(expansion).__name__ == choice.name), None)


def expanded_size(expansion: str | None, n_columns: int) -> int:
    """Columns that an expansion makes of so many."""
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
