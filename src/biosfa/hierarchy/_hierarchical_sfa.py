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

# What a step learns with where its layer does not say.
DEFAULTS = {name: Learner(choice.load()()) for name, choice in ONLINE_SOLVERS.items()}
FIRST_FRAMES = 500  # that say how bright and how varied pixels are


class HierarchicalSFA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Layers of slow features on receptive fields that grow from layer to layer (Franzius et al. 2007).

    Each layer is an array of modules with shared weights. A module finds slow features of its receptive field, expands
    them to all monomials of degree one and two, and finds slow features of these. Layers are trained one after the
    other, from the bottom to the top.

    Parameters
    ----------
    layers : sequence of Layer
        From the bottom to the top: geometry, and how the steps learn.
    solver : {"online", "bio", "exact", "random"}, default="online"
        "online" and "bio" train online, every module a stream with a memory of its own, by the :class:`Learner` of each
        step. Where a layer gives none, "online" takes :class:`biosfa.OnlineSFA` and "bio" the paper's network,
        :class:`biosfa.BioSFA`. "exact" is exact SFA. "random" gives random features, a control.
    clip : float, default=5.0
        Features of every step, which have about unit variance, are clipped at ± this.
    memory_budget : float, default=1e9
        Bytes. The output of a layer, and the samples that a step learns from in several passes, are kept if they fit;
        otherwise they are computed anew for each pass, chunk by chunk.
    random_state : int, default=0
        For the initial weights.

    Attributes
    ----------
    steps_ : list of (Step, Step)
        Mean and components of the linear and the quadratic step of each layer.
    lengths_ : list of int
        Frames of the episodes it was trained on.
    delta_values_ : list of (array, array)
        Slowness of the features of each step, as the solver knows it.
    history_ : list of (Trained, Trained)
        Slowness of each step against frames seen.

    Examples
    --------
    >>> import numpy as np
    >>> from biosfa.hierarchy import HierarchicalSFA, Layer
    >>> frames = np.random.default_rng(0).integers(0, 255, (200, 8, 12)).cumsum(axis=0) % 255
    >>> layers = [Layer((4, 4), n_components=3, n_reduced=4), Layer((3, 5), n_components=2, n_reduced=4)]
    >>> HierarchicalSFA(layers, solver="exact").fit_transform(frames).shape
    (200, 2)
    """

    lengths_: list[int]
    history_: list[tuple[Trained, Trained]]

    _may_be_nan: ClassVar[tuple[str, ...]] = ("delta_values",)  # which a solver may not know

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
        """Train layer after layer.

        Parameters
        ----------
        X : array of shape (n_frames, rows, columns) or (n_frames, rows, columns, channels)
            Frames in order of time: an array, a memory map, or anything with a ``shape`` that gives frames for a slice,
            such as :class:`biosfa.datasets.rat.RatStream`.
        y : ignored
        lengths : array-like of int, optional
            Frames of the episodes in X, one after the other; no difference is taken across their boundaries.
        checkpoint : path, optional
            A file that is written after each layer. If it is there, and is of the same hierarchy, its layers are not
            trained again.
        progress : callable, optional
            Is told of numbers of frames as steps have learned from them; :meth:`frames_to_learn` is their total.

        Raises
        ------
        ValueError
            If fields do not tile the layer below.
        """
        frames = self._frames(X)
        self._check_parameters()
        self._shapes(frames.shape)  # errors come before the work
        n = frames.shape[0]
        if n < 2:
            raise ValueError("one frame cannot tell what is slow: give more")
        episode_starts(n, lengths, open_episode=False)
        episodes = [n] if lengths is None else [int(length) for length in np.asarray(lengths)]
        first = Pixels(frames, 0.0, 1.0)[slice(0, FIRST_FRAMES)].astype(np.float64)
        if first.std() == 0.0:
            raise ValueError(f"the first {len(first)} frames are all of one colour")
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
        """Features of the top layer, of shape (n_frames, modules × n_components), float32; clipped like all."""
        check_is_fitted(self, "history_")
        frames = self._frames(X)
        if frames.shape[1:] != self.shape_in_:
            raise ValueError(
                f"frames have the shape {frames.shape[1:]}, and the hierarchy was trained on {self.shape_in_}"
            )
        maps: FrameSource = Pixels(frames, self.pixel_mean_, self.pixel_scale_)
        if len(self.history_) < len(self.layers):
            raise ValueError(
                f"only {len(self.history_)} of {len(self.layers)} layers are trained: fit with this checkpoint"
            )
        for layer, steps in zip(self.layers, self.steps_, strict=True):
            maps = Maps(layer, *steps, maps)
        features = np.empty((frames.shape[0], int(np.prod(maps.shape[1:]))), np.float32)
        for chunk in chunks(maps):
            features[chunk] = maps[chunk].reshape(-1, features.shape[1])
        return features

    def frames_to_learn(self, n_frames: int) -> int:
        """Frames times passes over all steps: what ``progress`` is told of in total."""
        return sum(self._passes(layer) for layer in self.layers) * n_frames

    @property
    def steps_(self) -> list[tuple[Step, Step]]:
        """Mean and components of both steps of each layer."""
        return [(linear.step, quadratic.step) for linear, quadratic in self.history_]

    @property
    def delta_values_(self) -> list[tuple[Any, Any]]:
        """Slowness of the features of each step."""
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
        """Read a hierarchy that :meth:`save` wrote."""
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
            raise ValueError("its pixels have no scale")
        hierarchy.history_ = hierarchy._trained(model.arrays)
        return hierarchy

    def _trained(self, arrays: Arrays) -> list[tuple[Trained, Trained]]:
        """Layers from arrays of a file; a checkpoint does not have them all."""
        if len(self.shape_in_) not in (2, 3):
            raise ValueError(f"its frames have the shape {self.shape_in_}")
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
            raise ValueError(f"it has {len(arrays)} arrays where its layers have {n_expected}")
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
        """Shapes of the maps of all layers; raises ValueError that names a layer whose fields do not tile."""
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
        """How a step learns online."""
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
        """What decides how training goes, as far as a file can tell: JSON data."""
        return {
            "layers": [layer.described() for layer in self.layers],
            **{name: encode(getattr(self, name)) for name in ("solver", "clip", "random_state")},
            "frames": [self.shape_in_, self.lengths_, self.pixel_mean_, self.pixel_scale_],
        }

    def _resume(self, checkpoint: Checkpoint) -> None:
        """Take the layers of a checkpoint, if there is one of this hierarchy."""
        if not checkpoint.path.exists():
            return
        kept = checkpoint.read()
        if kept is None or kept.model is None:
            raise ModelFileError(f"{checkpoint.path} is of another hierarchy, or of other frames: choose another file")
        loaded = load_model(str(checkpoint.path), kept.model)
        if not isinstance(loaded, HierarchicalSFA):
            raise ModelFileError(f"{checkpoint.path} holds {kept.model.kind}, not {type(self).__name__}")
        self.history_ = loaded.history_
