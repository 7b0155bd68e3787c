"""Files that are read in sections: the models and features are those of one machine. The workers are this process."""

import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from distributed.protocol.pickle import dumps, loads

from biosfa import load
from biosfa.exceptions import InputError, OutputError
from biosfa.io import StreamOptions, open_stream
from biosfa.io.results import LIST
from biosfa.io.sections import Section
from biosfa.recordings import features, run, scaling
from tests.conftest import posix
from tests.processes import content_of, forked, killed_at

N = 3000


class Here:
    """A cluster whose only worker is this process; everything travels as it would to another."""

    def __init__(self, stop_after=None):
        self.called = 0
        self._stop_after = stop_after

    def share(self, content):
        return content

    def on_each_worker(self, function, *arguments):
        return {"tcp://here": travelled(function)(*travelled(arguments))}

    def in_order(self, function, calls):
        for arguments in calls:
            if self.called == self._stop_after:
                raise KeyboardInterrupt
            self.called += 1
            yield travelled(travelled(function)(*travelled(arguments)))


def travelled(content):
    return loads(dumps(content))


@pytest.fixture
def small_sections(monkeypatch):
    """Sections of a few kilobytes, and blocks of text that are small in the same way."""
    monkeypatch.setattr(scaling, "SECTION_BYTES", 2**13)
    monkeypatch.setattr(scaling, "LARGER_THAN_MOMENTS", 0)
    monkeypatch.setattr("biosfa.io.tables._lines.BLOCK_BYTES", 2**12)
    monkeypatch.setattr("biosfa.io._stream.CHUNK_BYTES", 2**12)


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    t = np.arange(N)
    X = np.sin(t[:, None] / [300, 150, 70]) + 0.5 * rng.standard_normal((N, 3))
    X[rng.integers(0, N, 20), rng.integers(0, 3, 20)] = np.nan
    X[1000:1100] = np.nan
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    frame["trial"] = t // 700
    frame["t"] = t * 0.5 + 40.0 * (t > 2000) + 9.0 * (t > 2400)
    return frame


FORMATS = {
    "csv": lambda frame, path: frame.to_csv(path, index=False),
    "parquet": lambda frame, path: frame.to_parquet(path, row_group_size=170),
    "npy": lambda frame, path: np.save(path, frame.to_numpy()),
}
NUMBERED = {"npy": {"trial": "x3", "t": "x4"}}  # columns of files without names


@pytest.fixture(params=sorted(FORMATS))
def files(request, frame, tmp_path):
    """Three files of one recording."""
    for i, (begin, end) in enumerate([(0, 1300), (1300, 1301), (1301, N)]):
        FORMATS[request.param](frame[begin:end], tmp_path / f"x{i}.{request.param}")
    return [str(tmp_path / f"x{i}.{request.param}") for i in range(3)]


def options_for(files, stream, **options):
    names = NUMBERED.get(files[0].rpartition(".")[2], {})
    given = {key: names.get(value, value) if isinstance(value, str) else value for key, value in stream.items()}
    if "skip" in given:
        given["skip"] = [names.get(name, name) for name in given["skip"]]
    return run.FitOptions(files, 2, stream=StreamOptions(missing="break", **given), **options)


def fitted(options, path, cluster=None, checkpoint_every=0.0):
    run.work(run.begin(options, path), checkpoint_every, cluster)
    return load(path)


def assert_same(model, reference):
    np.testing.assert_allclose(model.delta_values_, reference.delta_values_, rtol=1e-10)
    np.testing.assert_allclose(model.components_, reference.components_, rtol=1e-10, atol=1e-10)
    for name in ("n_samples_seen_", "n_skipped_", "n_broken_pairs_", "feature_names_in_"):
        np.testing.assert_array_equal(getattr(model, name, None), getattr(reference, name, None))


SETTINGS = [
    ({"skip": ["trial", "t"]}, {}),
    ({"skip": ["t"], "episodes": "trial", "joined": True}, {"delays": 4, "lag": 3}),
    ({"time": "t", "skip": ["trial"], "joined": True}, {"delays": 2, "expand": "quadratic"}),
    ({"skip": ["trial", "t"], "episodes": 77}, {"pca": 2, "lag": 2}),
    ({"time": "t", "skip": ["trial"], "joined": True, "max_step": 20.0}, {"delays": 3}),
]


