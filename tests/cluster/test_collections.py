"""Dask arrays and data frames: the models and features are those of the same rows in memory."""

import warnings

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.preprocessing import SplineTransformer

from biosfa import SFA, BioSFA, LocalSFA, OnlineSFA
from biosfa.exceptions import InputError, ShortEpisodeWarning
from biosfa.io import open_stream

EXACT = 1e-10
N, D = 90, 4


@pytest.fixture(autouse=True)
def in_this_thread():
    with dask.config.set(scheduler="synchronous"):
        yield


@pytest.fixture
def X():
    rng = np.random.default_rng(0)
    return 0.3 * rng.standard_normal((N, D)).cumsum(axis=0) + rng.standard_normal((N, D))


def chunked(X, sizes=(40, 1, 30, 19)):
    return da.from_array(X, chunks=(tuple(sizes), (X.shape[1],)))


def parts_of(total, cuts):
    """The lengths of the parts into which these cuts divide a number of rows."""
    return np.diff([0, *sorted(cuts), total]).tolist()


cuts = st.sets(st.integers(1, N - 1), max_size=12)
chunk_ends = st.lists(st.integers(0, N), max_size=12)  # some of them equal: chunks without rows, also at both ends
rows = st.sets(st.integers(0, N - 1), max_size=6)


def frames_of(X, sizes):
    """A frame of Dask with partitions of these sizes."""
    ends = np.cumsum(sizes)
    frames = [pd.DataFrame(X[end - size : end], columns=list("abcd")) for size, end in zip(sizes, ends, strict=True)]
    return dd.from_delayed([dask.delayed(frame) for frame in frames], meta=frames[0].iloc[:0])


def assert_same(model, reference):
    np.testing.assert_allclose(model.delta_values_, reference.delta_values_, rtol=EXACT)
    np.testing.assert_allclose(model.components_, reference.components_, rtol=EXACT, atol=EXACT)
    np.testing.assert_allclose(model.mean_, reference.mean_, rtol=EXACT, atol=EXACT)
    for name in ("n_samples_seen_", "n_skipped_", "n_broken_pairs_", "rank_"):
        assert getattr(model, name) == getattr(reference, name), name


@pytest.mark.filterwarnings("ignore::biosfa.exceptions.ShortEpisodeWarning")
@settings(deadline=None, max_examples=40)
@given(
    chunk_cuts=chunk_ends,
    episode_cuts=st.none() | cuts,
    missing=rows,
    lag=st.integers(1, 3),
    n_delays=st.integers(1, 3),
    pca=st.none() | st.just(3),
    expansion=st.none() | st.just("quadratic"),
    weighted=st.booleans(),
    framed=st.booleans(),
)
def test_any_chunks_give_the_model_of_one_machine(
    chunk_cuts, episode_cuts, missing, lag, n_delays, pca, expansion, weighted, framed
):
    rng = np.random.default_rng(1)
    X = 0.3 * rng.standard_normal((N, D)).cumsum(axis=0) + rng.standard_normal((N, D))
    X[sorted(missing), 0] = np.nan
    lengths = None if episode_cuts is None else parts_of(N, episode_cuts)
    weights = rng.uniform(0.5, 2.0, N) if weighted else None
    sizes = parts_of(N, chunk_cuts)
    collection = frames_of(X, sizes) if framed else chunked(X, sizes)
    sfa = SFA(1, lag=lag, n_delays=n_delays, pca=pca, expansion=expansion, missing="break", ridge=1e-3)
    try:
        reference = SFA(**sfa.get_params()).fit(X, lengths=lengths, sample_weight=weights)
    except ValueError:  # nothing can be learned from such short episodes
        with pytest.raises(ValueError, match=r"episodes are too short|there are no samples|exceeds the rank"):
            sfa.fit(collection, lengths=lengths, sample_weight=weights)
        return
    sfa.fit(collection, lengths=lengths, sample_weight=weights)
    assert_same(sfa, reference)
    features = sfa.transform(collection, lengths=lengths)
    assert framed or features.chunks == (tuple(size for size in sizes if size), (1,))  # Dask drops empty ones
    np.testing.assert_allclose(features.compute(), reference.transform(X, lengths=lengths), rtol=EXACT, atol=EXACT)


