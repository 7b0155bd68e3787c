"""Computes the slow features of files and writes them to a file."""

from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from biosfa.cluster import Cluster
from biosfa.estimators import Projection, SlowFeatureEstimator, load
from biosfa.exceptions import InputError, ModelFileError
from biosfa.io import Stream, StreamOptions
from biosfa.io.tables import STDIN, STDOUT, create_table, is_table
from biosfa.io.targets import check_target
from biosfa.presentation.progress import Progress
from biosfa.recordings.remembered import opened_for


def slow_model(path: str) -> SlowFeatureEstimator:
    """Load a model of slow features from a file.

    Raises
    ------
    InputError
        If the file holds another kind of model, or samples.
    """
    try:
        model = load(path)
    except ModelFileError:
        if not is_table(Path(path)):
            raise
        raise InputError(f"{path} is a file of samples, not a model: the model comes first, then the inputs") from None
    if not isinstance(model, SlowFeatureEstimator):
        raise InputError(f"{path} holds {type(model).__name__}, which does not take rows of samples")
    return model


def transform(
    model_path: str, inputs: list[str], out: str, given: Mapping[str, Any], cluster: Cluster | None = None
) -> int:
    """Write the slow features of the inputs to a file, one row per row of the input, and return the number of rows.

    ``given`` has fields of StreamOptions; the others are those of the fit. With a cluster, ``out`` is a folder.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from biosfa import SFA
    >>> from biosfa.recordings import features
    >>> X = np.random.default_rng(0).standard_normal((50, 3))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     np.save(f"{folder}/x.npy", X)
    ...     SFA(1).fit(X).save(f"{folder}/model")
    ...     features.transform(f"{folder}/model", [f"{folder}/x.npy"], f"{folder}/y.npy", {})
    50
    """
    model = slow_model(model_path)
    stream, options = opened_for(model, inputs, given)
    if out != STDOUT:
        check_target(Path(out), [model_path, *stream.files()], folder=True)
    if cluster is not None:
        return _transform_on(cluster, model, options, inputs, stream, out)
    n_rows = 0
    with (
        Progress("transform", total=None, unit="samples") as progress,
        create_table(out, feature_names(model)) as table,
    ):
        projection = Projection.of(model)
        for chunk in stream:
            table.write(projection.features(chunk))
            n_rows += chunk.n_rows
            progress.reach(stream.fraction(chunk.position), n_rows)
    return n_rows


def feature_names(model: SlowFeatureEstimator) -> list[str]:
    """Return the names of the columns of a file of features."""
    return [f"slow{i}" for i in range(len(model.components_))]


def _transform_on(
    cluster: Cluster,
    model: SlowFeatureEstimator,
    options: StreamOptions,
    inputs: list[str],
    stream: Stream,
    out: str,
) -> int:
    """Write the features with the workers of a cluster, to a folder with one file per section of the inputs."""
    from biosfa.recordings import scaling

    if out == STDOUT or STDIN in inputs:
        raise InputError("workers cannot use standard input and output: for --scheduler, give files and a folder")
    n_rows = 0
    absolute = [str(Path(name).absolute()) for name in inputs]
    transformed = scaling.transform(model, options, absolute, stream, Path(out).absolute(), cluster)
    with Progress("transform", total=None, unit="samples") as progress, closing(transformed):
        for n_rows, done in transformed:
            progress.reach(done, n_rows)
    return n_rows