@pytest.mark.filterwarnings("ignore::biosfa.exceptions.ShortEpisodeWarning")
@pytest.mark.parametrize(("stream", "options"), SETTINGS)
def test_sections_give_the_model_and_the_features_of_one_machine(files, stream, options, tmp_path, small_sections):
    fit = options_for(files, stream, **options)
    reference = fitted(fit, tmp_path / "one")
    cluster = Here()
    model = fitted(fit, tmp_path / "many", cluster)
    undivided = stream.get("episodes") == 77 and files[0].endswith("csv")  # where rows of text must be counted
    assert cluster.called == 6 if undivided else cluster.called >= 10
    assert_same(model, reference)
    features.transform(str(tmp_path / "one"), files, str(tmp_path / "one.npy"), {})
    if options.get("delays", 1) > 1 and stream.get("joined"):
        with pytest.raises(InputError, match="leave out --scheduler"):
            features.transform(str(tmp_path / "one"), files, str(tmp_path / "parts.npy"), {}, Here())
        return
    n_rows = features.transform(str(tmp_path / "one"), files, str(tmp_path / "parts.npy"), {}, Here())
    parts = sorted((tmp_path / "parts.npy").glob("*.npy"))
    assert n_rows == N
    assert len(parts) == 3 if undivided else len(parts) >= 10
    np.testing.assert_array_equal(np.concatenate([np.load(part) for part in parts]), np.load(tmp_path / "one.npy"))


@pytest.mark.filterwarnings("ignore::biosfa.exceptions.ShortEpisodeWarning")
def test_features_with_delays_cross_the_sections_of_a_file(files, tmp_path, small_sections):
    fitted(options_for(files, {"skip": ["t"], "episodes": "trial"}, delays=5), tmp_path / "m")
    features.transform(str(tmp_path / "m"), files, str(tmp_path / "one.npy"), {})
    features.transform(str(tmp_path / "m"), files, str(tmp_path / "parts.npy"), {}, Here())
    parts = [np.load(part) for part in sorted((tmp_path / "parts.npy").glob("*.npy"))]
    np.testing.assert_array_equal(np.concatenate(parts), np.load(tmp_path / "one.npy"))


@pytest.mark.filterwarnings("ignore::biosfa.exceptions.ShortEpisodeWarning")
def test_a_stopped_fit_resumes_with_and_without_a_cluster(files, tmp_path, small_sections):
    fit = options_for(files, {"skip": ["trial", "t"]}, delays=3, pca=2)
    reference = fitted(fit, tmp_path / "reference", Here())
    for name, second in [("same", Here()), ("alone", None)]:
        out = tmp_path / name
        with pytest.raises(KeyboardInterrupt):
            run.work(run.begin(fit, out), 1e-9, Here(stop_after=14))
        run.work(run.resume(out), 0.0, second)
        assert_same(load(out), reference)
    assert (tmp_path / "same").read_bytes() == (tmp_path / "reference").read_bytes()
    with pytest.raises(KeyboardInterrupt):
        run.work(run.begin(fit, tmp_path / "half"), 1e-9, Here(stop_after=14))
    begun = run.resume(tmp_path / "half")
    begun.fitting.position = None  # the first section again, as a plain fit stops within one
    stream = open_stream(files, skip=fit.stream.skip, missing="break")
    inside = [chunk.position for chunk in stream][5]
    left = scaling._after(stream.sections(2**13), inside)
    assert left[0].begin == inside.cursor


def test_errors_name_the_same_lines(frame, tmp_path, small_sections):
    frame.fillna(0.0).to_csv(tmp_path / "x.csv", index=False)
    lines = (tmp_path / "x.csv").read_text().splitlines()
    lines[2222] = lines[2222].replace(",", ",no number,", 1).rpartition(",")[0]
    (tmp_path / "x.csv").write_text("\n".join(lines) + "\n")
    fit = run.FitOptions([str(tmp_path / "x.csv")], 1)
    with pytest.raises(InputError) as plain:
        fitted(fit, tmp_path / "m")
    with pytest.raises(InputError) as apart:
        fitted(fit, tmp_path / "m", Here())
    assert "line 2223" in str(plain.value)
    assert str(apart.value) == str(plain.value)


