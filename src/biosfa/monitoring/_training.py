"""Training: a model of normal operation, limits of its statistics, and what persistence rules do."""

import copy
import warnings
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from biosfa.estimators import SFA, check_columns
from biosfa.exceptions import ConditioningWarning, RankDeficiencyWarning
from biosfa.io import Stream
from biosfa.monitoring._calibration import (
    Calibration,
    blocks_for,
    rows_needed,
    survey,
    warn_if_short,
)
from biosfa.monitoring._detectors import SlowFeatures, check_enough, of_model
from biosfa.monitoring._limits import common_rate, upper_limits
from biosfa.monitoring._normal import Normal
from biosfa.monitoring._parameters import Watchable, check_forget, patterns_of
from biosfa.monitoring._suspects import Compared, is_enough, warn_if_suspicious
from biosfa.monitoring._verdicts import Rule, compared_rules
from biosfa.typing import Float64Array

if TYPE_CHECKING:
    from biosfa.monitoring._monitor import SlowFeatureMonitor


class Learned(NamedTuple):
    """What a monitor has learned from normal operation."""

    model: Watchable
    limits: Float64Array
    calibration: Calibration
    rules: tuple[Rule, ...]
    constants: dict[int, float]
    normal: Normal


def learned(monitor: "SlowFeatureMonitor", stream: Stream) -> Learned:
    """Return what a monitor with these parameters learns from rows of normal operation."""
    model = _slow_features(monitor, stream) if monitor.model is None else copy.deepcopy(monitor.model)
    check_columns(model, stream)
    found = survey(stream, of_model(model, monitor.slow_share))
    check_forget(monitor.forget, model, found.correlation_time)
    if monitor.model is None:
        n_blocks = blocks_for(found.n_rows, found.correlation_time)
        method = SlowFeatures(monitor.n_delays, model.expansion_, monitor.slow_share)
        size = -(-found.n_rows // n_blocks)
        blocks = Compared.of(method, stream, size)
        statistics, compared = blocks.statistics, blocks if model.expansion_ is None else None
    else:
        detector = of_model(model, monitor.slow_share)
        n_blocks, compared, statistics = 0, None, np.concatenate([detector.statistics(chunk) for chunk in stream])
    rate = common_rate(statistics, monitor.alarm_rate) if monitor.family else monitor.alarm_rate
    limits = upper_limits(statistics, rate)
    out, n_features = statistics > limits, model.components_.shape[1]
    needed = rows_needed(found.correlation_time, n_features, rate)
    calibration = Calibration(found.n_rows, n_blocks, found.correlation_time, needed, out.mean(axis=0))
    rules = compared_rules(out, monitor.persistence, n_levels=2, rng=np.random.default_rng(0))
    normal = Normal.of_training(model.delta_values_, found.n_rows, monitor.slow_share, patterns_of(model))
    warn_if_short(found, n_features, rate, stacklevel=3)
    known, linear = (
        int(np.count_nonzero(np.isfinite(statistics[:, 0]))),
        SlowFeatures(model.n_delays, None, monitor.slow_share),
    )
    if is_enough(known, stream.n_features * model.n_delays):
        with suppress(ValueError):  # the rows are so unevenly missing that blocks cannot be compared
            if compared is None:
                size = -(-found.n_rows // blocks_for(found.n_rows, found.correlation_time))
                compared = Compared.of(linear, stream, size)
            warn_if_suspicious(stream, compared, rate, stacklevel=3)
    return Learned(model, limits, calibration, rules, found.constants, normal)


def _slow_features(monitor: "SlowFeatureMonitor", stream: Stream) -> SFA:
    """Return exact SFA of the stream, with all features."""
    sfa = SFA(n_delays=monitor.n_delays, expansion=monitor.expansion, missing="break")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", RankDeficiencyWarning)
        warnings.simplefilter("always", ConditioningWarning)
        sfa.fit(stream)
    check_enough(sfa)
    for warning in caught:
        if warning.category is ConditioningWarning:
            warnings.warn(_of_condition(str(warning.message)), ConditioningWarning, stacklevel=4)
        elif warning.category is not RankDeficiencyWarning or not _only_constant(sfa):
            warnings.warn(warning.message, warning.category, stacklevel=4)
    return sfa


def _of_condition(message: str) -> str:
    """Return what the warning of a model says, with advice that holds for a monitor."""
    return (
        f"{message.rpartition('. Leave out')[0]}. Leave out columns that nearly depend on others, or give a model with "
        "fewer dimensions: SlowFeatureMonitor(model=SFA(pca=N, ...).fit(other_rows)), or --model with a file that "
        "biosfa fit --pca N wrote"
    )


def _only_constant(sfa: SFA) -> bool:
    """Return whether all redundant columns are constant: these are watched in another way."""
    patterns = patterns_of(sfa)
    if patterns is None or sfa.rank_ + len(sfa.redundant_features_) != sfa.components_.shape[1]:
        return False
    return all(not patterns[:, column].any() for column in sfa.redundant_features_ if column < patterns.shape[1])