def test_one_row_per_chunk(X):
    sfa = SFA(2, n_delays=3, lag=2)
    assert_same(sfa.fit(chunked(X, [1] * N)), SFA(2, n_delays=3, lag=2).fit(X))


def test_weights_and_labels_of_episodes_may_be_collections(X):
    weights, labels = np.random.default_rng(2).uniform(0.5, 2.0, N), np.repeat([3, 1, 2], 30)
    given = {"sample_weight": da.from_array(weights, chunks=17), "episode": da.from_array(labels, chunks=11)}
    assert_same(SFA(2).fit(chunked(X), **given), SFA(2).fit(X, sample_weight=weights, episode=labels))
    index = np.delete(np.arange(N + 1), 50)
    assert_same(SFA(2).fit(chunked(X), index=index), SFA(2).fit(X, index=index))


def test_short_episodes_and_counters_are_found_across_chunks(X):
    with pytest.warns(ShortEpisodeWarning, match="2 of 4 episodes have fewer than 4 samples") as told:
        SFA(2, n_delays=2, lag=2).fit(chunked(X), lengths=[39, 3, 2, 46])
    assert told[0].filename == __file__
    with pytest.warns(UserWarning, match="x4") as told:
        SFA(2).fit(chunked(np.column_stack([X, np.arange(N)])))
    assert told[0].filename == __file__


def test_a_fit_of_a_collection_can_continue(X):
    model = SFA(2).fit(chunked(X)).partial_fit(X[:50])
    assert_same(model, SFA(2).fit(np.concatenate([X, X[:50]]), lengths=[N, 50]))


def test_an_expansion_is_fitted_to_the_first_chunk(X):
    model = SFA(2, expansion=SplineTransformer(4, include_bias=False)).fit(chunked(X, [60, 30]))
    fitted = SplineTransformer(4, include_bias=False).fit(X[:60])
    assert_same(model, SFA(2, expansion=fitted).fit(X))


def test_an_expansion_is_fitted_to_the_first_chunk_with_samples(X):
    X[:5] = np.nan
    expansion = SplineTransformer(4, include_bias=False)
    model = SFA(2, expansion=expansion, missing="break").fit(frames_of(X, [0, 5, 0, 55, 30]))
    fitted = SplineTransformer(4, include_bias=False).fit(X[5:60])
    np.testing.assert_allclose(model.delta_values_, SFA(2, expansion=fitted).fit(X[5:]).delta_values_, rtol=EXACT)


@pytest.mark.parametrize("learner", [SFA, OnlineSFA])
def test_partitions_without_rows(X, learner):
    """A frame of which only some rows are wanted begins with partitions that have none of them."""
    frame = pd.DataFrame(X, columns=list("abcd"))
    frames = dd.from_pandas(frame, npartitions=6)
    for wanted in (frame.a > frame.a.median(), frame.index >= 40, (frame.index < 20) | (frame.index > 70)):
        rows, chosen = frame[wanted], frames[dd.from_pandas(pd.Series(wanted, frame.index), npartitions=6)]
        model, reference = (learner(2, random_state=0) if learner is OnlineSFA else SFA(2) for _ in range(2))
        model.fit(chosen)
        np.testing.assert_allclose(model.delta_values_, reference.fit(rows).delta_values_, rtol=1e-8)
        np.testing.assert_allclose(model.transform(chosen).compute(), reference.transform(rows), rtol=1e-6, atol=1e-9)
    with pytest.raises(ValueError, match="no samples"):
        learner(2).fit(frames[frames.a > 1e9])


