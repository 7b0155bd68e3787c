"""What is exported of each kind of model."""

from collections.abc import Callable
from typing import Any

from sklearn.utils.validation import check_is_fitted

from biosfa.estimators import BioSFA, CuBICA, OfflineBioSFA, SlowFeatureEstimator
from biosfa.hierarchy import HierarchicalSFA
from biosfa.integrations.onnx._features import ExpandedSignal, Features
from biosfa.integrations.onnx._hierarchy import Hierarchy
from biosfa.integrations.onnx._monitor import Statistics
from biosfa.integrations.onnx._neurons import NeuralOutput
from biosfa.integrations.onnx._part import Part
from biosfa.monitoring import SlowFeatureMonitor
from biosfa.signal import QuadraticExpansion, SignalPath
from biosfa.validation import check_choice

OUTPUTS = ("features", "neural_output")


def part_of(model: Any, output: str = "features") -> Part:
    """Return what is exported of a fitted model.

    Raises
    ------
    TypeError
        If models of this kind cannot be exported.
    ValueError
        If this model cannot be exported, or has no such output.
    """
    check_choice("output", output, OUTPUTS)
    make = next((make for kind, make in PARTS.items() if isinstance(model, kind)), None)
    if make is None:
        raise TypeError(
            f"{type(model).__name__} cannot be exported, only learners of slow features, rivals, CuBICA, "
            "HierarchicalSFA, SlowFeatureMonitor and QuadraticExpansion. For a Pipeline of them, use skl2onnx with "
            "biosfa.integrations.skl2onnx.register()"
        )
    check_is_fitted(model)
    if output == "features":
        return make(model)
    if not isinstance(model, BioSFA):
        raise ValueError(
            f"only BioSFA has a neural output, not {type(model).__name__}: leave output='features' (--output features)"
        )
    return NeuralOutput.of(model)


def _linear(model: CuBICA | OfflineBioSFA) -> Part:
    return Features(_plain_signal(model, None), model.mean_, model.components_)


def _monomials(model: QuadraticExpansion) -> Part:
    return ExpandedSignal(_plain_signal(model, "quadratic"))


def _plain_signal(model: Any, expansion: str | None) -> SignalPath:
    """Return the signal path for the columns themselves, or an expansion of them."""
    return SignalPath.restore(1, expansion, model.n_features_in_, None)


PARTS: dict[type, Callable[[Any], Part]] = {
    SlowFeatureEstimator: Features.of,
    SlowFeatureMonitor: Statistics.of,
    HierarchicalSFA: Hierarchy,
    CuBICA: _linear,
    OfflineBioSFA: _linear,
    QuadraticExpansion: _monomials,
}