def test_a_gap_in_time_between_sections_is_an_error_with_its_place(frame, tmp_path, small_sections):
    whole = frame.fillna(0.0)
    whole.to_csv(tmp_path / "x.csv", index=False)
    stream = open_stream(tmp_path / "x.csv", time="t", missing="break")
    (tmp_path / "m").unlink(missing_ok=True)
    fit = run.FitOptions([str(tmp_path / "x.csv")], 1, stream=StreamOptions(time="t"))
    with pytest.raises(InputError) as plain:
        fitted(fit, tmp_path / "m")
    with pytest.raises(InputError) as apart:
        fitted(fit, tmp_path / "m", Here())
    assert str(apart.value) == str(plain.value)
    assert stream.n_rows is None


def test_what_a_cluster_cannot_do_is_said_first(files, tmp_path, monkeypatch):
    for options, message in [
        ({"solver": "online"}, "--scheduler is for --solver exact"),
        ({"uneven": True}, "--uneven cannot be used with --scheduler"),
        ({"inputs": ["-"]}, "standard input cannot be read by workers"),
    ]:
        with pytest.raises(ValueError, match=message):
            run.FitOptions(**{"inputs": files, "components": 1, **options}).check_for_cluster()
    fit = options_for(files, {"skip": ["trial", "t"]})
    for seen, message in [
        (([1, 2, 3], ["a"]), r"the worker tcp://here sees another file than x0.* all workers must see the same"),
        ("x0.csv does not exist", "the worker tcp://here cannot read the input: x0.csv does not exist"),
    ]:
        cluster = Here()
        monkeypatch.setattr(cluster, "on_each_worker", lambda *_, seen=seen: {"tcp://here": seen})
        with pytest.raises(InputError, match=message):
            fitted(fit, tmp_path / "m", cluster)
        assert cluster.called == 0


@pytest.mark.filterwarnings("ignore::biosfa.exceptions.ShortEpisodeWarning")
def test_the_usual_step_comes_from_the_first_chunk_that_has_one(tmp_path, small_sections):
    rng = np.random.default_rng(0)
    t = np.concatenate([[0.0], 1.0 + np.arange(1500), 1501.0 + 5.0 * np.arange(1499)])
    frame = pd.DataFrame({"a": rng.standard_normal(N), "b": rng.standard_normal(N), "t": t})
    paths = [str(tmp_path / f"x{i}.parquet") for i in range(2)]
    for path, part in zip(paths, (frame[:1], frame[1:]), strict=True):
        part.to_parquet(path, row_group_size=200)
    fit = run.FitOptions(paths, 1, stream=StreamOptions(time="t", missing="break", joined=True))
    assert_same(fitted(fit, tmp_path / "many", Here()), fitted(fit, tmp_path / "one"))


def test_no_rows(tmp_path):
    frame = pd.DataFrame({"a": np.empty(0), "t": np.empty(0)})
    frame.to_parquet(tmp_path / "x.parquet")
    for options in (StreamOptions(), StreamOptions(time="t")):
        fit = run.FitOptions([str(tmp_path / "x.parquet")], 1, stream=options)
        with pytest.raises(ValueError, match="there are no samples to learn from"):
            fitted(fit, tmp_path / "m", Here())


def test_transform_makes_the_checks_of_one_machine(frame, tmp_path, small_sections):
    columns = ["a", "b", "c"]
    frame.fillna(0.0).to_csv(tmp_path / "x.csv", index=False)
    fitted(run.FitOptions([str(tmp_path / "x.csv")], 1, stream=StreamOptions(columns)), tmp_path / "m")
    lines = (tmp_path / "x.csv").read_text().splitlines()
    (tmp_path / "bad.csv").write_text("\n".join([*lines[:2222], "a,b,c,d,e", *lines[2223:]]))
    for name, given in [("bad.csv", {}), ("x.csv", {"episodes": [1000, 1000]}), ("x.csv", {"time": "t"})]:
        messages = []
        for cluster in (None, Here()):
            with pytest.raises(InputError) as error:
                features.transform(str(tmp_path / "m"), [str(tmp_path / name)], str(tmp_path / "y.npy"), given, cluster)
            messages.append(str(error.value))
            shutil.rmtree(tmp_path / "y.npy", ignore_errors=True)
        assert messages[0] == messages[1]


