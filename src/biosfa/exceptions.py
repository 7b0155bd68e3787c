"""Errors and warnings of this package."""


class DivergenceError(ArithmeticError):
    """The network left its stable region; it keeps the state it had before the step.

    Parameters
    ----------
    step : int
        Number of the update that was not made.
    learning_rate : float
        η of that update.
    largest_stable_rate : float
        1/max‖x‖² over the stream so far: the explicit step is unstable once 2η‖x‖² > 2.
    """

    def __init__(self, step: int, learning_rate: float, largest_stable_rate: float) -> None:
        super().__init__(
            f"the network diverged at update {step}, where the learning rate was {learning_rate:.3g}; the largest rate "
            f"that is stable for the samples seen so far is {largest_stable_rate:.3g}. The state before that update is "
            'kept. Look for outliers in the input; use a smaller learning_rate, or step="normalized".'
        )
        self.step = step
        self.learning_rate = learning_rate
        self.largest_stable_rate = largest_stable_rate

    def __reduce__(self) -> tuple[type["DivergenceError"], tuple[int, float, float]]:
        return type(self), (self.step, self.learning_rate, self.largest_stable_rate)


class ModelFileError(ValueError):
    """A model file is damaged, of another kind, or from a newer version."""


class RankDeficiencyWarning(UserWarning):
    """Some columns of the (expanded) input are constant or linear combinations of the others."""


class ConditioningWarning(UserWarning):
    """The columns depend on one another so nearly that few digits of the features are left."""


class GiveAwayWarning(UserWarning):
    """A column hardly changes from row to row, such as a counter or a clock, and is a slow feature by itself."""


class AbsentDataWarning(UserWarning):
    """Parts of a file are not stored, and are read as its fill value."""


class InputError(ValueError):
    """A file cannot be read as samples; the message names it and the place in it."""


class OutputError(OSError):
    """Results cannot be written to a place; the message names it and says why."""


class ShortEpisodeWarning(UserWarning):
    """Some episodes have too few samples to learn from."""


class UserError(Exception):
    """Something that the user of the command can mend, said in one line."""
