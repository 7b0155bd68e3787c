"""Slow features in river: transformers that learn from dictionaries, one at a time, or from frames."""

from collections.abc import Hashable, Mapping, Sequence
from typing import Any, ClassVar, NoReturn

import numpy as np

from biosfa import estimators
from biosfa.exceptions import InputError
from biosfa.extras import imported
from biosfa.floats import check_digits, to_floats
from biosfa.typing import Float64Array
from biosfa.validation import check_finite
from biosfa.wording import listed, shortened

MiniBatchTransformer: Any = imported("river.base", "river", least="0.26.1").MiniBatchTransformer
frames = imported("river.utils.dataframe", "river")

# Share of the samples seen after which features use new weights. To measure scale and order of the features takes as
# long as to learn from a hundred samples.
RENEWAL = 1 / 64


class _Transformer(MiniBatchTransformer):
    """Base class of the transformers: an online learner behind the methods of river.

    Parameters
    ----------
    n_components : int, default=2
        Number of features.
    seed : int, optional
        Seed of the initial weights.
    **parameters
        Other parameters of the learner.
    """

    _learner: ClassVar[type[estimators.NetworkEstimator]]

    def __init__(self, n_components: int = 2, *, seed: int | None = None, **parameters: Any) -> None:
        self.n_components = n_components
        self.seed = seed
        self.parameters = parameters
        self.estimator = self._learner(n_components, **{"random_state": seed, **parameters})
        if self.estimator.n_delays != 1:
            raise ValueError(
                f"river transforms single samples, so n_delays must be 1; got {self.estimator.n_delays}: put earlier "
                "values into the dictionary, under keys of their own"
            )
        self._keys: list[Hashable] = []
        self._projection: estimators.Projection | None = None
        self._n_projected = 0  # samples that had been learned then

    def _unit_test_skips(self) -> set[str]:
        """Return the checks of river that take keys away or add new ones.

        A feature is a weighted sum of all keys. If a key is missing, the sum has no value, and a value in its place
        would look like a jump of the signal.
        """
        return {
            "check_emerging_features",
            "check_disappearing_features",
            "check_radically_disappearing_features",
            "check_learn_many_matches_learn_one",
        }

    def learn_one(self, x: Mapping[Hashable, Any]) -> None:
        """Learn from one sample, which follows the sample before.

        Parameters
        ----------
        x : dict
            The sample: a number for each key. Its keys must be those of the first sample.

        Raises
        ------
        ValueError
            If the keys are others than those of the first sample, or a value is no number. If nothing was learned
            before and the learner has ``pca``: principal components need several rows, so give them to
            :meth:`learn_many` first.
        """
        if self.estimator.pca is not None and not estimators.has_started(self.estimator):
            raise ValueError("pca is computed from the first rows: call learn_many first")
        keys = self._keys or _in_order(x)
        self.estimator.learn_one(_row(x, keys))
        self._keys = keys

    def transform_one(self, x: Mapping[Hashable, Any]) -> dict[str, float]:
        """Return the slow features of one sample, the slowest first.

        Parameters
        ----------
        x : dict
            The sample, with the keys of the first sample that was learned.

        Returns
        -------
        dict
            The features under the keys of :meth:`names`. They are 0 as long as nothing was learned.
        """
        features = self._features(_row(x, self._keys or _in_order(x))[None])[0]
        return dict(zip(self.names(), features.tolist(), strict=True))

    def learn_many(self, X: Any) -> None:
        """Learn from the rows of a frame, which follow the sample before. The result is that of :meth:`learn_one`.

        Parameters
        ----------
        X : data frame of pandas or polars
            Samples in order of time. The columns must be the keys of the first sample.
        """
        frame = frames.into_frame(X)
        keys = self._keys or _in_order(frame.columns)
        self.estimator.partial_fit(_rows(frame, keys))
        self._keys = keys

    def transform_many(self, X: Any) -> Any:
        """Return the slow features of the rows of a frame.

        Parameters
        ----------
        X : data frame of pandas or polars
            Samples, with the keys of the first sample as columns.

        Returns
        -------
        data frame
            A frame of the same library, with the features as columns.
        """
        frame = frames.into_frame(X)
        features = self._features(_rows(frame, self._keys or _in_order(frame.columns)))
        return frames.to_native_frame(features, like=frame, columns=self.names())

    def names(self) -> list[str]:
        """Return the keys of the features, such as ``onlinesfa0``."""
        return [f"{type(self).__name__.lower()}{i}" for i in range(self.n_components)]

    def end_episode(self) -> None:
        """End the current episode: no difference is taken between its last sample and the next one."""
        self.estimator.end_episode()

    def _features(self, rows: Float64Array) -> Float64Array:
        """Return the slow features of some rows; 0 as long as nothing was learned."""
        check_finite(self.estimator, rows, allow_nan=self.estimator.missing == "break")
        if not estimators.has_started(self.estimator):
            return np.zeros((len(rows), self.n_components))
        projection = self._present()
        expanded = projection.signal.expand(projection.signal.reduce(rows))
        features: Float64Array = (expanded - projection.mean) @ projection.components.T
        return features

    def _present(self) -> estimators.Projection:
        """Return the map to the features, which is renewed when the stream has grown by 1/64.

        Features keep their signs, so that a model behind this one never sees them turn around.
        """
        before, n_before = self._projection, self._n_projected
        new = self.estimator.n_samples_seen_ - n_before
        if before is not None and (new == 0 or new < RENEWAL * min(n_before, self.estimator.forget or np.inf)):
            return before
        projection = estimators.Projection.of(self.estimator)
        projection.mean = self.estimator.mean_
        if before is not None:
            turned = (projection.components * before.components).sum(axis=1) < 0.0
            projection.components = np.where(turned[:, None], -projection.components, projection.components)
        self._projection, self._n_projected = projection, n_before + new
        return projection


