"""Software of others that solves the same problem: checks from outside, where it is installed."""

from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np

from biosfa.experiments.arena._problems import Problem
from biosfa.typing import Float64Array


@dataclass(frozen=True)
class Outsider:
    """Software of others that solves the same problem, all samples at once."""

    label: str
    package: str  # the module to import
    directions: Callable[[Problem], Float64Array | None]  # None if it cannot take the problem

    @property
    def is_installed(self) -> bool:
        """Whether it can be imported."""
        return find_spec(self.package) is not None


def _tica(problem: Problem) -> Float64Array:
    from deeptime.decomposition import TICA

    X, later = problem.signal, np.flatnonzero(~problem.starts)
    model = TICA(lagtime=1, dim=X.shape[1]).fit((X[later - 1], X[later])).fetch_model()
    # it puts features that alternate before those that are slow: by the size of their correlation, whatever its sign
    directions = _directions(model.transform, problem)
    slow = np.argsort(problem.slowness_of_each(directions))[: problem.n_components]
    return directions[slow]


def _sksfa(problem: Problem) -> Float64Array | None:
    if problem.starts[1:].any():
        return None  # it knows no episodes
    import sksfa

    return _directions(sksfa.SFA(problem.n_components).fit(problem.signal).transform, problem)


def _directions(transform: Callable[[Float64Array], Any], problem: Problem) -> Float64Array:
    """Rows of a linear map that is only known by what it does: how it changes the origin, and each unit vector."""
    m = problem.signal.shape[1]
    moved = np.asarray(transform(np.vstack([np.zeros(m), np.eye(m)])))
    directions: Float64Array = (moved[1:] - moved[0]).T
    return directions


OUTSIDERS = {
    "tica": Outsider("deeptime, TICA", "deeptime", _tica),
    "sksfa": Outsider("sklearn-sfa", "sksfa", _sksfa),
}
