"""The arena: the same stream for all, judged by the same measure, and honest about it."""

import json

import numpy as np
import pytest

from biosfa import SFA, BioSFA, metrics
from biosfa.experiments import arena as compare
from biosfa.experiments.arena._contestants import CONTESTANTS
from biosfa.experiments.arena._experiment import first_close, interval
from biosfa.experiments.arena._outsiders import OUTSIDERS, Outsider
from biosfa.experiments.arena._problems import KINDS, load_problem
from biosfa.experiments.arena._report import as_text, winner, with_range
from biosfa.experiments.arena._scaling import SCALED, exponent, state_bytes
from biosfa.experiments.engine import ExperimentError
from biosfa.io import StreamOptions
from biosfa.rivals import IncrementalSFA
from tests.conftest import slow_mixture


@pytest.fixture(scope="module")
def arena(tmp_path_factory):
    """A small arena with all learners, twice."""
    folders = [tmp_path_factory.mktemp(name) / "out" for name in ("first", "second")]
    config = compare.configure("mixture", samples=4000, runs=2, scaling=False)
    return config, folders, [compare.compare(config, folder) for folder in folders]


def test_results_do_not_depend_on_when_they_are_computed(arena):
    _, folders, _ = arena
    assert (folders[0] / "metrics.json").read_bytes() == (folders[1] / "metrics.json").read_bytes()


def test_exact_sfa_is_the_floor_and_everybody_is_there(arena):
    _, folders, runs = arena
    found = runs[0][0]
    assert abs(found["learners"]["exact"]["error"]["greatest"]) < 1e-9
    with np.load(folders[0] / "curves.npz") as curves:
        for name in CONTESTANTS:
            errors = curves[f"error_{name}"]
            assert errors.shape == (2, len(curves["samples"]))
            assert (errors[np.isfinite(errors)] > -1e-9).all(), name
            assert (curves[f"seconds_{name}"] > 0).all(), name
    report = (folders[0] / "report.html").read_text()
    for learner in CONTESTANTS.values():
        assert learner.label in report.replace("&#x27;", "'")
    assert "exact SFA" in as_text(*runs[0])


def test_a_learner_in_the_arena_is_the_learner_outside(arena):
    """Error and angle of a run are those of the same estimator on the same stream, as the metrics have them."""
    _, folders, _ = arena
    X = slow_mixture(4000, seed=1)[1]
    with np.load(folders[0] / "curves.npz") as curves:
        for name, net in (("bio-sfa", BioSFA(3, random_state=1)), ("incremental", IncrementalSFA(3, random_state=1))):
            net.partial_fit(X)
            relative = metrics.slowness_error(net.components_, X) / metrics.slowest(X, 3).sum()
            assert curves[f"error_{name}"][1, -1] == pytest.approx(relative, rel=1e-6)
            angle = np.degrees(metrics.subspace_angle(net.components_, SFA(3).fit(X).components_, X))
            assert curves[f"angle_{name}"][1, -1] == pytest.approx(angle, rel=1e-6)


@pytest.mark.usefixtures("unpainted")
def test_a_finished_arena_resumes_and_another_one_is_not_mixed_in(arena):
    config, folders, runs = arena
    again = compare.compare(config, folders[0], resume=True)
    assert again.found == runs[0].found
    assert again.timings["learners"] == runs[0].timings["learners"]  # nothing ran
    with pytest.raises(ExperimentError, match="samples was 4000 and is 5000"):
        compare.compare(compare.configure("mixture", samples=5000, runs=2, scaling=False), folders[0])


@pytest.mark.parametrize("name", OUTSIDERS)
@pytest.mark.parametrize("kind", KINDS)
def test_software_of_others_agrees_with_exact_sfa(name, kind):
    outsider = OUTSIDERS[name]
    if not outsider.is_installed:
        pytest.skip(f"{outsider.package} is not installed")
    for k in {KINDS[kind].n_components, 3}:  # the chaotic series has features that alternate beside slow ones
        problem = load_problem(kind, 20_000, k, 0)
        directions = outsider.directions(problem)
        if directions is None:
            assert problem.starts[1:].any()
            return
        # TICA counts each pair in both directions, which the ends of episodes show: of images there are 200
        error, angle = problem.judge(directions)
        assert abs(error) < 1e-3
        assert angle < (5.0 if kind == "images-small" else 0.1)


