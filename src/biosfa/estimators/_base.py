"""What SFA and BioSFA share: the path of the signal, transforming, scoring, saving."""

import os
from abc import ABC, abstractmethod
from importlib import import_module
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from biosfa import metrics
from biosfa.episodes import episode_starts
from biosfa.estimators._expansion import delayed_names
from biosfa.estimators._persistence import decode, encode
from biosfa.estimators._signal import Plan, SignalPath
from biosfa.estimators._validation import check_choice, check_count, check_samples, keep_index
from biosfa.exceptions import ModelFileError
from biosfa.io.model_file import Arrays, Model, read_model, write_model
from biosfa.typing import BoolArray, Float64Array, FloatArray


class SlowFeatureEstimator(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator, ABC):
    """Base of the estimators whose features are linear in a delayed and expanded signal."""

    n_delays: int
    expansion: Any
    n_features_in_: int
    _signal: SignalPath
    _open: bool
    _begun: dict[str, Any]

    # parameters that say what is learned, and so cannot change once it has begun
    _structural: ClassVar[tuple[str, ...]] = ("n_components", "expansion", "n_delays")

    @property
    def expansion_(self) -> Any:
        """The fitted expansion, or None; what :func:`load` asks for if it is one of your own."""
        return self._signal.transformer

    def _freeze(self) -> None:
        """Remember the parameters that learning begins with."""
        self._begun = {name: getattr(self, name) for name in self._structural}

    def _check_unchanged(self) -> None:
        for name, value in self._begun.items():
            if getattr(self, name) is not value and getattr(self, name) != value:
                raise ValueError(
                    f"{name} was {value!r} when learning began and is {getattr(self, name)!r}: call fit to begin anew"
                )

    def _check_signal_parameters(self) -> None:
        check_count("n_delays", self.n_delays)
        if not hasattr(self.expansion, "transform"):
            check_choice("expansion", self.expansion, (None, "quadratic"), "or a transformer")

    def transform(self, X: ArrayLike, *, lengths: ArrayLike | None = None) -> FloatArray:
        """Slow features of X, in order of slowness.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.
        lengths : array-like of int, optional
            Rows of the episodes in X, one after the other; only matters for ``n_delays`` > 1, where the first
            ``n_delays`` − 1 rows of each episode give no feature.

        Returns
        -------
        array of shape (n_samples, n_components)
            In the float dtype of X.
        """
        check_is_fitted(self)
        samples, starts = self._samples(X, lengths)
        plan = self._signal.plan(samples, starts, continued=False)
        features: FloatArray = keep_index(self, self._project(plan, self.components_), X, plan.index)
        return features

    def _samples(self, X: ArrayLike, lengths: ArrayLike | None) -> tuple[FloatArray, BoolArray]:
        samples = check_samples(self, X, reset=False)
        return samples, episode_starts(len(samples), lengths, open_episode=False)

    def _project(self, plan: Plan, components: Float64Array) -> FloatArray:
        """(h(x) − mean) componentsᵀ in the dtype of the samples."""
        dtype = plan.rows.dtype
        mean, weights = self.mean_, components.T.astype(dtype)
        Y = np.empty((len(plan.starts), len(components)), dtype)
        for x, piece in self._signal.pieces(plan):
            Y[piece] = np.subtract(x, mean).astype(dtype, copy=False) @ weights
        return Y

    def expand(self, X: ArrayLike, *, lengths: ArrayLike | None = None) -> FloatArray:
        """The delayed and expanded signal that :attr:`components_` refer to; all of it at once, so mind its size.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.
        lengths : array-like of int, optional
            Rows of the episodes in X.

        Returns
        -------
        array of shape (n_samples, number of expanded features)
        """
        check_is_fitted(self)
        plan = self._signal.plan(*self._samples(X, lengths), continued=False)
        return np.concatenate([x for x, _ in self._signal.pieces(plan)])

    def fit_transform(self, X: ArrayLike, y: object = None, *, lengths: ArrayLike | None = None) -> FloatArray:
        """Fit to X, then transform it."""
        return self.fit(X, lengths=lengths).transform(X, lengths=lengths)

    @abstractmethod
    def fit(self, X: ArrayLike, y: object = None, *, lengths: ArrayLike | None = None) -> Self:
        """Learn from X."""

    def score(self, X: ArrayLike, y: object = None, *, lengths: ArrayLike | None = None) -> float:
        """Minus the mean slowness of the features of X: greater is better, as model selection wants it."""
        Y = self.transform(X, lengths=lengths)
        cut = None if lengths is None else [max(0, int(n) - self.n_delays + 1) for n in np.asarray(lengths)]
        return -float(np.mean(metrics.slowness(Y, lengths=None if cut is None else [n for n in cut if n > 0])))

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)

    def expanded_feature_names(self) -> np.ndarray[Any, Any]:
        """Names of the columns of the expanded signal, which :attr:`components_` refer to."""
        check_is_fitted(self)
        names = getattr(self, "feature_names_in_", np.asarray([f"x{i}" for i in range(self.n_features_in_)], object))
        delayed = delayed_names(names, self.n_delays)
        transformer = self._signal.transformer
        if transformer is None:
            return delayed
        if hasattr(transformer, "get_feature_names_out"):
            return np.asarray(transformer.get_feature_names_out(delayed))
        return np.asarray([f"h{i}" for i in range(self._signal.n_features_out)], object)

    def end_episode(self) -> Self:
        """Close the open episode: no difference is taken between its last row and the next one that comes."""
        if hasattr(self, "_signal"):
            self._open = False
            self._signal.forget()
        return self

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the whole state to one file, atomically; :meth:`load` continues bit for bit.

        Functions and transformers of your own cannot be written: :meth:`load` asks for them.
        """
        check_is_fitted(self, "_signal")
        self._check_unchanged()
        settings = {
            "parameters": {name: encode(value) for name, value in self.get_params(deep=False).items()},
            "n_features_in": self.n_features_in_,
            "feature_names_in": [str(name) for name in getattr(self, "feature_names_in_", [])],
            "open": self._open,
            "state": self._scalars(),
        }
        write_model(path, Model(type(self).__name__, settings, {"history": self._signal.history, **self._arrays()}))

    @classmethod
    def load(cls, path: str | os.PathLike[str], **parameters: Any) -> Self:
        """Read a model that :meth:`save` wrote; ``parameters`` replace those it was saved with."""
        estimator = load(path, **parameters)
        if not isinstance(estimator, cls):
            raise ModelFileError(f"{os.fspath(path)} holds a {type(estimator).__name__}, not a {cls.__name__}")
        return estimator

    @classmethod
    def _from_model(cls, path: str, model: Model, parameters: dict[str, Any]) -> Self:
        settings = model.settings
        try:
            estimator = cls(**decode(path, settings["parameters"], parameters, cls._structural))
            estimator._check_parameters()
            estimator.n_features_in_ = settings["n_features_in"]
            if settings["feature_names_in"]:
                estimator.feature_names_in_ = np.asarray(settings["feature_names_in"], dtype=object)
            arrays = dict(model.arrays)
            estimator._signal = SignalPath.restore(estimator.n_delays, estimator.expansion, estimator.n_features_in_)
            estimator._signal.history = arrays.pop("history")
            estimator._open = settings["open"]
            estimator._freeze()
            estimator._restore(settings["state"], arrays)
        except (KeyError, ValueError, TypeError) as error:
            if isinstance(error, ModelFileError) or parameters:
                raise
            raise ModelFileError(f"{path} is incomplete: {error}") from error
        return estimator

    @abstractmethod
    def _check_parameters(self) -> None:
        """Raise ValueError for a parameter that makes no sense."""

    @abstractmethod
    def _scalars(self) -> dict[str, Any]:
        """State as JSON data."""

    @abstractmethod
    def _arrays(self) -> Arrays:
        """State as arrays."""

    @abstractmethod
    def _restore(self, scalars: dict[str, Any], arrays: Arrays) -> None:
        """Take back what :meth:`_scalars` and :meth:`_arrays` gave; ``_signal`` is there already."""


def load(path: str | os.PathLike[str], **parameters: Any) -> Any:
    """Read any model that was saved by this package; no code from the file is run.

    Parameters
    ----------
    path : path
        The file.
    **parameters
        Replace the parameters it was saved with. Functions and transformers of your own must be given again.

    Raises
    ------
    ModelFileError
        If the file is damaged, not a model, or of a newer version.

    Examples
    --------
    >>> import numpy as np, biosfa, tempfile, os
    >>> X = np.random.default_rng(0).standard_normal((100, 3))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "model.safetensors")
    ...     biosfa.SFA(2).fit(X).save(path)
    ...     biosfa.load(path)
    SFA(n_components=2)
    """
    model = read_model(path)
    name = os.fspath(path)
    kind = getattr(import_module("biosfa"), model.kind, None)
    if not hasattr(kind, "_from_model"):
        raise ModelFileError(f"{name} holds a {model.kind!r}, which this version of biosfa does not know")
    return kind._from_model(name, model, parameters)  # type: ignore[union-attr]
