"""Errors of experiments."""

from biosfa.exceptions import UserError


class ExperimentError(UserError):
    """Raised if the settings of an experiment, its input or its output folder are wrong.

    Examples
    --------
    >>> from biosfa.experiments import rat
    >>> rat.chosen(["fast"])  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    biosfa.experiments.engine._errors.ExperimentError: there is no network 'fast'...
    """
