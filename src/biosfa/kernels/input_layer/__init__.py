"""Input layers that learn the covariance of their input: what input neurons do before output neurons learn from them.

Each of m input neurons has an input u_j and a settled activity x̃_j. Lateral synapses, or interneurons, let the
activities settle at x̃ = L⁻¹u, and L learns ⟨uuᵀ⟩. So a gradient along x̃ is a natural gradient along u.
"""

from biosfa.kernels.input_layer import interneurons, lateral
from biosfa.kernels.input_layer.interneurons import InterneuronState
from biosfa.kernels.input_layer.lateral import LateralState
from biosfa.kernels.input_layer.receptors import PRIVATE_NOISE

__all__ = ["PRIVATE_NOISE", "InterneuronState", "LateralState", "interneurons", "lateral"]