@pytest.mark.parametrize("kind", KINDS)
def test_problems_have_the_best_features_that_metrics_know(kind):
    problem = load_problem(kind, 5000, KINDS[kind].n_components, 3)
    least = metrics.slowest(problem.moments, problem.n_components)
    np.testing.assert_allclose(problem.best.delta_values, least, rtol=1e-9)
    error, angle = problem.judge(problem.best.directions)
    assert error == pytest.approx(0.0, abs=1e-9)
    assert angle < 1e-4
    assert np.isnan(problem.judge(np.zeros((problem.n_components, problem.signal.shape[1])))).all()
    assert np.isnan(problem.judge(None)).all()


def test_a_file_is_a_problem_with_its_gaps_and_episodes(tmp_path):
    X = slow_mixture(3000, seed=5)[1]
    X[100, 3] = np.nan
    path = tmp_path / "recording.csv"
    columns = np.column_stack([np.arange(3000.0), X])
    np.savetxt(path, columns, delimiter=",", header="t," + ",".join(f"x{i}" for i in range(10)), comments="")
    config = compare.configure(
        str(path), components=2, runs=2, learners=["online"], scaling=False, stream=StreamOptions(time="t")
    )
    found, _ = compare.compare(config, tmp_path / "out")
    assert list(found["learners"]) == ["exact", "online"]
    stream = found["stream"]
    assert (stream["samples"], stream["columns"], stream["episodes"], stream["rows_skipped"]) == (2999, 10, 2, 1)
    problem = load_problem(str(path), 10_000, 2, 0, StreamOptions(time="t", missing="break"))
    np.testing.assert_array_equal(problem.signal, np.delete(X, 100, axis=0))
    np.testing.assert_array_equal(np.flatnonzero(problem.starts), [0, 100])
    assert json.loads((tmp_path / "out" / "config.json").read_text())["stream"]["time"] == "t"
    columns[2000:, 0] += 50.0  # a gap more, and the same samples
    np.savetxt(path, columns, delimiter=",", header="t," + ",".join(f"x{i}" for i in range(10)), comments="")
    with pytest.raises(ExperimentError, match="content was"):
        compare.compare(config, tmp_path / "out", resume=True)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("nowhere.csv", {}), "no problem or file 'nowhere.csv'"),
        (("mixture", {"learners": ["hebb"]}), "no learner 'hebb': choose among exact, online"),
        (("chaotic", {"stream": StreamOptions(time="t")}), "can be given only for a file, and 'chaotic' is not a file"),
    ],
)
def test_settings_that_make_no_sense_are_named(arguments, message):
    with pytest.raises(ExperimentError, match=message):
        compare.configure(arguments[0], **arguments[1])


def nothing(X):
    return {}


def low_rank(X):
    X[:, 2:] = 0.0
    return {}


def lonely_samples(X):
    return {"stream": StreamOptions(episodes=1)}


def enormous(X):
    X[3, 3] = 1e160
    return {}


def constant_within_episodes(X):
    X[:500, 0], X[500:, 0] = 1.0, 2.0
    return {"stream": StreamOptions(episodes=500)}


def without_samples(X):
    X[:] = np.nan
    return {}


