"""Slow features of a quadratic expansion as quadratic forms, and the stimuli to which they respond most."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq

from biosfa.kernels.expansion import quadratic_size
from biosfa.typing import Float64Array

# If the part of f along the leading eigenvectors is below this share of ‖f‖, it counts as 0: the hard case.
HARD_CASE = 1e-12


@dataclass(frozen=True)
class QuadraticForm:
    """The quadratic form g(x) = ½ xᵀHx + fᵀx + c.

    Attributes
    ----------
    H : array of shape (n, n)
        The quadratic part, a symmetric matrix.
    f : array of shape (n,)
        The linear part.
    c : float
        The constant.

    Examples
    --------
    >>> import numpy as np
    >>> from biosfa.analysis import QuadraticForm
    >>> float(QuadraticForm(np.diag([2.0, 4.0]), np.zeros(2), 1.0)(np.array([1.0, 1.0])))
    4.0
    """

    H: Float64Array
    f: Float64Array
    c: float

    def __call__(self, x: Float64Array) -> Float64Array:
        """Return the values of the form at the rows of x, or at a single x."""
        values: Float64Array = 0.5 * np.einsum("...i,ij,...j->...", x, self.H, x) + x @ self.f + self.c
        return values

    def __neg__(self) -> "QuadraticForm":
        return QuadraticForm(-self.H, -self.f, -self.c)

    def of(self, matrix: Float64Array) -> "QuadraticForm":
        """Return the same form as a function of u, where x = matrix u."""
        return QuadraticForm(matrix.T @ self.H @ matrix, matrix.T @ self.f, self.c)


class Stimulus(NamedTuple):
    """The point of a sphere at which a form is largest.

    Attributes
    ----------
    x : array of shape (n,)
        The point.
    value : float
        The value of the form there.
    multiplier : float
        The Lagrange multiplier λ of the constraint: Hx + f = λx.

    Examples
    --------
    >>> import numpy as np
    >>> from biosfa.analysis import QuadraticForm, optimal_stimulus
    >>> form = QuadraticForm(np.diag([1.0, 3.0]), np.array([1.0, 0.0]), 0.0)
    >>> best = optimal_stimulus(form, radius=2.0)
    >>> np.allclose(form.H @ best.x + form.f, best.multiplier * best.x)
    True
    """

    x: Float64Array
    value: float
    multiplier: float


def quadratic_form(component: Float64Array, mean: Float64Array, n_features: int) -> QuadraticForm:
    """Write a feature of a quadratic expansion as a quadratic form of the input.

    Parameters
    ----------
    component : array of shape (n + n(n + 1)/2,)
        A row of ``components_``: the weights of x_1, …, x_n and of x_i x_j, i ≤ j, in the order of
        ``QuadraticExpansion``.
    mean : array of the same shape
        ``mean_`` of the model.
    n_features : int
        Number n of columns before the expansion.

    Returns
    -------
    QuadraticForm

    Examples
    --------
    >>> import numpy as np
    >>> from biosfa import SFA
    >>> from biosfa.analysis import quadratic_form
    >>> X = np.random.default_rng(0).standard_normal((500, 3))
    >>> sfa = SFA(1, expansion="quadratic").fit(X)
    >>> form = quadratic_form(sfa.components_[0], sfa.mean_, 3)
    >>> np.allclose(form(X), sfa.transform(X)[:, 0])
    True
    """
    if len(component) != quadratic_size(n_features):
        raise ValueError(
            f"component has {len(component)} weights, but the quadratic expansion of {n_features} columns has "
            f"{quadratic_size(n_features)} monomials"
        )
    H = np.zeros((n_features, n_features))
    rows, columns = np.triu_indices(n_features)
    H[rows, columns] = component[n_features:]
    return QuadraticForm(H + H.T, component[:n_features].copy(), -float(component @ mean))


def optimal_stimulus(form: QuadraticForm, radius: float) -> Stimulus:
    """Find the point x with ‖x‖ = radius at which a form is largest. For the smallest value, give ``-form``.

    Parameters
    ----------
    form : QuadraticForm
        A form of n coordinates.
    radius : float
        Length r of x.

    Returns
    -------
    Stimulus

    Notes
    -----
    The maximum solves (λI − H)x = f, where λ is at least the largest eigenvalue μ of H. Then ‖x‖ = r is one equation
    for λ. Its solution is in [μ + ‖α‖/r, μ + ‖f‖/r], where α is the part of f along the leading eigenvectors. In the
    hard case α is 0, and x may be too short at λ = μ. Then a step along any leading eigenvector brings x to the length
    r.

    Examples
    --------
    >>> import numpy as np
    >>> from biosfa.analysis import QuadraticForm, optimal_stimulus
    >>> optimal_stimulus(QuadraticForm(np.diag([2.0, 4.0]), np.zeros(2), 1.0), radius=1.0)
    Stimulus(x=array([0., 1.]), value=3.0, multiplier=4.0)
    """
    if not radius > 0:
        raise ValueError(f"radius must be positive; got {radius!r}")
    eigenvalues, Q = np.linalg.eigh(form.H)
    alpha = Q.T @ form.f
    norm = float(np.linalg.norm(form.f))
    top = float(eigenvalues[-1])
    leading = eigenvalues >= top - HARD_CASE * max(1.0, float(np.abs(eigenvalues).max()))
    along = float(np.linalg.norm(alpha[leading]))
    if along <= HARD_CASE * norm or norm == 0.0:
        x = np.zeros_like(alpha)
        x[~leading] = alpha[~leading] / (top - eigenvalues[~leading])
        rest = radius**2 - float(x @ x)
        if rest >= 0.0:
            x[-1] += np.sqrt(rest)
            return _stimulus(form, Q @ x, top)
        alpha = np.where(leading, 0.0, alpha)
        along = 0.0

    def excess(multiplier: float) -> float:
        # 1/‖x‖ is almost linear in λ, while ‖x‖ itself has a pole
        gaps = multiplier - eigenvalues
        length = np.linalg.norm(np.divide(alpha, gaps, out=np.zeros_like(alpha), where=alpha != 0.0))
        return float(1.0 / length - 1.0 / radius)

    low, high = top + along / radius, top + norm / radius * (1.0 + 1e-9)
    multiplier = low if excess(low) >= 0.0 else float(brentq(excess, low, high, xtol=1e-15 * abs(high) + 1e-300))
    gaps = multiplier - eigenvalues
    x = np.divide(alpha, gaps, out=np.zeros_like(alpha), where=alpha != 0.0)
    return _stimulus(form, Q @ (x * radius / np.linalg.norm(x)), multiplier)


def _stimulus(form: QuadraticForm, x: Float64Array, multiplier: float) -> Stimulus:
    return Stimulus(x, float(form(x)), multiplier)


def invariances(form: QuadraticForm, stimulus: Stimulus) -> tuple[Float64Array, Float64Array]:
    """Find the directions on the sphere in which a form changes least around its optimal stimulus.

    Parameters
    ----------
    form : QuadraticForm
        A form of n coordinates.
    stimulus : Stimulus
        The result of :func:`optimal_stimulus`.

    Returns
    -------
    directions : array of shape (n − 1, n)
        Unit vectors orthogonal to the stimulus. The direction with the smallest change comes first.
    curvature : array of shape (n − 1,)
        The second derivative along each direction w: wᵀ(H − λI)w.

    Examples
    --------
    >>> import numpy as np
    >>> from biosfa.analysis import QuadraticForm, invariances, optimal_stimulus
    >>> form = QuadraticForm(np.diag([2.0, 3.0, 4.0]), np.zeros(3), 0.0)
    >>> directions, curvature = invariances(form, optimal_stimulus(form, radius=1.0))
    >>> np.abs(directions), curvature
    (array([[0., 1., 0.],
           [1., 0., 0.]]), array([-1., -2.]))
    """
    n = len(stimulus.x)
    tangent = np.linalg.qr(np.column_stack([stimulus.x, np.eye(n)]))[0][:, 1:n]
    curvature, vectors = np.linalg.eigh(tangent.T @ (form.H - stimulus.multiplier * np.eye(n)) @ tangent)
    order = np.argsort(np.abs(curvature))
    return (tangent @ vectors[:, order]).T, curvature[order]