class OnlineSFA(_Transformer):
    """:class:`biosfa.OnlineSFA` as a transformer of river: slow features of a stream, by the natural gradient.

    Parameters
    ----------
    n_components : int, default=2
        Number of features.
    seed : int, optional
        Seed of the initial weights: ``random_state`` of the learner.
    **parameters
        Other parameters of :class:`biosfa.OnlineSFA`, except for ``n_delays``.

    Attributes
    ----------
    estimator : biosfa.OnlineSFA
        The learner, with its slowness, its weights and ``watch()``. Its columns are the keys in the order of ``str``.

    Examples
    --------
    >>> from biosfa.datasets import slow_mixture
    >>> from biosfa.integrations.river import OnlineSFA
    >>> model = OnlineSFA(n_components=1, seed=0)
    >>> for row in slow_mixture(5000, random_state=0).signal:
    ...     x = dict(enumerate(row))
    ...     model.learn_one(x)
    >>> list(model.transform_one(x))
    ['onlinesfa0']
    """

    _learner = estimators.OnlineSFA


class LocalSFA(_Transformer):
    """:class:`biosfa.LocalSFA` as a transformer of river: slow features of a stream, by local rules.

    Parameters
    ----------
    n_components : int, default=2
        Number of features.
    seed : int, optional
        Seed of the initial weights: ``random_state`` of the learner.
    **parameters
        Other parameters of :class:`biosfa.LocalSFA`, except for ``n_delays``.

    Attributes
    ----------
    estimator : biosfa.LocalSFA
        The learner, with its slowness, its weights and ``watch()``. Its columns are the keys in the order of ``str``.

    Examples
    --------
    >>> from biosfa.datasets import slow_mixture
    >>> from biosfa.integrations.river import LocalSFA
    >>> model = LocalSFA(n_components=1, seed=0)
    >>> for row in slow_mixture(1000, random_state=0).signal:
    ...     model.learn_one(dict(enumerate(row)))
    >>> model.estimator.n_samples_seen_
    1000
    """

    _learner = estimators.LocalSFA


class BioSFA(_Transformer):
    """:class:`biosfa.BioSFA` as a transformer of river: slow features of a stream, by the paper's network.

    Parameters
    ----------
    n_components : int, default=2
        Number of features.
    seed : int, optional
        Seed of the initial weights: ``random_state`` of the learner.
    **parameters
        Other parameters of :class:`biosfa.BioSFA`, except for ``n_delays``.

    Attributes
    ----------
    estimator : biosfa.BioSFA
        The learner, with its slowness, its weights and ``watch()``. Its columns are the keys in the order of ``str``.

    Examples
    --------
    >>> from biosfa.datasets import slow_mixture
    >>> from biosfa.integrations.river import BioSFA
    >>> model = BioSFA(n_components=1, seed=0)
    >>> for row in slow_mixture(1000, random_state=0).signal:
    ...     model.learn_one(dict(enumerate(row)))
    >>> model.estimator.W_.shape
    (1, 10)
    """

    _learner = estimators.BioSFA


def _in_order(keys: Mapping[Hashable, Any] | Sequence[Hashable]) -> list[Hashable]:
    """Return keys in an order that does not depend on the order in a dictionary or a frame."""
    return sorted(keys, key=str)


def _row(x: Mapping[Hashable, Any], keys: list[Hashable]) -> Float64Array:
    """Return the values of a sample in the order of the keys."""
    if len(x) != len(keys) or not all(map(x.__contains__, keys)):
        _refuse(x, keys)
    try:
        values = to_floats([x[key] for key in keys], lambda i, _: f"the value of {keys[i]!r}")
    except InputError:
        raise
    except (TypeError, ValueError):
        raise ValueError(f"every value of a sample must be a number; got {shortened(repr(x))}") from None
    return values.astype(np.float64, copy=False)


def _rows(frame: Any, keys: list[Hashable]) -> Float64Array:
    """Return the rows of a frame with the columns in the order of the keys."""
    columns = list(frame.columns)
    if set(columns) != set(keys):
        _refuse(columns, keys)
    values: Float64Array = frames.to_numpy(frame)
    check_digits(values, lambda i: frame[columns[i]].to_list(), lambda row, i: f"row {row}, column {columns[i]!r}")
    return np.ascontiguousarray(values[:, [columns.index(key) for key in keys]])


def _refuse(found: Mapping[Hashable, Any] | Sequence[Hashable], keys: list[Hashable]) -> NoReturn:
    """Raise ValueError that says which keys are missing and which are new."""
    missing, new = [key for key in keys if key not in found], [key for key in found if key not in keys]
    wrong = [f"{what}: {listed(some)}" for what, some in (("missing keys", missing), ("new keys", new)) if some]
    raise ValueError(f"{'; '.join(wrong)}. Every sample must have the keys of the first one: {listed(keys)}")