@pytest.mark.filterwarnings("ignore::biosfa.exceptions.ShortEpisodeWarning")
def test_a_folder_of_an_earlier_run_is_written_again(files, tmp_path):
    fitted(options_for(files, {"skip": ["trial", "t"]}), tmp_path / "m")
    for _ in range(2):
        features.transform(str(tmp_path / "m"), files, str(tmp_path / "y.npy"), {}, Here())
        (tmp_path / "y.npy" / ".part-00003.npy.99999-0.tmp-biosfa").touch()  # of a worker that was killed
    with pytest.raises(OutputError, match="a folder of Zarr arrays cannot be read as one"):
        features.transform(str(tmp_path / "m"), files, str(tmp_path / "y.zarr"), {}, Here())


@pytest.mark.filterwarnings("ignore::biosfa.exceptions.ShortEpisodeWarning")
def test_a_folder_with_other_files_is_not_overwritten(files, tmp_path):
    fitted(options_for(files, {"skip": ["trial", "t"]}), tmp_path / "m")
    (tmp_path / "y.npy").mkdir()
    (tmp_path / "y.npy" / "notes.txt").touch()
    with pytest.raises(OutputError, match=r"holds notes\.txt, which this command has not written"):
        features.transform(str(tmp_path / "m"), files, str(tmp_path / "y.npy"), {}, Here())
    with pytest.raises(InputError, match="workers cannot use standard input and output"):
        features.transform(str(tmp_path / "m"), files, "-", {}, Here())


@pytest.fixture
def transformed(tmp_path, small_sections):
    """A folder with a model and input of many sections, and what is needed to transform it to y.npy."""
    X = np.random.default_rng(0).standard_normal((6000, 3)).cumsum(axis=0)
    np.save(tmp_path / "x.npy", X)
    for name, k in (("m", 2), ("other", 1)):
        fitted(run.FitOptions([str(tmp_path / "x.npy")], k), tmp_path / name)

    def transform(model="m", rows=6000, cluster=None):
        np.save(tmp_path / "some.npy", X[:rows])
        files = [str(tmp_path / "some.npy")]
        features.transform(str(tmp_path / model), files, str(tmp_path / "y.npy"), {}, cluster or Here())

    return transform


def test_the_parts_of_an_earlier_run_are_replaced_together(transformed, tmp_path):
    transformed()
    before, other = content_of(tmp_path / "y.npy"), content_of(tmp_path)
    for stop_after in (0, 1, 5):
        with pytest.raises(KeyboardInterrupt):
            transformed("other", cluster=Here(stop_after))
        assert content_of(tmp_path) == other
    assert len(before) > 10
    transformed("other", rows=2000)
    after = content_of(tmp_path / "y.npy")
    assert 1 < len(after) < len(before)
    assert open_stream(tmp_path / "y.npy").n_features == 1
    assert sum(chunk.n_rows for chunk in open_stream(tmp_path / "y.npy")) == 2000


@posix
@pytest.mark.parametrize(
    "put",
    [
        lambda folder: (folder / "part-of-my-thesis.txt").write_text("precious"),
        lambda folder: ((folder / "part-2").mkdir(), (folder / "part-2" / "data").write_text("precious")),
        lambda folder: (folder / "part-99999.npy").write_text("precious"),
        lambda folder: (folder / ".part-00001.npy").write_text("precious"),
        lambda folder: (folder / "part-00001.npy").write_text("precious"),
        lambda folder: (folder / "part-link.npy").symlink_to(folder.parent / "x.npy"),
        lambda folder: ((folder / "part-00001.npy").unlink(), (folder / "part-00001.npy").symlink_to("part-00000.npy")),
    ],
)
@pytest.mark.parametrize("when", ["without parts", "beside parts", "meanwhile"])
def test_what_transform_has_not_written_is_never_removed(transformed, tmp_path, put, when):
    if when == "without parts":
        (tmp_path / "y.npy").mkdir()
        (tmp_path / "y.npy" / "part-00001.npy").write_text("precious")
    else:
        transformed()
    before, cluster = {}, Here()

    def put_in_the_way(content):
        put(tmp_path / "y.npy")
        before.update(content_of(tmp_path / "y.npy"))
        return content

    if when == "meanwhile":
        cluster.share = put_in_the_way
    else:
        put_in_the_way(None)
    with pytest.raises(OutputError, match=r"this command has not written|has changed since|is a link"):
        transformed("other", cluster=cluster)
    assert content_of(tmp_path / "y.npy") == before
    assert not list(tmp_path.glob(".y.npy*"))


