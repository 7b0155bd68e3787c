"""Choosing: how many features, which lag, which expansion, and whether features are real."""

from biosfa.selection._choice import Choice, choose
from biosfa.selection._cross_validation import Candidate, CrossValidation, cross_validate
from biosfa.selection._significance import significance
from biosfa.selection._timescales import ImpliedTimescales, implied_timescales
from biosfa.selection._vamp import vamp2_score
from biosfa.selection.chance import Significance

__all__ = [
    "Candidate",
    "Choice",
    "CrossValidation",
    "ImpliedTimescales",
    "Significance",
    "choose",
    "cross_validate",
    "implied_timescales",
    "significance",
    "vamp2_score",
]
