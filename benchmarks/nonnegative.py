"""How close outputs that cannot be negative come to the best there are: the numbers of docs/inside/maths.md.

The objective is Eq. (9) of the paper over Y ≥ 0, on 400 pairs of samples of a direction that turns. It is minimised
directly from five beginnings; linear outputs that are cut off at zero, best scaled, are what one would have otherwise.
Run it with ``python benchmarks/nonnegative.py``; it takes two minutes.
"""

import numpy as np
from scipy.optimize import minimize

from biosfa import BioSFA
from biosfa.datasets import head_direction

N_SAMPLES = 2_000_000
N_PAIRS = 400
OUTPUTS = 8
BEGINNINGS = 5


def main() -> None:
    """Print the objective of the network, of the best minimisation, and of cut-off outputs, for four seeds."""
    print("seed  network  direct, best of 5  linear, cut off")
    for seed in range(4):
        X = head_direction(N_SAMPLES, random_state=seed).signal
        rng = np.random.default_rng(seed)
        pairs = rng.choice(N_SAMPLES - 1, N_PAIRS, replace=False)
        centred = X - X.mean(axis=0)
        X_bar = centred[pairs] + centred[pairs + 1]
        similarities = X_bar @ np.linalg.solve(centred.T @ centred / len(X), X_bar.T)

        def mismatch(flat: np.ndarray, similarities: np.ndarray = similarities) -> tuple[float, np.ndarray]:
            Y_bar = flat.reshape(N_PAIRS, OUTPUTS)
            rest = Y_bar @ Y_bar.T - similarities
            return float(np.square(rest).sum()) / (2 * N_PAIRS**2), (2 * rest @ Y_bar / N_PAIRS**2).ravel()

        found = {}
        for rule in ("nonnegative", "bio-sfa"):
            net = BioSFA(OUTPUTS, rule=rule, random_state=seed).fit(X)
            found[rule] = sum(np.maximum(net.neural_output(X[rows]), 0) for rows in (pairs, pairs + 1))
        bounds = [(0, None)] * (N_PAIRS * OUTPUTS)
        beginnings = (np.abs(rng.standard_normal(N_PAIRS * OUTPUTS)) for _ in range(BEGINNINGS))
        direct = min(
            minimize(mismatch, begin, jac=True, bounds=bounds, method="L-BFGS-B", options={"maxiter": 5000}).fun
            for begin in beginnings
        )
        cut_off = min(mismatch(scale * found["bio-sfa"])[0] for scale in np.linspace(0, 2, 41))
        print(f"{seed:4}  {mismatch(found['nonnegative'])[0]:7.1f}  {direct:17.1f}  {cut_off:15.1f}")


if __name__ == "__main__":
    main()