def test_what_workers_leave_is_no_part(transformed, tmp_path):
    class Failing(Here):
        """Its first call leaves the files of a worker that was killed."""

        def in_order(self, function, calls):
            for arguments in calls:
                folder = Path(arguments[-1]).parent
                (folder / ".part-00000.npy.1-1.tmp-biosfa").write_text("half")
                (folder / ".part-00000.npy.lock-biosfa").touch()
                yield travelled(function)(*arguments)

    transformed(cluster=Failing())
    names = [path.name for path in (tmp_path / "y.npy").iterdir() if not path.name.startswith("part-")]
    assert names == [LIST]


def test_a_folder_that_lacks_a_part_is_not_read(transformed, tmp_path):
    transformed()
    whole = (tmp_path / "y.npy" / "part-00002.npy").read_bytes()
    for spoil in (lambda part: part.write_bytes(whole[:-8]), lambda part: part.unlink()):
        spoil(tmp_path / "y.npy" / "part-00002.npy")
        with pytest.raises(InputError, match=r"y\.npy is incomplete: of its \d+ parts, part-00002\.npy are missing or"):
            open_stream(tmp_path / "y.npy")
    (tmp_path / "y.npy" / "part-00002.npy").write_bytes(whole)
    assert open_stream(tmp_path / "y.npy").n_rows == 6000


def kill_transforms(folder):
    """Kill transforms of a folder to another, some at every few touches and one just before its end."""
    scaling.SECTION_BYTES, out = 2**14, folder / "y.npy"
    features.transform(str(folder / "m"), [str(folder / "x.npy")], str(out), {}, Here())
    old = content_of(out)
    for touch in (1, 6, 20, *range(40, 400, 5)):
        arguments = [str(folder / "other"), [str(folder / "x.npy")], str(out), {}, Here()]
        was_killed = killed_at(touch, folder, features.transform, *arguments)
        found = content_of(out) if out.exists() else None  # for a moment, there is neither the old folder nor the new
        new = found is not None and open_stream(out).n_features == 1
        assert found in (old, None) or (new and open_stream(out).n_rows == 6000)
        features.transform(str(folder / "m"), *arguments[1:])
        assert content_of(out) == old
        assert not list(folder.glob(".y.npy*"))
        if not was_killed:
            return
    raise AssertionError("it is longer than expected")


@posix
def test_killed_at_any_moment_it_has_all_old_parts_or_all_new_ones(transformed, tmp_path):
    process = forked(kill_transforms, tmp_path)
    process.join()
    assert process.exitcode == 0


def test_lengths_need_numbers_of_rows(tmp_path):
    for i in range(2):
        pd.DataFrame({"a": np.arange(50.0)}).to_csv(tmp_path / f"x{i}.csv", index=False)
    paths = [tmp_path / "x0.csv", tmp_path / "x1.csv"]
    with pytest.raises(InputError, match=r"x1\.csv: how many rows come before it is not known"):
        open_stream(paths, episodes=[60, 40], joined=True).sections(100)
    assert open_stream(paths[0], episodes=[30, 20]).sections(100) == [Section(0, (), (), 0, 0)]


def test_a_pattern_stands_for_its_files(tmp_path):
    for i in (2, 10, 1):
        np.save(tmp_path / f"x{i}.npy", np.full((1, 1), float(i)))
    found = [chunk.samples[0, 0] for chunk in open_stream(str(tmp_path / "x*.npy"))]
    assert found == [1.0, 2.0, 10.0]
    with pytest.raises(InputError, match=r"there are no files .*z"):
        open_stream(tmp_path / "z*.npy")
