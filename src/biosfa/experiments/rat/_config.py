"""What the experiment with the rat runs, and the room and walks."""

from dataclasses import dataclass
from typing import Any

from biosfa.datasets import rat_stream
from biosfa.datasets.rat import RatStream, Room, Walk
from biosfa.experiments.engine import ExperimentError, changed, held
from biosfa.experiments.rat._networks import NATURAL, ONE_PASS, PAPER, TUNED, Learners

ROTATION = Walk(speed=8.0, rotation=5.0)  # fast translation, slow rotation: heading becomes the slow feature


@dataclass(frozen=True)
class RatConfig:
    """What to run; :func:`preset` has the sensible ones."""

    preset: str
    runs: int  # walks, of the seeds seed, seed + 1, …
    seed: int
    frames: int
    grid_step: int  # of the firing maps
    textures: str  # a folder, or "made"
    networks: tuple[str, ...]


# Ways to learn, and the walk they learn from. Those of the second walk show what changes if the head turns slowly.
SOLVERS: dict[str, tuple[str, Learners]] = {
    "bio": ("bio", TUNED),
    "online": ("online", NATURAL),
    "one-pass": ("online", ONE_PASS),
    "paper": ("bio", PAPER),
    "exact": ("exact", TUNED),
    "random": ("random", TUNED),
    "rotation-bio": ("bio", TUNED),
    "rotation-exact": ("exact", TUNED),
}
ALL = ("bio", "exact", "online", "one-pass", "paper", "linear", "random", "rotation-bio", "rotation-exact")
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
    """A preset, with some fields changed; None leaves them."""
    return changed(PRESETS[name], **changes)


def chosen(names: list[str]) -> tuple[str, ...]:
    """Networks that a user asked for."""
    unknown = [name for name in names if name not in ALL]
    if unknown:
        raise ExperimentError(f"there is no network {unknown[0]!r}; there are {', '.join(ALL)}")
    return tuple(name for name in ALL if name in names)


@held(1)
def load_room(config: RatConfig) -> Room:
    """The room, with its textures."""
    try:
        return Room() if config.textures == "made" else Room(textures=config.textures)
    except ValueError as error:  # it names the picture
        raise ExperimentError(str(error)) from None


def stream(config: RatConfig, seed: int, *, rotates: bool) -> RatStream:
    """What the rat sees on its walk of a seed."""
    return rat_stream(config.frames, room=load_room(config), walk=ROTATION if rotates else None, random_state=seed)
