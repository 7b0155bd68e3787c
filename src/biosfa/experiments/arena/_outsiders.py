"""Other packages that solve the same problem, as an independent check, if they are installed."""

from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np

from biosfa.experiments.arena._problems import Problem
from biosfa.typing import Float64Array


@dataclass(frozen=True)
class Outsider:
    """Another package that solves the same problem from all samples at once."""

    label: str
    package: str  # the module to import
    directions: Callable[[Problem], Float64Array | None]  # returns None if the package cannot solve the problem

    @property
    def is_installed(self) -> bool:
        """Whether the package can be imported."""
        return find_spec(self.package) is not None


def _tica(problem: Problem) -> Float64Array:
    from deeptime.decomposition import TICA

    X, later = problem.signal, np.flatnonzero(~problem.starts)
    model = TICA(lagtime=1, dim=X.shape[1]).fit((X[later - 1], X[later])).fetch_model()
    # TICA sorts by the size of the correlation, not its sign, so that alternating features may come before slow ones
    directions = _directions(model.transform, problem)
    slow = np.argsort(problem.slowness_of_each(directions))[: problem.n_components]
    return directions[slow]


def _sksfa(problem: Problem) -> Float64Array | None:
    if problem.starts[1:].any():
        return None  # sklearn-sfa does not support episodes
    import sksfa

    return _directions(sksfa.SFA(problem.n_components).fit(problem.signal).transform, problem)


def _directions(transform: Callable[[Float64Array], Any], problem: Problem) -> Float64Array:
    """Return the rows of a linear map from its values at the origin and at each unit vector."""
    m = problem.signal.shape[1]
    moved = np.asarray(transform(np.vstack([np.zeros(m), np.eye(m)])))
    directions: Float64Array = (moved[1:] - moved[0]).T
    return directions


OUTSIDERS = {
    "tica": Outsider("deeptime, TICA", "deeptime", _tica),
    "sksfa": Outsider("sklearn-sfa", "sksfa", _sksfa),
}