@pytest.mark.parametrize(
    ("spoil", "components", "message"),
    [
        (nothing, 10, "10 features of 10 columns leave nothing to compare"),
        (low_rank, 2, "the stream has rank 2, but a comparison of 2 features needs more"),
        (lonely_samples, 2, "1000 samples and 0 pairs of consecutive samples"),
        (enormous, 2, r"too large \(up to 1e\+160\): rescale"),
        (constant_within_episodes, 1, "does not change within an episode"),
        (without_samples, 1, "has no samples"),
    ],
)
def test_streams_that_leave_nothing_to_compare_are_refused(spoil, components, message, tmp_path):
    X = slow_mixture(1000, seed=6)[1]
    options = spoil(X)
    path = tmp_path / "recording.npy"
    np.save(path, X)
    config = compare.configure(str(path), components=components, **options)
    with pytest.raises(ExperimentError, match=message):
        compare.compare(config, tmp_path / "out")


def test_a_silent_beginning_and_a_short_stream_are_no_reason_to_stop(tmp_path):
    X = slow_mixture(300, seed=7)[1]
    X[:120] = 0.0
    path = tmp_path / "recording.npy"
    np.save(path, X)
    found, _ = compare.compare(compare.configure(str(path), runs=2, scaling=False), tmp_path / "out")
    assert set(found["learners"]) == set(CONTESTANTS)


def test_software_of_others_that_refuses_a_stream_does_not_end_the_comparison(tmp_path, monkeypatch):
    def refuse(problem):
        raise ValueError("constant features")

    monkeypatch.setitem(OUTSIDERS, "tica", Outsider("refuses", "numpy", refuse))
    config = compare.configure("mixture", samples=2000, runs=1, learners=["bio-sfa"], scaling=False)
    found, _ = compare.compare(config, tmp_path / "out")
    assert "tica" not in found["outsiders"]


@pytest.mark.parametrize("power", [1.0, 2.0, 0.5])
def test_exponents_are_recovered(power):
    columns = np.array([100, 300, 1000, 5000])
    assert exponent(columns, 3e-7 * columns**power) == pytest.approx(power)


@pytest.mark.parametrize(
    ("name", "power"), [("bio-sfa", 1), ("interneuron", 1), ("incremental-few", 1), ("incremental", 2)]
)
def test_memory_grows_as_the_docs_say(name, power):
    """Up to 1024 columns: beyond, networks keep fewer pairs of samples."""
    scaled, columns = SCALED[name], [200, 400, 800]
    held = []
    for m in columns:
        learner = scaled.build() if scaled.build else CONTESTANTS[scaled.learner].build(10, 0)
        held.append(state_bytes(learner.partial_fit(np.random.default_rng(0).standard_normal((12, m)))))
    assert exponent(columns, held) == pytest.approx(power, abs=0.15)


def test_to_be_close_is_to_stay_close():
    assert first_close(np.array([0.5, 0.05, 0.2, 0.05, 0.01])) == 3
    assert first_close(np.array([0.05, 0.05])) == 0
    assert first_close(np.array([0.05, 0.5])) is None
    assert first_close(np.array([0.05, np.nan])) is None


def test_a_run_that_did_not_get_there_is_not_forgotten():
    whole, partly = interval([3.0, 1.0, 2.0]), interval([3.0, 1.0, np.nan])
    assert whole == {"median": 2.0, "least": 1.0, "greatest": 3.0, "runs": [3.0, 1.0, 2.0]}
    assert partly == {"median": 3.0, "least": 1.0, "greatest": None, "runs": [3.0, 1.0, None]}
    assert with_range(partly, str) == "3.0 (1.0–never)"


def test_a_winner_is_told_with_those_that_were_as_good_in_some_run():
    results = {
        "exact": interval([1.0, 2.0]),
        "online": interval([1.9, 2.0]),
        "bio-sfa": interval([1.5, 4.0]),
        "gev": interval([np.nan, np.nan]),
    }
    assert winner(results, lambda name: True, str) == "exact SFA ≈ OnlineSFA: 1.5 (1.0–2.0)"
    assert winner(results, lambda name: name == "gev", str) == "none"
    results = {"online": interval([1.0, 2.0, np.nan]), "bio-sfa": interval([5.0, np.nan, 9.0])}
    assert winner(results, lambda name: True, str) == "OnlineSFA ≈ Bio-SFA: 2.0 (1.0–never)"
