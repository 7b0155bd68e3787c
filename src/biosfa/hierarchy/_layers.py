"""The description of a hierarchy as data: receptive fields, and learners of the modules."""

import json
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from sklearn.base import clone

from biosfa.estimators import NetworkEstimator, decode, encode
from biosfa.learning import SCHEDULES
from biosfa.registry import ONLINE_SOLVERS
from biosfa.typing import FloatArray
from biosfa.validation import check_count

Pair = tuple[int, int]

STEPS = ("linear", "quadratic")  # of a module

# Estimators that a step can learn with, and parameters that must have these values in a hierarchy.
LEARNERS: dict[str, type[NetworkEstimator]] = {choice.name: choice.load() for choice in ONLINE_SOLVERS.values()}
FIXED: dict[str, Any] = {"pca": None, "expansion": None, "n_delays": 1, "n_epochs": 1, "missing": "raise"}


@dataclass(frozen=True, eq=False)
class Learner:
    """The online learner of one step of a :class:`Layer`: an estimator, and its number of passes over the frames.

    Parameters
    ----------
    estimator : OnlineSFA, LocalSFA or BioSFA
        An estimator that is not fitted; the step learns with a copy of it. The hierarchy sets ``n_components``,
        ``dtype`` and ``random_state``. The parameters ``pca``, ``expansion``, ``n_delays``, ``n_epochs`` and
        ``missing`` must have their defaults, because the hierarchy prepares the input itself.
    passes : int, default=1
        Number of passes over the frames.

    Examples
    --------
    >>> from biosfa import BioSFA
    >>> from biosfa.hierarchy import Learner
    >>> Learner(BioSFA(learning_rate=1e-3), passes=2).passes
    2
    """

    estimator: NetworkEstimator
    passes: int = 1

    def __post_init__(self) -> None:
        check_count("passes", self.passes)
        if type(self.estimator) not in LEARNERS.values():
            raise ValueError(f"a step of a hierarchy learns with one of {', '.join(LEARNERS)}; got {self.estimator!r}")
        for name, value in FIXED.items():
            if getattr(self.estimator, name) != value:
                raise ValueError(
                    f"{name}={getattr(self.estimator, name)!r} cannot be used in a hierarchy, which prepares the input "
                    f"and makes the passes itself: leave {name}={value!r}"
                )
        learning_rate = self.estimator.learning_rate
        if callable(learning_rate) and not isinstance(learning_rate, tuple(SCHEDULES.values())):
            raise ValueError(
                'learning_rate must be "auto", a number, InverseTime or Annealed, which can be saved in a file; got '
                f"{learning_rate!r}"
            )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Learner) and self.described() == other.described()

    def __hash__(self) -> int:
        return hash(json.dumps(self.described(), sort_keys=True))

    def build(self, n_components: int, random_state: int) -> NetworkEstimator:
        """Return a new estimator for a step with ``n_components`` features."""
        copy: NetworkEstimator = clone(self.estimator)
        return copy.set_params(n_components=n_components, dtype=np.float32, random_state=random_state)

    def described(self) -> dict[str, Any]:
        """Return the learner as JSON data."""
        parameters = {name: encode(value) for name, value in self.estimator.get_params(deep=False).items()}
        return {"passes": self.passes, "estimator": type(self.estimator).__name__, "parameters": parameters}

    @classmethod
    def from_description(cls, path: str, description: dict[str, Any]) -> "Learner":
        """Return the learner from JSON data of the file ``path``."""
        kind = LEARNERS[description["estimator"]]
        return cls(kind(**decode(path, description["parameters"], {}, ())), description["passes"])


