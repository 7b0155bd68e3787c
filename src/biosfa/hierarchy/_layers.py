"""What a hierarchy is made of: receptive fields and how their modules learn. All of it is data."""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from biosfa.estimators._persistence import decode, encode
from biosfa.estimators._schedules import SCHEDULES, LearningRate
from biosfa.estimators._validation import check_count
from biosfa.typing import FloatArray

Pair = tuple[int, int]


@dataclass(frozen=True)
class Learner:
    """How a step of a module learns online: passes over the frames, and parameters of :class:`biosfa.BioSFA`."""

    passes: int = 1
    rule: str = "bio-sfa"
    learning_rate: LearningRate = "auto"
    tau: str | float = "auto"
    step: str = "auto"
    preconditioner: str | None = "whiten"
    whitening_rank: str | int = "auto"

    def __post_init__(self) -> None:
        check_count("passes", self.passes)
        if callable(self.learning_rate) and not isinstance(self.learning_rate, tuple(SCHEDULES.values())):
            raise ValueError(
                'learning_rate must be something a file can hold: "auto", a number, InverseTime or Annealed; got '
                f"{self.learning_rate!r}"
            )

    def parameters(self) -> dict[str, Any]:
        """Those of BioSFA."""
        return {name: value for name, value in vars(self).items() if name != "passes"}


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
    linear, quadratic : Learner
        How the two steps learn with ``solver="bio"``.

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
    linear: Learner = Learner()
    quadratic: Learner = Learner()

    def __post_init__(self) -> None:
        for name in ("field", "stride"):
            pair = getattr(self, name)
            if pair is None:
                continue
            if not (isinstance(pair, tuple | list) and len(pair) == 2):
                raise ValueError(f"{name} must be two whole numbers, rows and columns; got {pair!r}")
            object.__setattr__(self, name, (check_count(name, pair[0]), check_count(name, pair[1])))
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
        learners = {
            name: {key: encode(value) for key, value in vars(getattr(self, name)).items()}
            for name in ("linear", "quadratic")
        }
        return {**asdict(self), **learners}

    @classmethod
    def from_description(cls, path: str, description: dict[str, Any]) -> "Layer":
        """The layer from JSON data."""
        learners = {name: Learner(**decode(path, description[name], {}, ())) for name in ("linear", "quadratic")}
        return cls(**{**description, **learners})
