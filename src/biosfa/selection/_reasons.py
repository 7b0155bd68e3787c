"""The reasons of a recommendation, in sentences that name the threshold that decides."""

import numpy as np

from biosfa.selection._timescales import ENOUGH_TIMES, ImpliedTimescales
from biosfa.selection.chance import Significance
from biosfa.typing import Float64Array
from biosfa.wording import counted, listed

# 1 − λ² is the share of a feature's variance that its value one lag before does not predict. A feature is the last slow
# one if this share is at least so many times larger for the next. On 900 simulated mixtures of six kinds, with 1 to 5
# slow sources whose time constants are at least 5 times those of the others, the last such step gave the right number
# in 98%, and in 95% or more of each kind. Steps of 2.5 and 3.5 gave 90% and 87% on their worst kinds. The share hardly
# tells fast features from one another, while δ does. The benchmark uses other mixtures.
STEP = 3.0
# Otherwise, a feature has memory at a lag if its correlation λ is surely larger than this. With sensor noise of 0.1 and
# 0.3 standard deviations of each column, this gave the right number in 69% and 71% of 300 such mixtures, and the right
# number within one in 87% and 83%. Steps alone gave 39% and 6%.
MEMORY = 0.15
# Timescales that grow by no more than this with the lag count as constant, however short the intervals are.
CONSTANT = 0.1


def number_of(found: ImpliedTimescales, real: Significance, shortest_lag: int, most: int) -> tuple[int, str]:
    """Return the recommended number of features, at most ``most``, and the reason.

    ``shortest_lag`` is the shortest lag that says something: windows of delays share rows at shorter ones.
    """
    k = step_of(found, shortest_lag)
    if k is not None:
        why = _step_in_words(found, k, shortest_lag)
    else:
        k, why = _lasting(found, shortest_lag)
        if k == 0:
            k = max(1, min(real.n_slow, most))
            slow = (
                f" {counted(real.n_slow, 'feature')} {_is(real.n_slow)} slower than features of rows in random order."
            )
            return k, f"{counted(k, 'feature')}: {why}{slow if real.n_slow else ''}"
        among = min(k, most)
        if 1 <= real.n_leading < among:
            k, why = real.n_leading, f"{why} Of these, only {real.n_leading} {_is(real.n_leading)} slower than chance."
        elif 1 <= real.n_slow < among:
            k, why = real.n_slow, f"{why} Of these, only {real.n_slow} {_is(real.n_slow)} slower than random order."
    if k > most:
        k, why = most, f"{why} At most {most} are recommended (max_components, --max-components)."
    return k, f"{counted(k, 'feature')}: {why}"


def step_of(found: ImpliedTimescales, shortest_lag: int = 1) -> int | None:
    """Return the number of features before the last large step of slowness, at the first lag that has one."""
    for number in _numbers_from(found, shortest_lag):
        large = np.flatnonzero(_steps(found, number) >= STEP)
        if len(large):
            return int(large[-1]) + 1
    return None


def _step_in_words(found: ImpliedTimescales, k: int, shortest_lag: int) -> str:
    number = next(i for i in _numbers_from(found, shortest_lag) if (_steps(found, i) >= STEP).any())
    share = _new(found, number)
    return (
        f"after {counted(found.lags[number], 'row')}, {_percent(share[k - 1])} of the variance of slow{k - 1} is new, "
        f"but {_percent(share[k])} of that of slow{k}. A step by a factor of {STEP:g} counts."
    )


def _numbers_from(found: ImpliedTimescales, shortest_lag: int) -> list[int]:
    return [number for number, lag in enumerate(found.lags) if lag >= shortest_lag]


def _new(found: ImpliedTimescales, number: int) -> Float64Array:
    """Return the share of the variance of each feature that is not known one lag before."""
    return np.asarray(1.0 - np.maximum(found.correlations[number], 0.0) ** 2)


def _steps(found: ImpliedTimescales, number: int) -> Float64Array:
    share = _new(found, number)
    return np.asarray(share[1:] / np.maximum(share[:-1], np.finfo(float).eps))


