"""Settings of the experiment with the rat, its room and its walks."""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from biosfa.datasets import rat_stream
from biosfa.datasets.rat import RatStream, Room, Walk
from biosfa.exceptions import InputError
from biosfa.experiments.engine import ExperimentError, changed, chosen_among, held
from biosfa.experiments.rat._networks import FAST_LOCAL, NATURAL, ONE_PASS, PAPER, TUNED, Learners
from biosfa.io import open_stream
from biosfa.typing import Float64Array
from biosfa.wording import counted

SIMULATED = "simulated"
ROTATION = Walk(speed=8.0, rotation=5.0)  # fast translation, slow rotation: heading becomes the slow feature


@dataclass(frozen=True)
class RatConfig:
    """Settings of the experiment. Use :func:`preset` to make them.

    Attributes
    ----------
    preset : str
        Name of the preset.
    runs : int
        Number of walks, with the seeds ``seed``, ``seed`` + 1, …
    seed : int
        Seed of the first walk.
    frames : int
        Number of frames per walk.
    grid_step : int
        Distance between two points of the firing maps.
    textures : str
        A folder with pictures, or "made".
    path : str
        A file with a recorded path, or "simulated".
    head : str
        Where the head points on a recorded path: where the "path" says, or as on the simulated "walk".
    networks : tuple of str
        Names of the networks to train.

    Examples
    --------
    >>> from biosfa.experiments import rat
    >>> rat.preset("quick").networks
    ('online', 'linear')
    """

    preset: str
    runs: int
    seed: int
    frames: int
    grid_step: int
    textures: str
    networks: tuple[str, ...]
    path: str = SIMULATED
    head: Literal["path", "walk"] = "path"

    @property
    def is_recorded(self) -> bool:
        """Whether the rat follows a recorded path."""
        return self.path != SIMULATED


# The solver and the learners of each network. The networks named "rotation" learn from a walk on which the head turns
# slowly.
SOLVERS: dict[str, tuple[str, Learners]] = {
    "bio": ("bio", TUNED),
    "local": ("local", FAST_LOCAL),
    "online": ("online", NATURAL),
    "one-pass": ("online", ONE_PASS),
    "paper": ("bio", PAPER),
    "exact": ("exact", TUNED),
    "random": ("random", TUNED),
    "rotation-bio": ("bio", TUNED),
    "rotation-exact": ("exact", TUNED),
}
ALL = ("bio", "local", "exact", "online", "one-pass", "paper", "linear", "random", "rotation-bio", "rotation-exact")
PRESETS = {
    "quick": RatConfig(
        "quick",
        runs=1,
        seed=0,
        frames=4500,
        grid_step=2,
        textures="made",
        networks=("online", "linear"),
    ),
    "paper": RatConfig("paper", runs=1, seed=0, frames=10_000, grid_step=1, textures="made", networks=ALL),
}


def preset(name: str, **changes: Any) -> RatConfig:
    """Return the settings of a preset, with some fields changed. A value of None leaves the field as it is.

    With a recorded path, the networks whose names begin with "rotation" are left out.

    Parameters
    ----------
    name : {"quick", "paper"}
        Name of the preset.
    **changes
        New values for fields of :class:`RatConfig`.

    Raises
    ------
    ExperimentError
        If a network cannot learn from a recorded path.

    Examples
    --------
    >>> from biosfa.experiments import rat
    >>> rat.preset("paper", networks=("bio",)).frames
    10000
    """
    config = changed(PRESETS[name], **changes)
    walking = tuple(name for name in config.networks if not name.startswith("rotation"))
    if not config.is_recorded or walking == config.networks:
        return config
    if changes.get("networks") is not None:
        raise ExperimentError("the networks rotation-bio and rotation-exact need the simulated walk: leave out --path")
    return changed(config, networks=walking)


def chosen(names: list[str]) -> tuple[str, ...]:
    """Check the names of networks, and return them in the order of the report.

    Raises
    ------
    ExperimentError
        If there is no network of a name.

    Examples
    --------
    >>> from biosfa.experiments import rat
    >>> rat.chosen(["exact", "bio"])
    ('bio', 'exact')
    """
    return chosen_among(ALL, names)


@held(1)
def load_room(config: RatConfig) -> Room:
    """Make the room with its textures."""
    try:
        return Room() if config.textures == "made" else Room(textures=config.textures)
    except ValueError as error:  # the message names the picture
        raise ExperimentError(str(error)) from None


@held(1)
def load_path(config: RatConfig) -> Float64Array | None:
    """Read the recorded path; None if the rat walks by itself."""
    if not config.is_recorded:
        return None
    try:
        chunks = list(open_stream(config.path, missing="break").chunks())
    except InputError as error:
        raise ExperimentError(str(error)) from None
    skipped = chunks[-1].position.n_skipped if chunks else 0
    if skipped:
        raise ExperimentError(f"{config.path} has {counted(skipped, 'row')} with missing values: leave them out")
    return np.concatenate([chunk.samples for chunk in chunks], dtype=np.float64)


def stream(config: RatConfig, seed: int, *, rotates: bool) -> RatStream:
    """Make the frames that the rat sees on the recorded path, or on the walk of a seed."""
    walk = ROTATION if rotates else None
    room, path = load_room(config), load_path(config)
    try:
        return rat_stream(config.frames, walk=walk, path=path, head=config.head, room=room, random_state=seed)
    except ValueError as error:  # the message says what is wrong with the path
        raise ExperimentError(f"{config.path}: {error}") from None
