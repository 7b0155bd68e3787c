"""Shares of the input columns in the statistics of a model."""

import numpy as np

from biosfa.estimators import Projection
from biosfa.monitoring._charts import REST, SLOW_LEVEL, Contributions
from biosfa.monitoring._normal import Normal
from biosfa.monitoring._reading import Moved, Read
from biosfa.signal import SignalPath, name_of_expansion
from biosfa.typing import Float64Array, IntArray


class Attribution:
    """Shares out the statistics of a model among the input columns, for whatever is normal at present."""

    def __init__(self, projection: Projection) -> None:
        self._projection = projection
        self._known: tuple[Normal, Contributions] | None = None  # computed once per change of what is normal

    def shares(self, normal: Normal, read: Read) -> Float64Array:
        """Return the shares (rows, charts, columns). That of a constant column that has moved is infinite."""
        if self._known is None or self._known[0] is not normal:
            turned = normal.turned(self._projection.components)
            weights = normal.charts.weights()
            self._known = normal, Contributions(weights, *by_input_column(self._projection.signal, turned))
        now = normal.apply(read.features.now)
        shares = self._known[1].of(now, now - normal.apply(read.features.before), n_levels=len(normal.charts.levels))
        return _with_moved(shares, read.moved)

    def causes(self, normal: Normal, read: Read, limits: Float64Array) -> Float64Array:
        """Return the share of each column in what is out of its limit, for each row; 0 where nothing is.

        It is also 0 where contributions are not known for the expansion.

        If only T² of the slow features is out, the columns vary together as usual, so no single sensor is to blame.
        Almost any column could then bring the statistic back, and contributions are almost equal. So they are
        multiplied by how far each column is from its mean, in standard deviations.
        """
        found = np.zeros((len(read.statistics), self._projection.signal.n_features_in))
        out = np.flatnonzero(np.any(read.statistics > limits, axis=1))
        if len(out):
            some = read.only(out)
            shares = self.shares(normal, some) if self.known else self._of_constants(some)
            if normal.columns is not None:
                beyond = some.statistics > limits
                together = np.flatnonzero(beyond[:, SLOW_LEVEL] & (np.count_nonzero(beyond, axis=1) == 1))
                shares[together, SLOW_LEVEL] *= np.abs(normal.deviations(some.features.now[together]))[
                    :, : found.shape[1]
                ]
            found[out] = relative_causes(shares, some.statistics, limits)
        return found

    @property
    def known(self) -> bool:
        """Whether contributions are known for the expansion."""
        return is_traced(self._projection.signal)

    def _of_constants(self, read: Read) -> Float64Array:
        """Return the shares of constant columns that have moved. Other columns have none."""
        n_rows, n_charts = read.statistics.shape
        return _with_moved(np.zeros((n_rows, n_charts, self._projection.signal.n_features_in)), read.moved)


def _with_moved(shares: Float64Array, moved: Moved) -> Float64Array:
    for chart in REST:
        shares[moved.rows, chart] = 0.0
        shares[moved.rows, chart, moved.columns] = np.inf
    return shares


def relative_causes(shares: Float64Array, statistics: Float64Array, limits: Float64Array) -> Float64Array:
    """Return the share of each column in what is out of its limit, for each row.

    Every statistic that is out counts as its multiple of the limit. A column with an infinite share is the only cause.
    """
    weights = np.where(statistics > limits, 1.0 / np.maximum(limits, np.finfo(float).tiny), 0.0)
    counted = np.where(weights[:, :, None] > 0.0, shares, 0.0)
    infinite = np.asarray(np.any(np.isinf(counted), axis=1))  # (rows, columns)
    only = np.asarray(np.any(infinite, axis=1))
    found = np.einsum("tc,tcj->tj", weights, np.where(np.isfinite(counted), counted, 0.0))
    found[only] = infinite[only]
    total = found.sum(axis=1, keepdims=True)
    relative: Float64Array = np.divide(found, total, out=np.zeros_like(found), where=total > 0.0)
    return relative


def is_traced(signal: SignalPath) -> bool:
    """Return whether it is known to which input columns the expanded signal belongs."""
    if signal.transformer is None:
        return True
    return name_of_expansion(signal.transformer) == "quadratic" and signal.reduction is None


def by_input_column(signal: SignalPath, components: Float64Array) -> tuple[Float64Array, list[IntArray]]:
    """Return the map to features, and for each input column the columns of the map that it reaches.

    Principal components are replaced by the columns that they are made of. A monomial belongs to each of its columns.

    Raises
    ------
    ValueError
        If this is not known for an expansion.
    """
    n_delays, n_reduced = signal.n_delays, signal.n_reduced
    linear = np.arange(n_delays * n_reduced)
    if signal.transformer is None:
        if signal.reduction is None:
            return components, [linear[linear % n_reduced == j] for j in range(n_reduced)]
        loadings = signal.reduction.components
        unreduced = np.hstack([block @ loadings for block in np.split(components, n_delays, axis=1)])
        columns = np.arange(unreduced.shape[1])
        return unreduced, [columns[columns % signal.n_features_in == j] for j in range(signal.n_features_in)]
    if not is_traced(signal):
        raise ValueError(
            "contributions are known for no expansion, for pca, and for expansion='quadratic' without pca; this model "
            f"has {signal.transformer!r}{' after pca' if signal.reduction is not None else ''}"
        )
    first, second = np.triu_indices(len(linear))  # monomials come in this order, after the columns themselves
    owners = np.stack([np.concatenate([linear, first]), np.concatenate([linear, second])]) % n_reduced
    return components, [np.flatnonzero((owners == j).any(axis=0)) for j in range(n_reduced)]
