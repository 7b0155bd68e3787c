"""Hierarchical slow feature analysis on image sequences."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from biosfa.episodes import episode_starts
from biosfa.estimators import encode, load_as, load_model
from biosfa.exceptions import ModelFileError
from biosfa.hierarchy._layers import STEPS, Layer, Learner
from biosfa.hierarchy._modules import Expanded, Fields, FrameSource, Maps, Pixels, Step, chunks, held
from biosfa.hierarchy._training import Trained, train_exact, train_online, train_random
from biosfa.io.checkpoint import Checkpoint
from biosfa.io.model_file import Model, write_model
from biosfa.kernels.expansion import quadratic_size
from biosfa.registry import ONLINE_SOLVERS
from biosfa.typing import Advance, Arrays, FloatArray
from biosfa.validation import check_choice, check_count, check_positive

# The learner of a step if its layer gives none.
DEFAULTS = {name: Learner(choice.load()()) for name, choice in ONLINE_SOLVERS.items()}
FIRST_FRAMES = 500  # frames from which the mean and the variance of the pixels are computed


class HierarchicalSFA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Layers of slow features for image sequences, on receptive fields that grow from layer to layer.

    Each layer is an array of modules with shared weights (Franzius et al. 2007). A module has two steps. The linear
    step finds slow features of its receptive field. The quadratic step expands these to all monomials of degree one and
    two, and finds slow features of the result. Layers are trained one after the other, from the bottom to the top.

    Parameters
    ----------
    layers : sequence of Layer
        The layers from the bottom to the top.
    solver : {"online", "local", "bio", "exact", "random"}, default="online"
        How the steps learn. "online", "local" and "bio" learn online with the :class:`Learner` of each step; every
        module is a parallel stream. If a layer has no learner, they use :class:`biosfa.OnlineSFA`,
        :class:`biosfa.LocalSFA` and :class:`biosfa.BioSFA`. "exact" is exact SFA. "random" gives random features, as a
        control.
    clip : float, default=5.0
        Features of every step are clipped to the range from −clip to clip. They have about unit variance.
    memory_budget : float, default=1e9
        Largest size, in bytes, of intermediate results to keep in memory: the output of a layer, and the samples from
        which a step learns in several passes. Larger ones are computed for each pass, chunk by chunk.
    random_state : int, default=0
        Seed of the initial weights.

    Attributes
    ----------
    steps_ : list of (Step, Step)
        Mean and components of the linear and the quadratic step of each layer.
    lengths_ : list of int
        Number of frames of each episode that the hierarchy was trained on.
    delta_values_ : list of (array, array)
        Slowness δ of the features of both steps of each layer. NaN for the solver "random".
    history_ : list of (Trained, Trained)
        Both steps of each layer, with their slowness during training.
    shape_in_ : tuple of int
        Shape of a frame.
    pixel_mean_, pixel_scale_ : float
        Mean of the pixels, and the factor that scales them to unit variance, from the first 500 frames.

    See Also
    --------
    Layer : Geometry and learners of one layer.
    biosfa.CuBICA : Turns the features of the top layer into place cells.

    Examples
    --------
    >>> import numpy as np
    >>> from biosfa.hierarchy import HierarchicalSFA, Layer
    >>> frames = np.random.default_rng(0).integers(0, 255, (200, 8, 12)).cumsum(axis=0) % 255
    >>> layers = [Layer((4, 4), n_components=3, n_reduced=4), Layer((3, 5), n_components=2, n_reduced=4)]
    >>> HierarchicalSFA(layers, solver="exact").fit_transform(frames).shape
    (200, 2)

    Networks with local rules, which see the frames five times in each step:

    >>> from biosfa import LocalSFA
    >>> from biosfa.hierarchy import Learner
    >>> five = {"linear": Learner(LocalSFA(), passes=5), "quadratic": Learner(LocalSFA(), passes=5)}
    >>> layers = [
    ...     Layer((4, 4), n_components=3, n_reduced=4, **five),
    ...     Layer((3, 5), n_components=2, n_reduced=4, **five),
    ... ]
    >>> HierarchicalSFA(layers, solver="local").fit_transform(frames).shape
    (200, 2)
    """

    lengths_: list[int]
    history_: list[tuple[Trained, Trained]]

    _may_be_nan: ClassVar[tuple[str, ...]] = ("delta_values",)  # not known for random features

    def __init__(
        self,
        layers: Sequence[Layer],
        *,
        solver: str = "online",
        clip: float = 5.0,
        memory_budget: float = 1e9,
        random_state: int = 0,
    ) -> None:
        self.layers = layers
        self.solver = solver
        self.clip = clip
        self.memory_budget = memory_budget
        self.random_state = random_state

    def fit(
        self,
        X: FrameSource | ArrayLike,
        y: object = None,
        *,
        lengths: ArrayLike | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        progress: Advance | None = None,
    ) -> Self:
        """Train one layer after the other.

        Parameters
        ----------
        X : array of shape (n_frames, rows, columns) or (n_frames, rows, columns, channels)
            Frames in order of time: an array, a memory map, or any object that has a ``shape`` and returns frames for a
            slice, such as :class:`biosfa.datasets.rat.RatStream`.
        y : ignored
        lengths : array-like of int, optional
            Number of frames of each episode in X. No difference is taken across their boundaries. By default X is one
            episode.
        checkpoint : path, optional
            File that is written after each layer. If it exists, and belongs to the same hierarchy and frames, training
            resumes after the layers that it holds.
        progress : callable, optional
            Function that is called with the number of frames that a step has just learned. :meth:`frames_to_learn`
            returns the total.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If the fields of a layer do not tile the layer below.
        ModelFileError
            If the checkpoint belongs to another hierarchy or other frames, or is damaged.
        """
        frames = self._frames(X)
        self._check_parameters()
        self._shapes(frames.shape)  # raises errors before the work begins
        n = frames.shape[0]
        if n < 2:
            raise ValueError("X has one frame, but slow features need at least two")
        episode_starts(n, lengths, open_episode=False)
        episodes = [n] if lengths is None else [int(length) for length in np.asarray(lengths)]
        first = Pixels(frames, 0.0, 1.0)[slice(0, FIRST_FRAMES)].astype(np.float64)
        if first.std() == 0.0:
            raise ValueError(f"the first {len(first)} frames are all of one colour: give frames that vary")
        self.shape_in_ = tuple(int(size) for size in frames.shape[1:])
        self.pixel_mean_, self.pixel_scale_ = float(first.mean()), float(1.0 / first.std())
        self.lengths_ = episodes
        self.history_ = []
        kept = None if checkpoint is None else Checkpoint(Path(checkpoint), self._owner())
        if kept is not None:
            self._resume(kept)
        report = progress or (lambda frames: None)
        maps: FrameSource = Pixels(frames, self.pixel_mean_, self.pixel_scale_)
        for level, layer in enumerate(self.layers):
            if level < len(self.history_):
                report(self._passes(layer) * n)
            else:
                self._train(level, layer, maps, episodes, report)
                if kept is not None:
                    kept.write({"layers": len(self.history_)}, model=self._to_model())
            if level < len(self.layers) - 1:
                maps = held(Maps(layer, *self.steps_[level], maps), self.memory_budget)
        return self

    def transform(self, X: FrameSource | ArrayLike) -> FloatArray:
        """Return the features of the top layer, clipped to ± ``clip``.

        Parameters
        ----------
        X : array of shape (n_frames, rows, columns) or (n_frames, rows, columns, channels)
            Frames of the shape that the hierarchy was trained on.

        Returns
        -------
        float32 array of shape (n_frames, modules × n_components)
        """
        check_is_fitted(self, "history_")
        frames = self._frames(X)
        if frames.shape[1:] != self.shape_in_:
            raise ValueError(
                f"frames have the shape {frames.shape[1:]}, but the hierarchy was trained on {self.shape_in_}"
            )
        maps: FrameSource = Pixels(frames, self.pixel_mean_, self.pixel_scale_)
        for layer, steps in trained_layers(self):
            maps = Maps(layer, *steps, maps)
        features = np.empty((frames.shape[0], int(np.prod(maps.shape[1:]))), np.float32)
        for chunk in chunks(maps):
            features[chunk] = maps[chunk].reshape(-1, features.shape[1])
        return features

    def frames_to_learn(self, n_frames: int) -> int:
        """Return the number of frames that ``fit`` reports to ``progress``, summed over all passes and steps."""
        return sum(self._passes(layer) for layer in self.layers) * n_frames

    @property
    def steps_(self) -> list[tuple[Step, Step]]:
        """Mean and components of the linear and the quadratic step of each layer."""
        return [(linear.step, quadratic.step) for linear, quadratic in self.history_]

    @property
    def delta_values_(self) -> list[tuple[Any, Any]]:
        """Slowness δ of the features of both steps of each layer."""
        return [(linear.delta_values, quadratic.delta_values) for linear, quadratic in self.history_]

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the trained layers to one file, atomically."""
        check_is_fitted(self, "history_")
        write_model(path, self._to_model())

    def _to_model(self) -> Model:
        settings = {
            "parameters": {
                name: encode(value) for name, value in self.get_params(deep=False).items() if name != "layers"
            },
            "layers": [layer.described() for layer in self.layers],
            "shape_in": list(self.shape_in_),
            "lengths": self.lengths_,
            "pixels": [self.pixel_mean_, self.pixel_scale_],
        }
        arrays: Arrays = {}
        for level, steps in enumerate(self.history_):
            for name, trained in zip(STEPS, steps, strict=True):
                arrays |= {f"layer{level}.{name}.{key}": array for key, array in trained.arrays().items()}
        return Model(type(self).__name__, settings, arrays)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Return the hierarchy that :meth:`save` wrote."""
        return load_as(cls, path)

    @classmethod
    def _from_model(cls, path: str, model: Model, parameters: dict[str, Any]) -> Self:
        if parameters:
            raise TypeError(f"{path} holds {model.kind}: its parameters cannot be replaced while loading")
        settings = model.settings
        layers = [Layer.from_description(path, layer) for layer in settings["layers"]]
        hierarchy = cls(layers, **settings["parameters"])
        hierarchy._check_parameters()
        hierarchy.shape_in_ = tuple(check_count("shape_in", size) for size in settings["shape_in"])
        hierarchy.lengths_ = [check_count("lengths", length) for length in settings["lengths"]]
        hierarchy.pixel_mean_, hierarchy.pixel_scale_ = (float(number) for number in settings["pixels"])
        if not np.isfinite([hierarchy.pixel_mean_, hierarchy.pixel_scale_]).all():
            raise ValueError("the mean or the scale of its pixels is not finite")
        hierarchy.history_ = hierarchy._trained(model.arrays)
        return hierarchy

    def _trained(self, arrays: Arrays) -> list[tuple[Trained, Trained]]:
        """Return the trained layers that the arrays of a file hold. A checkpoint need not have all layers."""
        if len(self.shape_in_) not in (2, 3):
            raise ValueError(f"{self.shape_in_} is not the shape of a frame")
        self._shapes((1, *self.shape_in_))  # fields must tile
        channels = self.shape_in_[2] if len(self.shape_in_) == 3 else 1
        found: list[tuple[Trained, Trained]] = []
        for level, layer in enumerate(self.layers):
            if f"layer{level}.linear.mean" not in arrays:
                break
            inputs = layer.field[0] * layer.field[1] * channels, quadratic_size(layer.n_reduced)
            outputs = layer.n_reduced, layer.n_components
            linear, quadratic = (
                Trained.from_arrays(arrays, f"layer{level}.{name}.", (k, m), self.clip)
                for name, k, m in zip(STEPS, outputs, inputs, strict=True)
            )
            found.append((linear, quadratic))
            channels = layer.n_components
        n_expected = sum(len(trained.arrays()) for steps in found for trained in steps)
        if len(arrays) != n_expected:
            raise ValueError(f"it has {len(arrays)} arrays, but its layers have {n_expected}")
        return found

    @property
    def _n_features_out(self) -> int:
        return int(np.prod(self._shapes((1, *self.shape_in_))[-1]))

    def _check_parameters(self) -> None:
        check_choice("solver", self.solver, (*DEFAULTS, "exact", "random"))
        check_positive("clip", self.clip)
        check_positive("memory_budget", self.memory_budget, zero=True)
        if not self.layers or not all(isinstance(layer, Layer) for layer in self.layers):
            raise ValueError("layers must be a sequence of Layer, from the bottom to the top")

    def _frames(self, X: FrameSource | ArrayLike) -> FrameSource:
        frames: FrameSource = X if hasattr(X, "shape") and hasattr(X, "__getitem__") else np.asarray(X)  # type: ignore[assignment]
        if len(frames.shape) not in (3, 4) or 0 in frames.shape:
            raise ValueError(
                "frames must have the shape (n_frames, rows, columns) or (n_frames, rows, columns, channels); got "
                f"{tuple(frames.shape)}"
            )
        return frames

    def _shapes(self, shape: tuple[int, ...]) -> list[tuple[int, int, int]]:
        """Return the shapes of the maps of all layers; raise ValueError if the fields of a layer do not tile."""
        rows, columns = shape[1], shape[2]
        shapes = []
        for level, layer in enumerate(self.layers):
            try:
                rows, columns = layer.tiles((rows, columns))
            except ValueError as error:
                raise ValueError(f"layer {level + 1}: {error}") from None
            shapes.append((rows, columns, layer.n_components))
        return shapes

    def _passes(self, layer: Layer) -> int:
        if self.solver in DEFAULTS:
            return sum(self._learner(layer, name).passes for name in STEPS)
        return 2 if self.solver == "exact" else 0

    def _learner(self, layer: Layer, name: str) -> Learner:
        """Return the learner of a step for online training."""
        learner: Learner | None = getattr(layer, name)
        return DEFAULTS[self.solver] if learner is None else learner

    def _train(self, level: int, layer: Layer, maps: FrameSource, lengths: list[int], report: Advance) -> None:
        def train(source: FrameSource, k: int, name: str) -> Trained:
            if self.solver == "exact":
                return train_exact(source, k, lengths, clip=self.clip, report=report)
            seed = int(np.random.default_rng([self.random_state, level, STEPS.index(name)]).integers(2**31))
            if self.solver == "random":
                return train_random(source, k, clip=self.clip, random_state=seed)
            learner = self._learner(layer, name)
            if learner.passes > 1:
                source = held(source, self.memory_budget)
            return train_online(source, k, learner, lengths, clip=self.clip, random_state=seed, report=report)

        fields = Fields(layer, maps)
        linear = train(fields, layer.n_reduced, "linear")
        quadratic = train(Expanded(linear.step, fields), layer.n_components, "quadratic")
        self.history_.append((linear, quadratic))

    def _owner(self) -> dict[str, Any]:
        """Return JSON data that identifies this training in a checkpoint: all that its result depends on."""
        return {
            "layers": [layer.described() for layer in self.layers],
            **{name: encode(getattr(self, name)) for name in ("solver", "clip", "random_state")},
            "frames": [self.shape_in_, self.lengths_, self.pixel_mean_, self.pixel_scale_],
        }

    def _resume(self, checkpoint: Checkpoint) -> None:
        """Take over the layers of a checkpoint, if the file exists."""
        if not checkpoint.path.exists():
            return
        kept = checkpoint.read()
        if kept is None or kept.model is None:
            raise ModelFileError(
                f"{checkpoint.path} belongs to another hierarchy, or to other frames: choose another file"
            )
        loaded = load_model(str(checkpoint.path), kept.model)
        if not isinstance(loaded, HierarchicalSFA):
            raise ModelFileError(f"{checkpoint.path} holds {kept.model.kind}, not {type(self).__name__}")
        self.history_ = loaded.history_


def trained_layers(network: HierarchicalSFA) -> list[tuple[Layer, tuple[Step, Step]]]:
    """Return the layers of a hierarchy with their steps.

    Raises
    ------
    ValueError
        If not all of them are trained.
    """
    if len(network.history_) < len(network.layers):
        raise ValueError(
            f"only {len(network.history_)} of {len(network.layers)} layers are trained: call fit with the same "
            "checkpoint"
        )
    return list(zip(network.layers, network.steps_, strict=True))
