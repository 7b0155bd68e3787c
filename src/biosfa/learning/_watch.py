"""What can be seen of a network while it learns."""

from dataclasses import dataclass

from biosfa.learning._network import Network
from biosfa.typing import Float64Array

# Updates before which a network cannot have white outputs, and a constraint error that says it never will.
EARLY_UPDATES = 1000
FAR_FROM_WHITE = 0.3


@dataclass(frozen=True)
class Watch:
    """How learning goes, from what the network knows of itself: no second pass, no sample is looked at again."""

    n_samples: int
    n_updates: int
    delta_values: Float64Array  # slowness of the features
    constraint_error: float  # 0 for white outputs; NaN for outputs that cannot be negative
    learning_rate: float  # η of the last update, as a sample of mean power shortens it
    warning: str | None  # what looks wrong, if anything does


def look(network: Network) -> Watch:
    """How a network does."""
    constraint_error = network.constraint_error()
    strain = network.strain()
    warning = None
    if strain > 1.0:
        warning = (
            f"2η‖x‖² is {strain:.2g} for the largest sample so far, and the explicit step is unstable beyond 2: use a "
            'smaller learning_rate, or step="normalized"'
        )
    elif network.n_updates > EARLY_UPDATES and constraint_error > FAR_FROM_WHITE:
        warning = (
            f"the outputs are far from white (constraint error {constraint_error:.2g}): the network has not converged, "
            f"or the stream has changed, and delta_values_ mean little. {network.advice}"
        )
    return Watch(
        n_samples=network.n_samples,
        n_updates=network.n_updates,
        delta_values=network.readout().delta_values,
        constraint_error=constraint_error,
        learning_rate=network.effective_rate(),
        warning=warning,
    )
