"""Errors of experiments."""

from biosfa.exceptions import UserError


class ExperimentError(UserError):
    """Something is wrong with what was asked for, or with the folder for it."""
