"""Networks while they learn: their learning rates, their state, and measurements of their progress."""

from biosfa.learning._events import next_event
from biosfa.learning._fast_local_network import FastLocalNetwork
from biosfa.learning._gauge import Gauge, Passes, Steps
from biosfa.learning._input_layer import layer_size
from biosfa.learning._local_network import LocalNetwork
from biosfa.learning._natural_network import NaturalNetwork
from biosfa.learning._network import Network
from biosfa.learning._pairs import Pairs, pairs_kept, pairs_needed
from biosfa.learning._rates import NONNEGATIVE_TAU, AutomaticRates, GivenRates, KernelRates, RowRates, SettledRates
from biosfa.learning._readout import read_out, solve_readout
from biosfa.learning._recorder import Recorder, log_spaced
from biosfa.learning._schedules import (
    SCHEDULES,
    Annealed,
    InverseTime,
    LearningRate,
    Schedule,
    check_learning_rate,
    describe,
    rates,
)
from biosfa.learning._settled_local_network import SettledLocalNetwork
from biosfa.learning._watch import Watch, look
from biosfa.learning._whitening import whitening_size

__all__ = [
    "NONNEGATIVE_TAU",
    "SCHEDULES",
    "Annealed",
    "AutomaticRates",
    "FastLocalNetwork",
    "Gauge",
    "GivenRates",
    "InverseTime",
    "KernelRates",
    "LearningRate",
    "LocalNetwork",
    "NaturalNetwork",
    "Network",
    "Pairs",
    "Passes",
    "Recorder",
    "RowRates",
    "Schedule",
    "SettledLocalNetwork",
    "SettledRates",
    "Steps",
    "Watch",
    "check_learning_rate",
    "describe",
    "layer_size",
    "log_spaced",
    "look",
    "next_event",
    "pairs_kept",
    "pairs_needed",
    "rates",
    "read_out",
    "solve_readout",
    "whitening_size",
]
