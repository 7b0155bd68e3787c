"""Whether results by different roads agree, and how rows take these roads."""

import warnings

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import onnxruntime
import pandas as pd
import pyarrow as pa
from pyarrow import parquet

from biosfa.exceptions import InputError
from biosfa.integrations.onnx import to_onnx

DOUBLE, SINGLE = 1e-8, 2e-6  # largest relative difference, for rows of each precision


class Disagreement(AssertionError):  # noqa: N818 (it is one, in words)
    """A road gives something else than the array in memory."""

    def __init__(self, road, what):
        super().__init__(f"{road}: {what}")
        self.road = road


class Comparison:
    """What the array in memory gives, to be compared with what the other roads give.

    ``reference`` returns numbers by name, or raises an error of input; then the others must raise one too.
    """

    def __init__(self, reference, configuration):
        self.configuration = configuration
        self.refusal, self.wanted = None, {}
        try:
            self.wanted = _quietly(reference)
        except (ValueError, ArithmeticError) as error:
            self.refusal = error

    def check(self, road, results, tolerance):
        """Raise Disagreement unless a road gives the same; ``tolerance`` is for each of the results by name."""
        try:
            found = _quietly(results)
        except (ValueError, ArithmeticError, AttributeError) as error:
            if self.refusal is None:
                raise Disagreement(road, f"{error!r} with {self.configuration}") from error
            return
        except Exception as error:
            raise Disagreement(road, f"{error!r} with {self.configuration}") from error
        if self.refusal is not None:
            raise Disagreement(road, f"no error, but {self.refusal!r} with {self.configuration}")
        for name, values in found.items():
            difference = difference_of(np.asarray(values), np.asarray(self.wanted[name]), signed=name == "features")
            if not difference <= tolerance[name]:
                raise Disagreement(road, f"{name} differ by {difference:.2g} with {self.configuration}")

    def end(self):
        """Raise the error of the reference, if it has refused the configuration."""
        if self.refusal is not None:
            raise InputError(" ".join(str(self.refusal).split()))


def _quietly(call):
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return call()


def difference_of(found, wanted, *, signed):
    """The largest difference relative to the largest number of a column; infinite where shapes, NaN or words differ.

    ``signed``: the columns may have the opposite sign.
    """
    if found.shape != wanted.shape:
        return np.inf
    if wanted.dtype.kind in "UO":
        return 0.0 if np.array_equal(found, wanted) else np.inf
    finite = np.isfinite(wanted)
    if (np.isfinite(found) != finite).any() or (np.isnan(found) != np.isnan(wanted)).any():
        return np.inf
    found, wanted = np.where(finite, found, 0.0).astype(float), np.where(finite, wanted, 0.0).astype(float)
    if signed:
        found = found * np.where((found * wanted).sum(axis=0) < 0.0, -1.0, 1.0)
    scale = np.abs(wanted).max(axis=0, initial=1e-300)
    return float((np.abs(found - wanted) / scale).max(initial=0.0))


def sizes_with_empty_ones(rng, n):
    """Sizes of chunks for n rows; some chunks have none, often the first and the last."""
    cuts = np.sort(rng.integers(0, n + 1, rng.integers(0, 6)))
    cuts = np.repeat(cuts, rng.integers(1, 3, len(cuts)))
    ends = [0] * rng.integers(0, 3) + cuts.tolist() + [n] * rng.integers(1, 3)
    return np.diff([0, *ends]).tolist()


def dask_array(rng, X):
    """X as an array of Dask, with chunks that have no rows."""
    return da.from_array(X, chunks=(tuple(sizes_with_empty_ones(rng, len(X))), X.shape[1]))


def dask_frame(rng, X):
    """X as a frame of Dask, with partitions that have no rows."""
    sizes = sizes_with_empty_ones(rng, len(X))
    frame = pd.DataFrame(X.astype(X.dtype.newbyteorder("=")), columns=names_of(X))
    ends = np.cumsum(sizes)
    parts = [dask.delayed(frame.iloc[end - size : end]) for size, end in zip(sizes, ends, strict=True)]
    return dd.from_delayed(parts, meta=frame.iloc[:0])


def dated_frame(X, lengths):
    """X as a frame of pandas with one row per second, and a gap between episodes."""
    episode = np.repeat(np.arange(len(lengths)), lengths)
    seconds = np.arange(len(X)) + 1000 * episode
    index = pd.to_datetime("2026-03-01") + pd.to_timedelta(seconds, unit="s")
    return pd.DataFrame(X.astype(X.dtype.newbyteorder("=")), columns=names_of(X), index=index)


def write_table(rng, X, folder):
    """X in a file of some format."""
    suffix = rng.choice(["csv", "npy", "parquet"])
    path = folder / f"rows.{suffix}"
    if suffix == "csv":
        form = "%d" if X.dtype.kind == "i" else "%.17g"
        np.savetxt(path, X, delimiter=",", fmt=form, header=",".join(names_of(X)), comments="")
    elif suffix == "npy":
        np.save(path, X)
    else:
        columns = [pa.array(np.ascontiguousarray(column, X.dtype.newbyteorder("="))) for column in X.T]
        parquet.write_table(pa.table(columns, names=names_of(X)), path, row_group_size=int(rng.integers(1, 200)))
    return path


def names_of(X):
    """Names of the columns of a frame."""
    return [f"c{i}" for i in range(X.shape[1])]


def chunks_of(rng, n, sizes=(1, 2, 3, 17, 100)):
    """Slices of chunks of random sizes."""
    begin = 0
    while begin < n:
        end = min(n, begin + int(rng.choice(sizes)))
        yield slice(begin, end)
        begin = end


def answers_of_onnx(rng, model, X, lengths, *, stream):
    """What ONNX Runtime computes in float64, episode by episode; chunk by chunk if the graph takes a stream."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(to_onnx(model, stream=stream, dtype=np.float64).SerializeToString(), options)
    inputs = {given.name: given.shape for given in session.get_inputs()}
    rows, found = X.astype(np.float64), []
    for end, length in zip(np.cumsum(lengths), lengths, strict=True):
        episode = rows[end - length : end]
        if not stream:
            found.append(session.run(None, {"X": episode})[0])
            continue
        state = np.full(inputs["state"], np.nan)
        for chunk in chunks_of(rng, length):
            features, state = session.run(None, {"X": episode[chunk], "state": state})
            found.append(features)
    return np.concatenate(found)
