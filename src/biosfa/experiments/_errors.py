"""Errors of experiments."""


class ExperimentError(Exception):
    """Something the user can mend, said in one line."""
