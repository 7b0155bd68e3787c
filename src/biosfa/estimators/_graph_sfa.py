"""Exact slow feature analysis on a graph, or with labels."""

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from biosfa.episodes import rows_of
from biosfa.estimators._exact import ExactEstimator, check_no_stream
from biosfa.estimators._scoring import varies
from biosfa.floats import unmasked
from biosfa.graphs import Graph, classes_of, clustered_graph, serial_graph
from biosfa.io.model_file import Model
from biosfa.typing import Arrays, BoolArray, FloatArray
from biosfa.validation import check_choice, check_count, check_samples, unchanged_on_error

BUILDERS = ("clustered", "serial")
GRAPH = "graph."  # names of the arrays of a graph in model files begin with this


class GraphSFA(ExactEstimator):
    """Exact slow feature analysis with labels, or on any graph: supervised reduction of the columns.

    The features are as similar as possible for samples that are connected, at unit variance (Escalante-B. & Wiskott,
    JMLR 14, 2013). With classes as labels these are the features of Fisher's linear discriminant analysis. With numbers
    as labels, the slowest features follow the label: use them for regression. The order of the samples does not matter.

    Samples are first reduced (``pca``) and expanded (``expansion``). The result is called the expanded signal; m is its
    number of columns.

    Parameters
    ----------
    n_components : int, optional
        Number of features. By default the rank of the expanded signal. C classes have C − 1 useful features.
    graph : {"clustered", "serial"} or Graph, default="clustered"
        "clustered" connects all samples of a class. "serial" sorts the samples by label, divides them into groups and
        connects each group with the next. A :class:`biosfa.graphs.Graph` connects the rows of X.
    n_groups : int, optional
        Number of groups of the serial graph. By default √n for n samples. Samples with the same label stay in one
        group.
    pca : int, optional
        Reduce the samples to this number of principal components, each of unit variance.
    expansion : None, "quadratic" or transformer, default=None
        Nonlinear expansion of each sample. A transformer that depends on data should be fitted already; otherwise it is
        fitted to X.
    ridge : float, default=0.0
        Variance of white noise, as a share of the mean variance. The eigenproblem is solved as if this noise had been
        added to the input. Use it if there are few samples per column.

    Attributes
    ----------
    components_ : array of shape (n_components, m)
        Directions in the expanded signal, those of the most similar features first. In each direction, the entry of
        largest magnitude is positive.
    delta_values_ : array of shape (n_components,)
        Weighted mean of the squared differences of each feature over the pairs of the graph, divided by its variance.
    patterns_ : array of shape (n_components, n_features)
        Covariance of each feature with each input column: what the feature looks like in the columns.
    mean_ : array of shape (m,)
        Mean of the expanded signal.
    rank_ : int
        Numerical rank of the expanded signal. If it is below m, the pseudo-inverse is used.
    redundant_features_ : array of int
        Columns of the expanded signal that are constant, or linear combinations of the other columns.
    n_samples_seen_ : int
        Number of samples.
    n_features_in_ : int
        Number of input columns.

    See Also
    --------
    SFA : The same for samples in order of time. Its method ``fit_pairs`` takes pairs and graphs, too.

    Examples
    --------
    >>> from biosfa import GraphSFA
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.model_selection import cross_val_score
    >>> from sklearn.pipeline import make_pipeline
    >>> X, y = load_iris(return_X_y=True)
    >>> model = make_pipeline(GraphSFA(n_components=2), LogisticRegression())
    >>> float(cross_val_score(model, X, y).mean().round(2))
    0.96
    """

    n_delays = 1
    missing = "raise"
    _structural = ("n_components", "pca", "expansion")

    def __init__(
        self,
        n_components: int | None = None,
        *,
        graph: str | Graph = "clustered",
        n_groups: int | None = None,
        pca: int | None = None,
        expansion: Any = None,
        ridge: float = 0.0,
    ) -> None:
        self.n_components = n_components
        self.graph = graph
        self.n_groups = n_groups
        self.pca = pca
        self.expansion = expansion
        self.ridge = ridge

    def fit(self, X: ArrayLike, y: ArrayLike | None = None) -> Self:  # type: ignore[override]
        """Discard what was learned before, then learn from X.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples in any order.
        y : array-like of shape (n_samples,), optional
            Labels: classes for the clustered graph, numbers for the serial graph. Not used if ``graph`` is a Graph.

        Returns
        -------
        self

        Warns
        -----
        RankDeficiencyWarning
            If columns are constant or linear combinations of others.
        ConditioningWarning
            If columns are so close to linear dependence that the features lose most of their digits.

        Raises
        ------
        ValueError
            If there are fewer independent pairs of samples than dimensions in which the (expanded) samples vary, and
            ``ridge`` is 0. Some features would then be the same in all pairs, whatever the samples are.
        """
        with unchanged_on_error(self):
            self._check_parameters()
            check_no_stream(X, "give an array")
            samples = check_samples(self, rows_of(X, ordered=False).samples, reset=True, min_samples=2)
            graph = self._graph_of(samples, y)
            self._fit_graph(samples, graph, stacklevel=3)
        return self

    def fit_transform(self, X: ArrayLike, y: ArrayLike | None = None) -> FloatArray:  # type: ignore[override]
        """Fit to X and y, and return the features of X."""
        return self.fit(X, y).transform(X)

    def score(self, X: ArrayLike, y: ArrayLike | None = None) -> float:  # type: ignore[override]
        """Return the mean of δ of the features of X on the graph of X and y times −1, so that greater is better.

        The graph is that of these samples, which may be few, as in cross-validation: classes with one sample are left
        out, and the serial graph has at most as many groups as there are samples.

        Raises
        ------
        ValueError
            If these samples have no graph, or if a feature is constant on them.
        """
        Y = np.asarray(self.transform(rows_of(X, ordered=False).samples))
        if not isinstance(self.graph, Graph):
            y = self._labels(y, len(Y))
            if self.graph == "clustered":
                _, groups, sizes = classes_of(y)
                often = sizes[groups] >= 2
                if not often.any():
                    raise ValueError("no class has two of these samples: give more samples")
                Y, y = Y[often], y[often]
        if not varies(Y).all():
            raise ValueError("the features do not vary on X, so they have no δ: give more varied samples")
        moments = self._graph_of(Y, y, few=True).moments(lambda rows: Y[rows], len(Y), Y.shape[1])
        return -float(np.mean(np.diag(moments.difference_covariance) / np.diag(moments.covariance)))

    def _graph_of(self, samples: FloatArray, y: ArrayLike | None, *, few: bool = False) -> Graph:
        """Return the graph of these samples; if they are ``few``, with fewer groups than asked for."""
        if isinstance(self.graph, Graph):
            self.graph.check(len(samples))
            return self.graph
        labels = self._labels(y, len(samples))
        if self.graph == "clustered":
            return clustered_graph(labels)
        n_groups = min(self.n_groups, len(labels)) if few and self.n_groups is not None else self.n_groups
        return serial_graph(labels, n_groups=n_groups)

    def _labels(self, y: ArrayLike | None, n_samples: int) -> np.ndarray[Any, Any]:
        """Return one label per sample."""
        if y is None:
            raise ValueError(
                f"GraphSFA(graph={self.graph!r}) requires y to be passed, but the target y is None: give one label per "
                "sample, or a Graph"
            )
        labels = unmasked(y)
        if labels.ndim == 2 and labels.shape[1] == 1:
            labels = labels[:, 0]
        if labels.shape != (n_samples,):
            raise ValueError(f"y must have one label per row of X, {n_samples}; got the shape {labels.shape}")
        return labels

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if not isinstance(self.graph, Graph):
            check_choice("graph", self.graph, BUILDERS, "or a biosfa.graphs.Graph")
        if self.n_groups is not None:
            check_count("n_groups", self.n_groups)

    def _rows_needed(self) -> int:
        return 2

    def _learn(self, X: FloatArray, starts: BoolArray) -> None:
        raise NotImplementedError("GraphSFA learns from all samples at once")

    def _arrays(self) -> Arrays:
        if not isinstance(self.graph, Graph):
            return super()._arrays()
        return {**super()._arrays(), **{f"{GRAPH}{name}": array for name, array in self.graph.arrays().items()}}

    @classmethod
    def _from_model(cls, path: str, model: Model, parameters: dict[str, Any]) -> Self:
        of_graph = {name.removeprefix(GRAPH): a for name, a in model.arrays.items() if name.startswith(GRAPH)}
        if of_graph:
            parameters = {"graph": Graph(**of_graph), **parameters}
        others = {name: array for name, array in model.arrays.items() if not name.startswith(GRAPH)}
        return super()._from_model(path, model._replace(arrays=others), parameters)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = isinstance(self.graph, str)
        return tags