def test_frames(X):
    frame = pd.DataFrame(X, columns=list("abcd"), index=pd.date_range("2026-01-01", periods=N, freq="s"))
    frames = dd.from_pandas(frame, npartitions=4)
    for lengths, weights in [(None, None), ([50, 40], np.linspace(1.0, 2.0, N))]:
        model = SFA(2, n_delays=3).fit(frames, lengths=lengths, sample_weight=weights)
        reference = SFA(2, n_delays=3).fit(frame, lengths=lengths, sample_weight=weights)
        assert_same(model, reference)
        assert model.feature_names_in_.tolist() == ["a", "b", "c", "d"]
    features = model.transform(frames)
    found = features.compute()
    assert features.npartitions == 4
    assert found.columns.tolist() == ["sfa0", "sfa1"]
    assert found.index.equals(frame.index)
    np.testing.assert_allclose(found, reference.transform(frame), rtol=EXACT, atol=EXACT)
    np.testing.assert_allclose(
        SFA(2).fit(frames).transform(frames).compute(), SFA(2).fit(frame).transform(frame), rtol=EXACT, atol=EXACT
    )


def test_frames_with_gaps_small_partitions_and_any_numbers(X):
    index = pd.date_range("2026-01-01", periods=N, freq="s") + pd.to_timedelta(np.where(np.arange(N) < 50, 0, 9), "h")
    frame = pd.DataFrame({"a": X[:, 0], "b": X[:, 1] > 0, "c": pd.array(np.arange(N) % 7, "Int64")}, index=index)
    frame.iloc[20, 2] = pd.NA
    frames = dd.concat([dd.from_pandas(frame[i:j], npartitions=1) for i, j in [(0, 1), (1, 40), (40, 52), (52, N)]])
    model = SFA(2, n_delays=3, missing="break").fit(frames)
    reference = SFA(2, n_delays=3, missing="break").fit(frame.astype(float))
    assert_same(model, reference)
    features = model.transform(frames)
    np.testing.assert_allclose(features.compute(), reference.transform(frame.astype(float)), rtol=EXACT, atol=EXACT)
    single = dd.from_pandas(pd.DataFrame(X.astype(np.float32), columns=list("abcd")), npartitions=3)
    assert set(SFA(1).fit(single).transform(single).compute().dtypes) == {np.dtype(np.float32)}


def test_labels_and_weights_of_frames(X, tmp_path):
    frame = pd.DataFrame(X, columns=list("abcd")).assign(trial=np.repeat([3, 1, 2], 30))
    for i in range(5):
        frame[18 * i : 18 * (i + 1)].to_parquet(tmp_path / f"{i}.parquet")
    frames, weights = dd.read_parquet(tmp_path), np.linspace(1.0, 2.0, N)
    chosen = frames[["a", "b"]]  # Dask reads several files as one part, if it may
    model = SFA(2, n_delays=2).fit(chosen, episode=frames["trial"], sample_weight=weights)
    reference = SFA(2, n_delays=2).fit(frame[["a", "b"]], episode=frame["trial"], sample_weight=weights)
    assert_same(model, reference)
    features = model.transform(chosen, episode=frames["trial"])
    assert features.npartitions == chosen.npartitions
    expected = reference.transform(frame[["a", "b"]], episode=frame["trial"])
    np.testing.assert_allclose(features.compute(), expected, rtol=EXACT, atol=EXACT)


def test_a_counter_that_falls_across_a_missing_row_is_none(X):
    counter = np.concatenate([np.arange(40.0), [np.nan], np.arange(49.0)])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        SFA(2, missing="break").fit(chunked(np.column_stack([X, counter]), [40, 50]))


def test_results_do_not_hold_their_chunks(X):
    history = SFA(1, n_delays=3).partial_fit(X)._signal.history  # of an episode that is open
    assert len(history)
    assert history.base is None


def test_features_keep_the_precision_of_the_samples(X):
    single = chunked(X.astype(np.float32))
    features = SFA(1).fit(single).transform(single)
    assert features.dtype == features.compute().dtype == np.float32


def test_features_of_some_rows_need_only_the_chunks_near_them(X):
    computed = []

    def seen(block, block_info=None):
        computed.append(block_info[0]["chunk-location"][0])
        return block

    model = SFA(2, n_delays=3).fit(X)
    features = model.transform(chunked(X, [20, 1, 29, 20, 20]).map_blocks(seen, dtype=X.dtype))
    np.testing.assert_allclose(features[21:50].compute(), model.transform(X)[21:50])
    assert sorted(set(computed)) == [0, 1, 2]