def _lasting(found: ImpliedTimescales, shortest_lag: int) -> tuple[int, str]:
    """Return the number of features that still have memory for the widest range of lags, and the reason.

    Noise without memory hides steps, but not that fast signals are forgotten at lags at which slow ones are not.
    """
    numbers = _numbers_from(found, shortest_lag)
    lags = np.array(found.lags, dtype=np.float64)[numbers]
    counts = np.count_nonzero(found.lower[numbers] > -lags[:, None] / np.log(MEMORY), axis=1)  # λ of the lower end of T
    widths = {int(k): 0.0 for k in counts if k}
    for k, first, last in zip(counts, lags, lags[1:], strict=False):
        if k:
            widths[int(k)] += float(np.log(last / first))
    if not widths or max(widths.values()) == 0.0:
        return 0, f"no step by a factor of {STEP:g} stands out, and hardly any feature has memory."
    k = max(widths, key=lambda number: widths[number])
    with_k = [int(lag) for lag in lags[counts == k]]
    rows = f"{with_k[0]:,}" if len(with_k) == 1 else f"{with_k[0]:,} to {with_k[-1]:,}"
    return k, (
        f"no step of slowness by a factor of {STEP:g} stands out, so that this number is less certain. "
        f"{counted(k, 'feature')} {_is(k)} still correlated with {'its' if k == 1 else 'their'} own past after {rows} "
        f"{'row' if rows == '1' else 'rows'}, by more than {MEMORY:g}."
    )


def _is(n: int) -> str:
    return "is" if n == 1 else "are"


def with_memory(found: ImpliedTimescales) -> int:
    """Return the number of features whose timescale at the first lag is at least this lag; at least 1."""
    return max(1, int(np.count_nonzero(found.timescales[0] >= found.lags[0])))


def _percent(share: float) -> str:
    return f"{100.0 * share:.0f}%" if share >= 0.1 else f"{100.0 * share:.2g}%"


def lag_of(found: ImpliedTimescales, k: int) -> tuple[int, str]:
    """Return the smallest lag from which the timescales of k features are constant, and the reason.

    Lags count as long as they are shorter than the timescales of all of these features.
    """
    if len(found.lags) == 1:
        return found.lags[0], f"Lag {found.lags[0]}: no other was tried."
    T, lower, upper = (values[:, :k] for values in (found.timescales, found.lower, found.upper))
    grows = (T[:, None] < (1.0 - CONSTANT) * T[None]) & (upper[:, None] < lower[None])  # (from lag, to lag, feature)
    remembered = np.array(found.lags)[:, None] <= T
    n_judged = max(1, int(np.cumprod(remembered.all(axis=1)).sum()))
    number = next(i for i in range(n_judged) if not grows[i, i + 1 : n_judged].any())
    lag, last = found.lags[number], found.lags[n_judged - 1]
    if number > 0:
        most = int(np.argmax(T[number] / T[0]))
        why = (
            f"timescales grow up to this lag by more than {CONSTANT:.0%} (slow{most}: {T[0, most]:.3g} rows at lag "
            f"{found.lags[0]}, {T[number, most]:.3g} at lag {lag}). Noise without memory makes signals look fast from "
            "row to row, as do features that mix several timescales."
        )
    elif n_judged > 1:
        judged = f", up to lag {last}" if n_judged < len(found.lags) else ""
        why = f"timescales do not grow with the lag by more than {CONSTANT:.0%}{judged}."
        if (T[n_judged - 1] < 0.5 * T[0]).any():
            why += " They become shorter, as those of smooth or periodic signals do."
    else:
        why = f"the features are forgotten before lag {found.lags[1]}, so that longer lags say nothing about them."
    beyond = np.where((grows[number] & remembered)[n_judged:], T[n_judged:], 0.0)
    if beyond.any():
        later, feature = np.unravel_index(int(np.argmax(beyond)), beyond.shape)
        at = found.lags[n_judged + int(later)]
        why += (
            f" Beyond lag {last}, the timescale of slow{feature} grows (to {beyond.max():.3g} rows at lag {at}), "
            f"but slow{int(np.argmin(T[n_judged]))} is forgotten there. For slow{feature} alone, use lag {at}."
        )
    return lag, f"Lag {lag}: {why}"


def windows_apart(lag: int, n_delays: int, lag_of_rows: int, why_lag: str) -> str:
    """Return the reason for the lag with delays; ``why_lag`` is the reason for the lag without."""
    return (
        f"Lag {lag}: at this lag, two windows of {n_delays} delays share no row, and their nearest rows are "
        f"{counted(lag_of_rows, 'row')} apart. Without delays: {why_lag[0].lower()}{why_lag[1:]}"
    )


