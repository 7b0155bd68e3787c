"""What a hierarchy is made of: receptive fields and how their modules learn. All of it is data."""

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

# Estimators that a step can learn with, and parameters that are the hierarchy's business.
LEARNERS: dict[str, type[NetworkEstimator]] = {choice.name: choice.load() for choice in ONLINE_SOLVERS.values()}
FIXED: dict[str, Any] = {"pca": None, "expansion": None, "n_delays": 1, "n_epochs": 1, "missing": "raise"}


@dataclass(frozen=True, eq=False)
class Learner:
    """How a step of a module learns online: with a copy of an estimator, in some passes over the frames.

    Parameters
    ----------
    estimator : OnlineSFA or BioSFA
        Not fitted. The hierarchy sets its ``n_components``, ``dtype`` and ``random_state``; it prepares the input, so
        that ``pca``, ``expansion``, ``n_delays``, ``n_epochs`` and ``missing`` must be as they are by default.
    passes : int, default=1
        Passes over the frames.

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
            raise ValueError(f"a step learns with {' or '.join(LEARNERS)}; got {self.estimator!r}")
        for name, value in FIXED.items():
            if getattr(self.estimator, name) != value:
                raise ValueError(
                    f"{name}={getattr(self.estimator, name)!r} is not for a step of a hierarchy, which prepares its "
                    f"input and makes its passes itself: leave {name}={value!r}"
                )
        learning_rate = self.estimator.learning_rate
        if callable(learning_rate) and not isinstance(learning_rate, tuple(SCHEDULES.values())):
            raise ValueError(
                'learning_rate must be something a file can hold: "auto", a number, InverseTime or Annealed; got '
                f"{learning_rate!r}"
            )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Learner) and self.described() == other.described()

    def __hash__(self) -> int:
        return hash(json.dumps(self.described(), sort_keys=True))

    def build(self, n_components: int, random_state: int) -> NetworkEstimator:
        """The estimator of a step, which has learned nothing yet."""
        copy: NetworkEstimator = clone(self.estimator)
        return copy.set_params(n_components=n_components, dtype=np.float32, random_state=random_state)

    def described(self) -> dict[str, Any]:
        """The learner as JSON data."""
        parameters = {name: encode(value) for name, value in self.estimator.get_params(deep=False).items()}
        return {"passes": self.passes, "estimator": type(self.estimator).__name__, "parameters": parameters}

    @classmethod
    def from_description(cls, path: str, description: dict[str, Any]) -> "Learner":
        """The learner from JSON data."""
        kind = LEARNERS[description["estimator"]]
        return cls(kind(**decode(path, description["parameters"], {}, ())), description["passes"])


@dataclass(frozen=True)
class Layer:
    """An array of modules, each with a receptive field of its own, that share their weights.

    A module reduces its field to ``n_reduced`` slow features, expands them to all monomials of degree one and two, and
    finds ``n_components`` slow features of these.

    Parameters
    ----------
    field : (int, int)
        Rows and columns of the layer below (pixels, for the first) that a module sees.
    stride : (int, int), optional
        From one field to the next; half the field by default.
    n_components, n_reduced : int, default=32
        Features of the module, and of its linear step.
    linear, quadratic : Learner, optional
        How the two steps learn with ``solver="online"`` and ``solver="bio"``. Without one, the solver decides.

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
        """The stride, given or by default."""
        return self.stride or (max(1, self.field[0] // 2), max(1, self.field[1] // 2))

    def tiles(self, shape: Pair) -> Pair:
        """Rows and columns of modules on an input of this shape.

        Raises
        ------
        ValueError
            If the fields do not cover it exactly; the message names sizes that would do.
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
        """Receptive fields of maps of shape (n, rows, columns, channels), of shape (n, modules, inputs of a module)."""
        n, _, _, channels = maps.shape
        windows = sliding_window_view(maps, self.field, axis=(1, 2))[:, :: self.strides[0], :: self.strides[1]]
        # (n, rows, columns, channels, field rows, field columns): channels vary fastest, as in the maps
        gathered = np.moveaxis(windows, 3, 5).reshape(n, -1, self.field[0] * self.field[1] * channels)
        return np.ascontiguousarray(gathered)

    def described(self) -> dict[str, Any]:
        """The layer as JSON data."""
        content: dict[str, Any] = {field.name: getattr(self, field.name) for field in fields(self)}
        for name in STEPS:
            learner = getattr(self, name)
            content[name] = None if learner is None else learner.described()
        return content

    @classmethod
    def from_description(cls, path: str, description: dict[str, Any]) -> "Layer":
        """The layer from JSON data."""
        learners = {
            name: None if description[name] is None else Learner.from_description(path, description[name])
            for name in STEPS
        }
        return cls(**{**description, **learners})
