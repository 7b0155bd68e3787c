"""Paths of RatInABox for :func:`biosfa.datasets.rat_stream`: those of its agents, and the recorded walks it ships."""

from importlib.resources import as_file, files
from typing import Any

import numpy as np

from biosfa.extras import imported
from biosfa.typing import Float64Array


def agent_path(agent: Any) -> Float64Array:
    """Return the path of an agent: rows of time, x, y and heading.

    Parameters
    ----------
    agent : ratinabox.Agent
        An agent that has moved through an environment of two dimensions, with its history.

    Returns
    -------
    array of shape (n, 4)
        A path for :func:`biosfa.datasets.rat_stream`. The last column is the head direction in degrees.

    Raises
    ------
    ValueError
        If the agent has no history, or moves along a line.

    Examples
    --------
    >>> from biosfa.datasets import rat_stream
    >>> from biosfa.integrations.ratinabox import agent_path
    >>> from ratinabox import Agent, Environment
    >>> agent = Agent(Environment())
    >>> for _ in range(1000):
    ...     agent.update(dt=0.1)
    >>> rat_stream(200, path=agent_path(agent)).shape
    (200, 40, 320, 3)
    """
    time, position, direction = (np.asarray(agent.history[key], np.float64) for key in ("t", "pos", "head_direction"))
    if not len(time):
        raise ValueError("the agent has no history: call its update() first, with save_history on")
    if position.ndim != 2 or position.shape[1] != 2:
        raise ValueError("the agent must move in an environment of two dimensions")
    return np.column_stack([time, position, np.degrees(np.arctan2(direction[:, 1], direction[:, 0]))])


def recorded_path(name: str) -> Float64Array:
    """Return the walk of a real rat that is part of RatInABox: rows of time, x and y, in seconds and metres.

    Parameters
    ----------
    name : str
        "sargolini" (10 minutes in a box of 1 m × 1 m: Sargolini et al. 2006) or "tanni" (two hours in a box of 3.5 m ×
        2.5 m: Tanni et al. 2022), or another recording in the data folder of RatInABox. If you publish results, cite
        the paper that the recording comes from.

    Returns
    -------
    array of shape (n, 3)
        A path for :func:`biosfa.datasets.rat_stream`.

    Raises
    ------
    MissingExtraError
        If RatInABox is not installed, or too old.
    ValueError
        If it has no recording of this name.

    Examples
    --------
    >>> from biosfa.integrations.ratinabox import recorded_path
    >>> recorded_path("sargolini").shape
    (29800, 3)
    """
    imported("ratinabox", "ratinabox", least="1.12")
    folder = files("ratinabox") / "data"
    names = sorted(file.name.removesuffix(".npz") for file in folder.iterdir() if file.name.endswith(".npz"))
    if name not in names:
        raise ValueError(f"RatInABox has no recording {name!r}: choose among {', '.join(names)}")
    with as_file(folder / f"{name}.npz") as file, np.load(file) as data:
        return np.column_stack([data["t"].ravel(), data["pos"]])