def worse_by_chance(setting: object, plain: object, real: Significance, simpler: Significance) -> str:
    """Return why a setting that makes the slowest feature slower is not recommended."""
    fewer = counted(real.n_real, "feature") if real.n_real else "no feature"
    return (
        f"With {setting}, {fewer} {_is(max(1, real.n_real))} slower than chance (threshold {real.level:g}), but "
        f"{simpler.n_real} {_is(simpler.n_real)} with {plain}. So biosfa recommends {plain} all the same."
    )


def chance_of(real: Significance, k: int) -> tuple[list[str], list[str]]:
    """Return what the comparison with chance says about the recommended features: reasons, and cautions."""
    where = f"in the first {real.n_rows:,} rows"
    threshold = f"threshold {real.level:g}, {where}"
    if real.n_slow == 0:
        p = float(real.p_shuffled[0])
        return [], [
            f"No feature is slower than features of rows in random order (p = {p:.2g}, {threshold}): nothing here "
            "may be slow."
        ]
    if real.n_columns < 2:
        return [], [
            "Only one column varies. It can share no signal with others, so that its features cannot be slower than "
            "chance (p = 1). What is slow here is the column itself."
        ]
    if real.given_away[:k].any():
        counters = listed([f"slow{number}" for number in np.flatnonzero(real.given_away[:k])])
        sentences = [f"{counters}: nothing but columns that only rise or only fall, and not tested."]
        others = real.p_spectrum[:k][~real.given_away[:k]]
        if len(others) and (others <= real.level).all():
            sentences.append(
                f"The others are slower than features of columns that share no signal (p = {others[-1]:.2g})."
            )
        return sentences, []
    if real.n_leading >= k:
        p = float(real.p_spectrum[k - 1])
        said = "The feature is" if k == 1 else f"The {k} features are"
        return [f"{said} slower than features of columns that share no signal (p = {p:.2g}, {threshold})."], []
    if real.n_slow < k:
        return [], [
            f"Only {real.n_slow} of {k} features {_is(real.n_slow)} slower than features of rows in random order "
            f"({threshold}): the others may be chance."
        ]
    p = float(real.p_spectrum[min(real.n_leading, len(real.p_spectrum) - 1)])
    first = f"Only {real.n_real} of {k} features {_is(real.n_real)}" if real.n_real else "No feature is"
    they = "The feature is" if k == 1 else f"The {k} features are"
    return [f"{they} slower than features of rows in random order ({threshold})."], [
        f"{first} slower than features of columns that share no signal (slow{real.n_leading}: p = {p:.2g}, "
        f"{threshold}). The columns may be as slow by themselves."
    ]


def length_of(found: ImpliedTimescales) -> list[str]:
    """Return what to be careful about if the recording is short."""
    if found.n_timescales >= ENOUGH_TIMES:
        return []
    times = found.n_timescales
    number = f"{times:.0f}" if times >= 10.0 else f"{times:.2g}"
    how = "shorter than" if times < 1.0 else f"only {number} times as long as"
    return [
        f"The recording is {how} the slowest timescale. Below {ENOUGH_TIMES:.0f} times, intervals are too short, and "
        "slow features may be chance or drift."
    ]


def gaps_of(n_rows: int, n_skipped: int, n_jumps: int, n_episodes: int) -> list[str]:
    """Return what to be careful about if rows are missing or times jump. ``n_rows`` are those that were used."""
    said = []
    if n_skipped:
        share = n_skipped / (n_rows + n_skipped)
        said.append(f"{counted(n_skipped, 'row')} with missing values were skipped: {share:.0%} of all.")
    if n_jumps:
        said.append(
            f"{counted(n_jumps, 'gap')} in time cut the recording into {counted(n_episodes, 'episode')}. max_step "
            "(--max-step) says up to which step rows belong together, such as over weekends."
        )
    return said


def give_aways_of(names: list[str]) -> list[str]:
    """Return what to be careful about if columns are slow features by themselves."""
    if not names:
        return []
    return [
        f"These columns change as slowly as a counter or a clock, only rise or only fall, or are constant within "
        f"episodes: {listed(names)}. Each is a slow feature by itself, and hides what the others share. Leave them out "
        "(skip=, --skip), unless that is intended."
    ]
