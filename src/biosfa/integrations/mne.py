"""Slow features of MNE recordings: from Raw or Epochs to Raw or Epochs, with filters and patterns of the sensors."""

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from biosfa import estimators
from biosfa.episodes import episode_lengths
from biosfa.extras import imported
from biosfa.typing import Float64Array, IntArray
from biosfa.wording import listed

mne = imported("mne", "mne", least="1.11")


class SlowFeatures(TransformerMixin, BaseEstimator):
    """Exact slow feature analysis (:class:`biosfa.SFA`) of the sensors of an MNE recording.

    Differences are taken within epochs only. In a Raw object they are taken neither across annotations whose
    description begins with "bad" nor across the boundaries of joined recordings.

    Parameters
    ----------
    n_components : int, optional
        Number of features. By default the rank of the data.
    picks : str, list or slice, default="data"
        Channels to use, as everywhere in MNE. Channels marked as bad are left out, unless their names are given.
    lag : int, default=1
        Distance in time, in samples, between the two samples of a difference.
    ridge : float, default=0.0
        Variance of white noise, as a share of the mean variance. It removes slow features of tiny variance.

    Attributes
    ----------
    filters_ : array of shape (n_components, n_channels)
        Weights of the sensors. A feature is its filter times the sensors, after their mean was subtracted.
    patterns_ : array of shape (n_components, n_channels)
        Covariance of each feature with each sensor, in the units of the sensors: what the feature looks like.
    info_ : mne.Info
        Information about the channels used.
    sfa_ : biosfa.SFA
        The fitted model, with ``delta_values_`` and ``timescales_`` (in samples).

    Examples
    --------
    >>> import mne
    >>> import numpy as np
    >>> from biosfa.integrations.mne import SlowFeatures
    >>> t = np.arange(5000)
    >>> slow, fast = np.sin(t / 50), np.sin(t / 3)
    >>> info = mne.create_info(["Cz", "Pz"], sfreq=100.0, ch_types="eeg")
    >>> raw = mne.io.RawArray(np.stack([slow + fast, slow - fast]) * 1e-6, info, verbose=False)
    >>> features = SlowFeatures(n_components=1).fit_transform(raw)
    >>> features.ch_names
    ['SFA000']
    >>> float(abs(np.corrcoef(features.get_data()[0], slow)[0, 1]).round(3))
    1.0
    """

    def __init__(
        self, n_components: int | None = None, *, picks: Any = "data", lag: int = 1, ridge: float = 0.0
    ) -> None:
        self.n_components = n_components
        self.picks = picks
        self.lag = lag
        self.ridge = ridge

    def fit(self, inst: Any, y: object = None) -> Self:
        """Learn from a recording.

        Parameters
        ----------
        inst : mne.io.Raw or mne.Epochs
            The recording.
        y : ignored

        Returns
        -------
        self
        """
        empty = mne.io.RawArray(np.zeros((len(_checked(inst).ch_names), 1)), inst.info, verbose="warning")
        info = empty.pick(self.picks, exclude="bads", verbose="warning").info
        sfa = estimators.SFA(self.n_components, lag=self.lag, ridge=self.ridge, missing="break")
        rows = _rows(inst, info["ch_names"], reject_by_annotation=True)
        self.sfa_, self.info_ = sfa.fit(rows, lengths=_lengths(inst)), info
        return self

    def transform(self, inst: Any) -> Any:
        """Return the slow features of a recording, the slowest first, as a recording of its own.

        Parameters
        ----------
        inst : mne.io.Raw or mne.Epochs
            A recording that has the channels of the fit.

        Returns
        -------
        mne.io.RawArray or mne.EpochsArray
            The features as channels SFA000, SFA001, … of type "misc", with the times, events and annotations of the
            recording. Each has unit variance on the recording of the fit.
        """
        check_is_fitted(self)
        absent = [name for name in self.info_["ch_names"] if name not in _checked(inst).ch_names]
        if absent:
            raise ValueError(f"the recording lacks channels of the fit: {listed(absent)}")
        features = self.sfa_.transform(_rows(inst, self.info_["ch_names"])).T
        names = [f"SFA{i:03d}" for i in range(len(features))]
        info = mne.create_info(names, inst.info["sfreq"], "misc")
        if isinstance(inst, mne.io.BaseRaw):
            raw = mne.io.RawArray(features, info, first_samp=inst.first_samp, verbose="warning")
            raw.set_meas_date(inst.info["meas_date"])
            return raw.set_annotations(inst.annotations, verbose="warning")
        return mne.EpochsArray(
            features.reshape(len(names), len(inst), -1).swapaxes(0, 1),
            info,
            events=inst.events,
            tmin=inst.tmin,
            event_id=inst.event_id,
            metadata=inst.metadata,
            selection=inst.selection,
            drop_log=inst.drop_log,
            verbose="warning",
        )

    @property
    def filters_(self) -> Float64Array:
        """Weights of the sensors."""
        return self.sfa_.components_

    @property
    def patterns_(self) -> Float64Array:
        """Covariance of each feature with each sensor."""
        return self.sfa_.patterns_

    def spatial_filter(self) -> Any:
        """Return filters and patterns as an object of MNE that can draw them.

        Returns
        -------
        mne.decoding.SpatialFilter
            Its eigenvalues are the slowness δ of the features.
        """
        check_is_fitted(self)
        return mne.decoding.SpatialFilter(
            self.info_,
            self.filters_,
            evals=self.sfa_.delta_values_,
            patterns=self.patterns_,
            patterns_method="haufe",
        )

    def plot_patterns(self, *args: Any, **kwargs: Any) -> Any:
        """Draw the patterns as topographic maps.

        Parameters
        ----------
        *args, **kwargs
            Passed to :meth:`mne.decoding.SpatialFilter.plot_patterns`.

        Returns
        -------
        matplotlib.figure.Figure
        """
        return self.spatial_filter().plot_patterns(*args, **kwargs)


def _checked(inst: Any) -> Any:
    """Return a recording if it is one of those that have slow features."""
    if not isinstance(inst, mne.io.BaseRaw | mne.BaseEpochs):
        raise TypeError(f"the recording must be Raw or Epochs; got {type(inst).__name__}")
    return inst


def _rows(inst: Any, names: list[str], *, reject_by_annotation: bool = False) -> Float64Array:
    """Return the samples of some channels as rows, one epoch after the other; NaN where a segment is rejected."""
    if isinstance(inst, mne.io.BaseRaw):
        rows: Float64Array = inst.get_data(names, reject_by_annotation="NaN" if reject_by_annotation else None).T
    else:
        rows = inst.get_data(names).swapaxes(1, 2).reshape(-1, len(names))
    return rows


def _lengths(inst: Any) -> IntArray:
    """Return the number of rows of each epoch, or of each of several recordings that were joined."""
    if not isinstance(inst, mne.io.BaseRaw):
        return np.full(len(inst), len(inst.times))
    boundaries, _ = mne.events_from_annotations(inst, _is_boundary, regexp=None, verbose="warning")
    starts = np.arange(len(inst.times)) == 0
    starts[boundaries[:, 0] - inst.first_samp] = True
    return episode_lengths(starts)


def _is_boundary(description: str) -> int | None:
    """Return a number for the annotations with which MNE marks the places where recordings were joined."""
    return 1 if description.lower().startswith("edge") else None