@dataclass(frozen=True)
class Layer:
    """One layer of a hierarchy: an array of modules that share their weights, each with its own receptive field.

    A module has two steps. The linear step reduces the field to ``n_reduced`` slow features. The quadratic step expands
    these to all monomials of degree one and two, and finds ``n_components`` slow features of the result.

    Parameters
    ----------
    field : (int, int)
        Size of the receptive field of a module: rows and columns of the layer below, or of pixels for the first layer.
    stride : (int, int), optional
        Distance from one field to the next, in rows and columns. By default half the field.
    n_components : int, default=32
        Number of features of a module.
    n_reduced : int, default=32
        Number of features of the linear step.
    linear : Learner, optional
        Learner of the linear step, for the solvers that learn online. By default that of the solver.
    quadratic : Learner, optional
        Learner of the quadratic step. By default that of the solver.

    Attributes
    ----------
    strides : (int, int)
        Distance from one field to the next: ``stride``, or half the field if ``stride`` is None.

    Examples
    --------
    >>> from biosfa.hierarchy import Layer
    >>> Layer(field=(8, 10)).tiles((40, 320))
    (9, 63)
    """

    field: Pair
    stride: Pair | None = None
    n_components: int = 32
    n_reduced: int = 32
    linear: Learner | None = None
    quadratic: Learner | None = None

    def __post_init__(self) -> None:
        for name in ("field", "stride"):
            pair = getattr(self, name)
            if pair is None:
                continue
            if not (isinstance(pair, tuple | list) and len(pair) == 2):
                raise ValueError(f"{name} must be two whole numbers, rows and columns; got {pair!r}")
            object.__setattr__(self, name, (check_count(name, pair[0]), check_count(name, pair[1])))
        for name in STEPS:
            learner = getattr(self, name)
            if not (learner is None or isinstance(learner, Learner)):
                raise ValueError(f"{name} must be a Learner, such as Learner(OnlineSFA()); got {learner!r}")
        for name in ("n_components", "n_reduced"):
            object.__setattr__(self, name, check_count(name, getattr(self, name)))

    @property
    def strides(self) -> Pair:
        """Distance from one field to the next: ``stride``, or half the field if ``stride`` is None."""
        return self.stride or (max(1, self.field[0] // 2), max(1, self.field[1] // 2))

    def tiles(self, shape: Pair) -> Pair:
        """Return the number of rows and columns of modules on an input of this shape.

        Raises
        ------
        ValueError
            If the fields do not cover the input exactly. The message names sizes that they would cover.
        """
        counts = []
        for name, size, field, stride in zip(("rows", "columns"), shape, self.field, self.strides, strict=True):
            if size < field or (size - field) % stride:
                below = field + max(0, (size - field) // stride) * stride
                raise ValueError(
                    f"fields of {field} {name} every {stride} do not tile {size} {name}: they would tile {below} or "
                    f"{below + stride}"
                )
            counts.append((size - field) // stride + 1)
        return counts[0], counts[1]

    def patches(self, maps: FloatArray) -> FloatArray:
        """Return the receptive fields of maps, an array of shape (n, modules, inputs per module).

        The maps have the shape (n, rows, columns, channels).
        """
        n, _, _, channels = maps.shape
        windows = sliding_window_view(maps, self.field, axis=(1, 2))[:, :: self.strides[0], :: self.strides[1]]
        # (n, rows, columns, channels, field rows, field columns): channels vary fastest, as in the maps
        gathered = np.moveaxis(windows, 3, 5).reshape(n, -1, self.field[0] * self.field[1] * channels)
        return np.ascontiguousarray(gathered)

    def described(self) -> dict[str, Any]:
        """Return the layer as JSON data."""
        content: dict[str, Any] = {field.name: getattr(self, field.name) for field in fields(self)}
        for name in STEPS:
            learner = getattr(self, name)
            content[name] = None if learner is None else learner.described()
        return content

    @classmethod
    def from_description(cls, path: str, description: dict[str, Any]) -> "Layer":
        """Return the layer from JSON data of the file ``path``."""
        learners = {
            name: None if description[name] is None else Learner.from_description(path, description[name])
            for name in STEPS
        }
        return cls(**{**description, **learners})