@pytest.mark.parametrize("learner", [OnlineSFA, LocalSFA, BioSFA])
def test_online_learners_read_chunks_in_order_and_one_ahead(X, learner):
    computed, learned = [], []

    def seen(block, block_info=None):
        computed.append((block_info[0]["chunk-location"][0], len(learned)))
        return block

    collection = chunked(X, [30, 20, 40]).map_blocks(seen, dtype=X.dtype)
    computed.clear()  # Dask calls the function once to know what it returns

    class Counting(learner):
        def _learn(self, samples, starts, **options):
            learned.append(len(samples))
            super()._learn(samples, starts, **options)

    model = Counting(2, random_state=0).fit(collection, lengths=[50, 40])
    reference = learner(2, random_state=0).fit(X, lengths=[50, 40])
    np.testing.assert_allclose(model.components_, reference.components_, rtol=1e-9, atol=1e-12)
    assert learned == [30, 20, 40]
    assert [number for number, _ in computed] == [0, 1, 2]
    assert all(number <= done + 1 for number, done in computed)
    np.testing.assert_allclose(model.transform(chunked(X)).compute(), reference.transform(X), rtol=1e-8, atol=1e-10)


def test_a_collection_is_a_stream(X):
    frame = pd.DataFrame({"t": np.arange(N), "a": X[:, 0], "b": X[:, 1]})
    frame.loc[60:, "t"] += 100
    stream = open_stream(dd.from_pandas(frame, npartitions=3), time="t", missing="break", chunk_size=7)
    chunks = list(stream)
    np.testing.assert_array_equal(np.concatenate([chunk.samples for chunk in chunks]), X[:, :2])
    assert np.flatnonzero(np.concatenate([chunk.starts for chunk in chunks])).tolist() == [0, 60]
    again = list(stream.chunks(chunks[5].position))
    np.testing.assert_array_equal(again[0].samples, chunks[6].samples)
    assert stream.fraction(chunks[-1].position) == pytest.approx(2 / 3)  # where the last chunk begins


@pytest.mark.parametrize(
    ("collection", "message"),
    [
        (lambda X: da.from_array(X, chunks=(50, 2)), r"2 chunks across its columns.*X\.rechunk\(\{1: -1\}\)"),
        (lambda X: chunked(X)[chunked(X)[:, 0] > 0], r"not known: call X\.compute_chunk_sizes\(\)"),
        (lambda X: chunked(X)[:, 0], "Expected 2D array"),
        (lambda X: chunked(np.where(np.arange(N)[:, None] == 71, np.nan, X)), "NaN at row 71, column 0"),
        (lambda X: chunked(X + 1j), "[Cc]omplex"),
        (
            lambda X: dd.from_pandas(pd.DataFrame(X, columns=["a"] * X.shape[1]), npartitions=2),
            "X has several columns named 'a'",
        ),
    ],
)
def test_bad_collections(X, collection, message):
    model = SFA(2)
    with pytest.raises(ValueError, match=message):
        model.fit(collection(X))
    assert not hasattr(model, "components_")


def test_bad_arguments(X):
    with pytest.raises(ValueError, match="sample_weight must be a list of length 90"):
        SFA(2).fit(chunked(X), sample_weight=da.ones(5))
    with pytest.raises(ValueError, match="sample_weight must be finite and not negative"):
        SFA(2).fit(chunked(X), sample_weight=-da.ones(N))
    with pytest.raises(ValueError, match="lengths add up to 5 rows, but X has 90"):
        SFA(2).fit(chunked(X), lengths=[5])
    with pytest.raises(ValueError, match="time is for arrays in memory"):
        SFA(2).fit(chunked(X), time=np.arange(N))
    with pytest.raises(InputError, match="is not a number"):
        OnlineSFA(1).fit(dd.from_pandas(pd.DataFrame({"a": ["x", "y"] * 5, "b": np.arange(10.0)}), npartitions=2))
    frames = dd.from_pandas(pd.DataFrame(X, columns=list("abcd")), npartitions=2)
    with pytest.raises(ValueError, match="feature names"):
        SFA(1).fit(frames).transform(frames[["b", "a", "c", "d"]])
