"""The hierarchies of the experiment with the rat: the same layers, with several choices of learners."""

from biosfa.estimators import BioSFA, LocalSFA, OnlineSFA
from biosfa.hierarchy import Layer, Learner
from biosfa.learning import Annealed

Learners = tuple[tuple[Learner, Learner], ...]

# Fields of RatLab, rows first: 63 × 9 modules on 320 × 40 pixels, 8 × 2 modules on these, and one module on these.
FIELDS = ((8, 10), (6, 14), (2, 8))


def _local(alpha: float, tau: float, beta: float, passes: int, *, step: str = "normalized") -> Learner:
    return Learner(BioSFA(learning_rate=Annealed(alpha, beta), tau=tau, step=step), passes)


# The paper's local rule, with rates that fall much sooner than the paper's. Place cells need such annealing, above all
# in the top layer.
TUNED = (
    (_local(1e-4, 0.05, 2e4, 3), _local(4e-4, 0.5, 1e4, 3)),
    (_local(1e-4, 0.02, 5e4, 25), _local(2e-4, 0.5, 3e4, 30)),
    (_local(5e-4, 0.1, 5e4, 300), _local(5e-4, 0.3, 5e4, 400)),
)

# The rates of the paper's appendix, which does not give the number of passes.
PAPER = tuple(
    (_local(alpha, 5e-4, 5e6, passes, step="explicit"), _local(5e-5, 1.0, 5e6, passes, step="explicit"))
    for alpha, passes in ((5e-7, 2), (2.5e-6, 10), (2.5e-6, 20))
)


# The upper layers have few samples, and the natural gradient learns more from few samples than the local rule.
def _natural(top_passes: int) -> Learners:
    top = Learner(OnlineSFA(whitening_rank="full"), top_passes)
    return (
        (_local(1e-4, 0.05, 2e4, 1), _local(4e-4, 0.5, 1e4, 1)),
        (Learner(OnlineSFA(whitening_rank=32)), Learner(OnlineSFA(whitening_rank="full"))),
        (top, top),
    )


NATURAL = _natural(top_passes=16)
ONE_PASS = _natural(top_passes=1)  # every step sees every frame once

# Local rules in every layer, without chosen rates. Layers have fewer modules, and so fewer samples per frame, towards
# the top.
FAST_LOCAL = tuple((Learner(LocalSFA(), passes), Learner(LocalSFA(), passes)) for passes in (1, 4, 16))


def hierarchy(learners: Learners = TUNED) -> list[Layer]:
    """Return the paper's three layers."""
    return [
        Layer(field, linear=linear, quadratic=quadratic)
        for field, (linear, quadratic) in zip(FIELDS, learners, strict=True)
    ]
