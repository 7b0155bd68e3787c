"""``biosfa monitor``: fits, checks of files and of lines, new operating points, other monitors."""

import csv
import gc
import io
import json
import re
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import biosfa
from biosfa.datasets import stirred_tank
from biosfa.exceptions import OutputError
from biosfa.io import Chunk, Position, open_stream
from biosfa.io.atomic import writing
from biosfa.io.results import LIST
from biosfa.monitoring import SlowFeatureMonitor, Watched
from biosfa.recordings.monitoring import work
from biosfa.recordings.monitoring._trace import POINTS, SEVERITY, Trace
from biosfa.recordings.monitoring.alarms import Alarm, Alarms, largest, time_text
from tests.conftest import posix
from tests.processes import content_of

BEGINS = 600  # row at which something happens


def write(path, plant, begin):
    frame = pd.DataFrame(plant.samples, columns=plant.columns)
    frame.insert(0, "timestamp", pd.date_range(begin, periods=len(frame), freq="6s"))
    frame.to_csv(path, index=False)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("plant")
    write(path / "normal.csv", stirred_tank(9000, random_state=0), "2026-01-05")
    write(path / "noise.csv", stirred_tank(1000, fault="noise", start=BEGINS, random_state=1), "2026-01-07")
    write(path / "moved.csv", stirred_tank(1600, fault="set_point", start=BEGINS, random_state=2), "2026-01-08")
    return path


@pytest.fixture(scope="module")
def monitor(folder):
    new = SlowFeatureMonitor(n_delays=2, persistence=(5, 10))
    work.fit(new, [str(folder / "normal.csv")], {"time": "timestamp"}, folder / "plant")
    return folder / "plant"


def test_fit_writes_the_monitor_of_python(command, folder, monitor, tmp_path):
    arguments = ("--time", "timestamp", "--delays", 2, "--persistence", "5/10", "--out", tmp_path / "m")
    printed = command("monitor", "fit", folder / "normal.csv", *arguments)
    assert "24 features of 12 columns, 12 of them slow, from 9,000 rows" in printed.stdout
    assert "5 of 10" in printed.stdout
    assert (tmp_path / "m").read_bytes() == monitor.read_bytes()
    X = pd.read_csv(folder / "normal.csv").iloc[:, 1:].to_numpy()
    np.testing.assert_allclose(SlowFeatureMonitor(n_delays=2).fit(X).limits_, biosfa.load(monitor).limits_, rtol=1e-6)


def test_a_check_finds_the_fault_its_sensor_and_its_time(command, folder, monitor, tmp_path):
    out = tmp_path / "check"
    printed = command("monitor", "check", monitor, folder / "noise.csv", "--out", out, code=3)
    rows = list(csv.DictReader((out / "alarms.csv").read_text(encoding="utf-8").splitlines()))
    longest = max(rows, key=lambda row: int(row["last_row"]) - int(row["first_row"]))
    assert longest["verdict"] == "abnormal"
    assert longest["columns"].startswith("jacket_temperature")
    assert any(BEGINS <= int(row["first_row"]) <= BEGINS + 10 for row in rows)
    assert pd.Timestamp(rows[0]["begin"]) == pd.Timestamp("2026-01-07") + int(rows[0]["first_row"]) * pd.Timedelta("6s")
    assert longest["begin"] in printed.stdout
    found = pd.read_csv(out / "statistics.csv")
    plant = biosfa.load(monitor)
    X = pd.read_csv(folder / "noise.csv").iloc[:, 1:]
    np.testing.assert_allclose(found.iloc[:, 2:6], plant.statistics(X), rtol=1e-6)
    assert found["row"].tolist() == list(range(1000))
    assert found["time"].tolist() == pd.read_csv(folder / "noise.csv")["timestamp"].tolist()
    words = np.array(["normal", "moved", "abnormal", "no data"])[found["verdict"].astype(int)]
    assert words.tolist() == plant.verdicts(X).tolist()
    assert (out / "statistics.png").read_bytes().startswith(b"\x89PNG")
    page = (out / "report.html").read_text(encoding="utf-8")
    assert longest["begin"].replace(" ", "\N{NO-BREAK SPACE}").replace("-", "\N{NON-BREAKING HYPHEN}") in page
    assert "src=" in page
    for words in ("Checked: noise.csv. Monitor: plant.", "Alarm rate: 1% of normal rows", "persistence 5/10"):
        assert words in page
    assert {row["largest"][:2] for row in rows if row["verdict"] == "abnormal"} == {"S²"}
    assert {row["largest"][:2] for row in rows if row["verdict"] == "moved"} <= {"T²"}
    assert "http" not in page.split("</style>")[1].replace("data:image/png;base64", "")[:2000]


def test_a_fit_names_suspicious_rows_with_their_times(command, folder, tmp_path):
    frame = pd.read_csv(folder / "normal.csv")
    frame.loc[5000:5399, "level"] += 5 * frame["level"].std() * np.random.default_rng(0).standard_normal(400)
    frame.to_csv(tmp_path / "faulty.csv", index=False)
    arguments = ("--time", "timestamp", "--delays", 2, "--out", tmp_path / "m")
    printed = command("monitor", "fit", tmp_path / "faulty.csv", *arguments)
    assert re.search(r"rows 5,0[05]0 to 5,399 \(2026-01-05 08:2\d:00 to 2026-01-05 08:59:54\): level", printed.stderr)


def test_inspect_describes_a_monitor(command, monitor):
    printed = command("inspect", monitor).stdout
    assert "12 columns: feed_flow, " in printed
    assert "24 features, 12 of them slow" in printed
    found = json.loads(command("inspect", monitor, "--json").stdout)["monitor"]
    np.testing.assert_allclose(list(found["limits"].values()), biosfa.load(monitor).limits_)


def test_a_monitor_that_cannot_explain_still_finds_alarms(command, folder, tmp_path):
    normal = pd.read_csv(folder / "normal.csv").iloc[:, 1:]
    biosfa.SFA(pca=3, expansion="quadratic").fit(normal).save(tmp_path / "sfa")
    arguments = ("--model", tmp_path / "sfa", "--time", "timestamp", "--out", tmp_path / "m")
    command("monitor", "fit", folder / "normal.csv", *arguments)
    printed = command("monitor", "check", tmp_path / "m", folder / "noise.csv", "--out", tmp_path / "o", code=3)
    assert "alarms name none" in printed.stderr
    assert (tmp_path / "o" / "report.html").exists()


def test_a_check_says_when_a_monitor_no_longer_follows(command, folder, tmp_path):
    X = stirred_tank(6000, random_state=3).samples.copy()
    normal = pd.read_csv(folder / "normal.csv").iloc[:, 1:].to_numpy()
    X[:, 1] += 60 * normal[:, 1].std() * np.arange(6000) / 6000
    np.save(tmp_path / "normal.npy", normal)
    np.save(tmp_path / "drift.npy", X)
    command("monitor", "fit", tmp_path / "normal.npy", "--forget", 1000, "--out", tmp_path / "m")
    printed = command("monitor", "check", tmp_path / "m", tmp_path / "drift.npy", "--out", tmp_path / "o", code=3)
    assert "the monitor stopped following" in printed.stderr


@pytest.mark.parametrize("around", [True, False])
def test_a_fit_reports_all_its_passes(folder, tmp_path, monkeypatch, around):
    shares = []

    class Seen(work.Progress):
        def reach(self, share, *numbers):
            shares.append(share)

    monkeypatch.setattr(work, "Progress", Seen)
    X = pd.read_csv(folder / "normal.csv").iloc[:, 1:].to_numpy()
    np.save(tmp_path / "normal.npy", X)
    new = SlowFeatureMonitor(model=biosfa.SFA().fit(X)) if around else SlowFeatureMonitor()
    work.fit(new, [str(tmp_path / "normal.npy")], {}, tmp_path / "m")
    assert shares[-1] == 1.0
    assert shares[0] == pytest.approx(1 / len(shares))  # one chunk per pass


def test_a_check_without_alarms_ends_with_0(command, folder, monitor, tmp_path):
    command("monitor", "check", monitor, folder / "normal.csv", "--persistence", "10/10", "--out", tmp_path / "check")
    assert len((tmp_path / "check" / "alarms.csv").read_text().splitlines()) == 1


def test_columns_are_matched_by_name(command, folder, monitor, tmp_path):
    frame = pd.read_csv(folder / "noise.csv", engine="pyarrow")  # which reads all digits
    frame[frame.columns[::-1]].to_parquet(tmp_path / "turned.parquet")
    for source, out in ((folder / "noise.csv", "a"), (tmp_path / "turned.parquet", "b")):
        command("monitor", "check", monitor, source, "--out", tmp_path / out, "--statistics", "npy", code=3)
    a, b = (np.load(tmp_path / name / "statistics.npy") for name in "ab")
    np.testing.assert_array_equal(a, b)
    frame.drop(columns="level").to_csv(tmp_path / "less.csv", index=False)
    printed = command("monitor", "check", monitor, tmp_path / "less.csv", code=1)
    assert "no column 'level'" in printed.stderr


def test_alarms_are_printed_with_the_names_of_the_input(command, folder, tmp_path):
    np.save(tmp_path / "normal.npy", pd.read_csv(folder / "normal.csv").iloc[:, 1:])
    command("monitor", "fit", tmp_path / "normal.npy", "--out", tmp_path / "m")
    pd.read_csv(folder / "noise.csv").iloc[:, 1:].to_csv(tmp_path / "noise.csv", index=False)
    printed = command("monitor", "check", tmp_path / "m", tmp_path / "noise.csv", "--out", tmp_path / "o", code=3)
    assert "jacket_temperature" in printed.stdout


def test_gaps_in_time_have_no_statistics_that_need_the_row_before(command, folder, monitor, tmp_path):
    frame = pd.read_csv(folder / "noise.csv").drop(index=range(300, 320))
    frame.to_csv(tmp_path / "gap.csv", index=False)
    command("monitor", "check", monitor, tmp_path / "gap.csv", "--out", tmp_path, "--statistics", "npy", code=3)
    found = np.isnan(np.load(tmp_path / "statistics.npy"))
    assert found[300].tolist() == [True] * 4 + [False]
    assert found[301].tolist() == [False, False, True, True, False]
    assert not found[302:].any()


@pytest.mark.parametrize("column", ["dates", "numbers"])
@pytest.mark.parametrize("empty", [[3], [0, 999], list(range(1000))])
def test_rows_without_a_time_are_drawn(command, folder, monitor, tmp_path, column, empty):
    frame = pd.read_csv(folder / "noise.csv")
    if column == "numbers":
        frame["timestamp"] = 1_767_600_000_123.0 + 6000 * np.arange(len(frame))
    frame.loc[empty, "timestamp"] = None
    frame.to_csv(tmp_path / "gaps.csv", index=False)
    code = 3 if len(empty) < 1000 else 4  # without any time, no row follows another
    command("monitor", "check", monitor, tmp_path / "gaps.csv", "--out", tmp_path, code=code)
    assert (tmp_path / "report.html").exists()


@pytest.mark.parametrize("column", ["dates", "numbers", "none"])
def test_one_row_is_drawn(command, folder, monitor, tmp_path, column):
    frame = pd.read_csv(folder / "noise.csv").iloc[:1]
    if column == "numbers":
        frame["timestamp"] = 7.5
    elif column == "none":
        frame = frame.drop(columns="timestamp")
    frame.to_csv(tmp_path / "one.csv", index=False)
    printed = command("monitor", "check", monitor, tmp_path / "one.csv", "--out", tmp_path, code=4)
    assert "1 row: 1 no data" in printed.stdout
    assert "no data in 1 of 1 row" in printed.stderr
    assert (tmp_path / "report.html").exists()


def test_missing_times_of_the_trace_are_interpolated():
    dates = np.array(["2026-01-05", "NaT", "2026-01-07", "NaT"], "datetime64[ns]")
    trace = Trace(np.ones(4))
    watched = Watched(np.ones((4, 4)), np.full(4, "normal"), np.zeros((4, 2)))
    trace.add(Chunk(np.zeros((4, 2)), np.zeros(4, bool), None, Position(), dates), watched)
    assert trace.places.astype("datetime64[D]").astype(str).tolist() == [
        "2026-01-05", "2026-01-06", "2026-01-07", "2026-01-07",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("time", "text"),
    [
        (np.float64(1_767_600_000_123), "1767600000123"),
        (np.float64(1_767_600_000.125), "1767600000.125"),
        (np.float64(0.1), "0.1"),
        (np.float64(3), "3"),
        (np.float64("nan"), ""),
        (np.datetime64("2026-01-05T10:00:00.500000000"), "2026-01-05 10:00:00.5"),
        (np.datetime64("2026-01-05T10:00:00.000000000"), "2026-01-05 10:00:00"),
        (np.datetime64("NaT", "s"), ""),
    ],
)
def test_times_are_written_with_all_their_digits(time, text):
    assert time_text(time) == text


def test_a_new_operating_point_is_accepted_from_a_time_on(command, folder, monitor, tmp_path):
    arguments = ("--since", "2026-01-08 01:10", "--out", tmp_path / "accepted")
    printed = command("monitor", "accept", monitor, folder / "moved.csv", *arguments)
    assert "900 rows are normal now" in printed.stdout
    command("monitor", "check", tmp_path / "accepted", folder / "moved.csv", "--out", tmp_path / "check", code=3)
    verdicts = pd.read_csv(tmp_path / "check" / "statistics.csv")["verdict"].to_numpy()
    assert (verdicts[700:] == 0).mean() > 0.9
    assert (verdicts[: BEGINS - 10] == 1).mean() > 0.9
    for since, message in (
        ("tomorrow", "neither the number of a row nor a time"),
        ("2027-01-01", "later than all rows"),
        ("2025-01-01", "earlier than all rows"),
        ("1600", "the rows have the numbers 0 to 1,599"),
        ("-1", "the rows have the numbers 0 to 1,599"),
    ):
        printed = command("monitor", "accept", monitor, folder / "moved.csv", "--since", since, code=1)
        assert message in printed.stderr


@pytest.mark.parametrize("column", ["dates", "numbers", "none"])
def test_a_number_is_that_of_a_row_whatever_the_times(command, folder, monitor, tmp_path, column):
    frame = pd.read_csv(folder / "moved.csv")
    if column == "numbers":
        frame["timestamp"] = 6.0 * np.arange(len(frame))
    elif column == "none":
        frame = frame.drop(columns="timestamp")
    frame.to_csv(tmp_path / "moved.csv", index=False)
    arguments = ("monitor", "accept", monitor, tmp_path / "moved.csv", "--out", tmp_path / "m")
    printed = command(*arguments, "--since", "700")
    assert "900 rows are normal now" in printed.stdout
    if column == "numbers":
        assert "1,500 rows are normal now" in command(*arguments, "--since", "600.0").stdout


def test_accepting_says_what_it_changes(command, folder, monitor, tmp_path):
    printed = command("monitor", "accept", monitor, folder / "moved.csv", "--since", 700, "--out", tmp_path / "m")
    before, after = (float(share) for share in re.findall(r"([0-9.]+)% ", printed.stdout))
    assert before > 90
    assert after < 10
    assert "abnormal" not in printed.stderr
    printed = command("monitor", "accept", monitor, folder / "noise.csv", "--since", 700, "--out", tmp_path / "m")
    assert 'of these rows were "abnormal"' in printed.stderr
    pd.read_csv(folder / "moved.csv").iloc[:1].to_csv(tmp_path / "one.csv", index=False)
    printed = command("monitor", "accept", monitor, tmp_path / "one.csv", "--out", tmp_path / "m", code=1)
    assert "the features need 2 consecutive rows without missing values" in printed.stderr


@pytest.mark.parametrize("missing", ["all values", "one sensor", "order"])
def test_a_check_that_sees_little_says_so(command, folder, monitor, tmp_path, missing):
    frame = pd.read_csv(folder / "normal.csv").iloc[:1000]
    if missing == "all values":
        frame.iloc[:, 1:] = np.nan
    elif missing == "one sensor":
        frame.loc[50:, "level"] = np.nan
    else:
        frame = frame[::-1]
    frame.to_csv(tmp_path / "blind.csv", index=False)
    printed = command("monitor", "check", monitor, tmp_path / "blind.csv", "--out", tmp_path, code=4)
    reason = {
        "all values": "no data in 1,000 of 1,000 rows, which were not checked: values are missing in 1,000 rows",
        "one sensor": "no data in 951 of 1,000 rows, which were not checked: values are missing in 950 rows, and 1",
        "order": "no data in 1,000 of 1,000 rows, which were not checked: 1,000 rows are the first of an episode",
    }[missing]
    assert reason in printed.stderr
    if missing == "all values":
        printed = command("monitor", "compare", monitor, tmp_path / "blind.csv", "--normal", folder / "normal.csv")
        assert "slow features                no data   T² slow: no data" in printed.stdout
        assert "%" not in printed.stdout


def test_lines_without_data_are_reported(folder, monitor, tmp_path):
    frame = pd.read_csv(folder / "normal.csv").iloc[:300]
    frame.loc[100:149, "level"] = np.nan
    frame.loc[200:210, "level"] = np.nan  # not for long
    frame.to_csv(tmp_path / "log.csv", index=False)
    target = io.StringIO()
    with open(tmp_path / "log.csv", "rb") as file:
        checked = work.watch(str(monitor), file.fileno(), target, {})
    found = [json.loads(line) for line in target.getvalue().splitlines()]
    missing = [event for event in found if event["event"] != "alarm"]
    assert [(event["event"], event["row"]) for event in missing] == [("no data", 100), ("data are back", 151)]
    assert missing[0]["time"] == frame["timestamp"][100]
    assert not checked.is_blind


def test_a_stream_without_end_is_watched_in_constant_memory(folder, tmp_path):
    """Of the alarms in a stream only the last ones are kept, which may still grow."""
    rng = np.random.default_rng(0)
    white = rng.standard_normal((4002, 3))
    X = white[2:] + white[1:-1] + white[:-2]
    pd.DataFrame(X, columns=list("abc")).to_csv(tmp_path / "normal.csv", index=False)
    work.fit(SlowFeatureMonitor(persistence=(1, 1)), [str(tmp_path / "normal.csv")], {}, tmp_path / "monitor")
    X[::20] += 100.0  # an alarm every 20 rows
    pd.DataFrame(X, columns=list("abc")).to_csv(tmp_path / "log.csv", index=False)
    target = io.StringIO()
    with open(tmp_path / "log.csv", "rb") as file:
        checked = work.watch(str(tmp_path / "monitor"), file.fileno(), target, {})
    assert checked.alarms.n_found >= 200
    assert target.getvalue().count('"alarm"') == checked.alarms.n_found
    assert sum(type(each) is Alarm for each in gc.get_objects()) <= 2  # one per kind


def test_other_monitors(command, folder, monitor, tmp_path):
    normal = ("--normal", folder / "normal.csv")
    printed = command("monitor", "compare", monitor, folder / "noise.csv", *normal)
    assert [line.split("  ")[0] for line in printed.stdout.splitlines()[1:]] == [
        "slow features", "PCA", "dynamic PCA", "Mahalanobis distance",
    ]  # fmt: skip
    assert "persistence is not applied" in printed.stderr
    assert "not fair" not in printed.stderr
    pd.read_csv(folder / "normal.csv").iloc[:400].to_csv(tmp_path / "few.csv", index=False)
    printed = command("monitor", "compare", monitor, folder / "noise.csv", "--normal", tmp_path / "few.csv")
    assert "learn from 400 rows of --normal, and this one from 9,000: the comparison is not fair" in printed.stderr
    command("monitor", "check", monitor, folder / "noise.csv", *normal, "--out", tmp_path, code=3)
    assert "dynamic PCA" in (tmp_path / "report.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["fit", "-", "--out", "m"], "standard input can be read only once"),
        (["fit", "x.npy", "--persistence", "3-10", "--out", "m"], "is not of the form K/N"),
        (["fit", "x.npy", "--persistence", "11/10", "--out", "m"], "k must not be larger than n"),
        (["fit", "x.npy", "--model", "sfa", "--out", "sfa"], "sfa is an input"),
        (["fit", "x.npy", "--model", "sfa", "--delays", "3", "--out", "o"], "--delays cannot be used with --model"),
        (["fit", "x.npy", "--model", "sfa", "--expand", "quadratic", "--out", "o"], "--expand cannot be used"),
        (["fit", "x.npy", "--alarm-rate", "1", "--out", "o"], "every row may be an alarm"),
        (["check", "m", "x.npy", "--persistence", "11/10"], "k must not be larger than n"),
        (["check", "m", "x.npy", "--persistence", "0/5"], "must be a whole number of at least 1"),
        (["check", "m", "x.npy", "--persistence", "1/0"], "must be a whole number of at least 1"),
        (["check", "m", "-", "--out", "o"], "--out and --normal are for files"),
        (["check", "m", "-", "--normal", "x.npy"], "--out and --normal are for files"),
        (["check", "sfa", "x.npy"], "sfa holds SFA, not a monitor"),
        (["check", "x.npy", "x.npy"], "not a biosfa model"),
    ],
)
def test_mistakes_are_one_line(command, tmp_path, arguments, message):
    X = np.random.default_rng(0).standard_normal((100, 3))
    np.save(tmp_path / "x.npy", X)
    biosfa.SFA().fit(X).save(tmp_path / "sfa")
    with pytest.warns(biosfa.ShortCalibrationWarning):
        SlowFeatureMonitor().fit(X).save(tmp_path / "m")
    before = (tmp_path / "sfa").read_bytes()
    printed = command("monitor", *arguments, cwd=tmp_path, code=1)
    assert message in printed.stderr
    assert len(printed.stderr.strip().splitlines()) == 1
    assert (tmp_path / "sfa").read_bytes() == before


@pytest.mark.parametrize("name", ["alarms.csv", "statistics.csv"])
@pytest.mark.parametrize("kind", ["input", "normal"])
def test_a_check_does_not_replace_what_it_reads(command, folder, monitor, tmp_path, name, kind):
    content = (folder / "noise.csv").read_bytes()
    (tmp_path / name).write_bytes(content)
    source = ([tmp_path / name], []) if kind == "input" else ([folder / "noise.csv"], ["--normal", tmp_path / name])
    printed = command("monitor", "check", monitor, *source[0], *source[1], "--out", tmp_path, code=1)
    assert f"{name} is an input" in printed.stderr
    assert [path.name for path in tmp_path.iterdir()] == [name]
    assert (tmp_path / name).read_bytes() == content


@pytest.mark.parametrize("kind", ["csv", "parquet"])
@pytest.mark.parametrize("column", ["dates", "fractions", "numbers", "none"])
def test_statistics_have_rows_and_times(command, folder, monitor, tmp_path, kind, column):
    frame = pd.read_csv(folder / "noise.csv").iloc[:700]
    if column == "numbers":
        frame["timestamp"] = 6.5 * np.arange(700)
    elif column == "fractions":
        frame["timestamp"] = pd.date_range("2026-01-05", periods=700, freq="6500ms")
    elif column == "none":
        frame = frame.drop(columns="timestamp")
    elif column == "dates":
        frame.loc[5, "timestamp"] = None
    frame.to_csv(tmp_path / "log.csv", index=False)
    command("monitor", "check", monitor, tmp_path / "log.csv", "--out", tmp_path / "o", "--statistics", kind, code=3)
    file = tmp_path / "o" / f"statistics.{kind}"
    found = pd.read_csv(file) if kind == "csv" else pd.read_parquet(file)
    assert found["row"].tolist() == list(range(700))
    assert list(found.columns[-5:]) == ["T² slow", "T² rest", "S² slow", "S² rest", "verdict"]
    assert ("time" in found) == (column != "none")
    if column == "numbers":
        np.testing.assert_allclose(found["time"], frame["timestamp"])
    elif column != "none":
        pd.testing.assert_series_equal(
            pd.to_datetime(found["time"]).astype("datetime64[ns]"),
            pd.to_datetime(frame["timestamp"]).astype("datetime64[ns]"),
            check_names=False,
        )


def test_a_check_does_not_replace_a_report_of_something_else(command, folder, monitor, tmp_path):
    (tmp_path / "report.html").write_text("<h1>Sales</h1>")
    printed = command("monitor", "check", monitor, folder / "noise.csv", "--out", tmp_path, code=1)
    assert "report.html was not written by this command" in printed.stderr
    assert (tmp_path / "report.html").read_text() == "<h1>Sales</h1>"
    for _ in range(2):
        command("monitor", "check", monitor, folder / "noise.csv", "--out", tmp_path / "o", code=3)


def test_a_check_does_not_replace_its_monitor(command, folder, monitor, tmp_path):
    (tmp_path / "report.html").write_bytes(monitor.read_bytes())
    printed = command("monitor", "check", tmp_path / "report.html", folder / "noise.csv", "--out", tmp_path, code=1)
    assert "report.html is an input" in printed.stderr
    assert (tmp_path / "report.html").read_bytes() == monitor.read_bytes()


@posix
@pytest.mark.parametrize("name", ["alarms.csv", "statistics.csv", "statistics.png", "report.html"])
@pytest.mark.parametrize("decoy", ["file", "link", "folder"])
def test_a_check_replaces_only_its_own_results(command, folder, monitor, tmp_path, name, decoy):
    (tmp_path / "victim").write_text("precious")
    if decoy == "file":
        (tmp_path / name).write_text("precious")
    elif decoy == "link":
        (tmp_path / name).symlink_to("victim")
    else:
        (tmp_path / name).mkdir()
    before = content_of(tmp_path)
    printed = command("monitor", "check", monitor, folder / "noise.csv", "--out", tmp_path, code=1)
    (line,) = printed.stderr.splitlines()
    assert f"{name} {'is a link' if decoy == 'link' else 'was not written by this command'}" in line
    assert content_of(tmp_path) == before


def test_a_second_check_replaces_the_first_and_leaves_nothing_of_it(command, folder, monitor, tmp_path):
    lines = (folder / "noise.csv").read_text().splitlines()
    (tmp_path / "log.csv").write_text("\n".join(lines[:200]))
    check = ("monitor", "check", monitor, tmp_path / "log.csv", "--out", tmp_path)
    command(*check)
    assert (tmp_path / "statistics.csv").exists()
    (tmp_path / "log.csv").write_text("\n".join(lines[:300]))
    command(*check, "--statistics", "parquet")
    names = ["alarms.csv", "log.csv", "report.html", "statistics.parquet", "statistics.png"]
    assert sorted(name for name in content_of(tmp_path) if name != LIST) == names
    assert len(pd.read_parquet(tmp_path / "statistics.parquet")) == 299
    before = content_of(tmp_path)
    (tmp_path / "log.csv").write_text(lines[0] + "\n")
    assert "no rows to check" in command(*check, code=1).stderr
    (tmp_path / "log.csv").write_text("\n".join(lines[:300]))
    assert content_of(tmp_path) == before


@pytest.mark.filterwarnings("ignore::biosfa.exceptions.ShortCalibrationWarning")
def test_a_run_accepts_what_an_earlier_run_has_left(folder, monitor, tmp_path, monkeypatch):
    """A second run that read the monitor beside the first would undo what the first one accepts."""
    model, load = tmp_path / "m", work.load_monitor
    model.write_bytes(monitor.read_bytes())

    def load_and_try(path):
        with pytest.raises(OutputError, match="another run is writing to"), writing(model):
            pass
        return load(path)

    monkeypatch.setattr(work, "load_monitor", load_and_try)
    work.accept(str(model), [str(folder / "moved.csv")], {}, model, "1200")
    assert model.read_bytes() != monitor.read_bytes()


@posix
def test_lines_are_answered_as_soon_as_an_alarm_begins(folder, monitor):
    code = "from biosfa.cli import main; main()"
    arguments = [sys.executable, "-c", code, "monitor", "check", str(monitor), "-"]
    process = subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    lines = (folder / "noise.csv").read_bytes().splitlines(keepends=True)
    answers = []
    reader = threading.Thread(target=lambda: answers.extend(iter(process.stdout.readline, b"")), daemon=True)
    reader.start()
    for line in lines[: BEGINS + 40]:
        process.stdin.write(line)
    process.stdin.flush()
    deadline = time.monotonic() + 60
    while not any(json.loads(answer)["row"] >= BEGINS for answer in answers) and time.monotonic() < deadline:
        time.sleep(0.02)
    process.stdin.close()  # only now: the answers came before the end
    assert process.wait(timeout=60) == 3
    reader.join(timeout=60)
    process.stdout.close()
    found = next(json.loads(answer) for answer in answers if json.loads(answer)["row"] >= BEGINS)
    assert found["verdict"] == "abnormal"
    assert found["columns"][0] == "jacket_temperature"
    assert found["time"].startswith("2026-01-07 01:0")
    assert found["statistics"]["S² rest"] > 0
    assert set(found["limits"]) == set(found["statistics"])


def test_alarms_bridge_a_few_rows_with_another_verdict(monitor):
    verdicts = np.array(
        ["normal"] * 5 + ["moved"] * 3 + ["abnormal"] * 10 + ["moved"] * 2 + ["normal"] * 11 + ["moved"]
    )
    n, alarms, found = len(verdicts), Alarms(np.ones(4), 2), []
    watched = Watched(np.full((n, 4), 2.0), verdicts, np.tile([0.25, 0.75], (n, 1)))
    for begin in range(0, n, 4):  # whatever the chunks
        part = slice(begin, begin + 4)
        samples = np.zeros((len(verdicts[part]), 2))
        chunk = Chunk(samples, np.zeros(len(samples), bool), None, Position())
        found += alarms.add(chunk, Watched(*(each[part] for each in watched)))
    assert alarms.n_found == len(found)
    assert [(a.verdict, a.first, a.last) for a in found] == [
        ("moved", 5, 19),
        ("abnormal", 8, 17),
        ("moved", 31, 31),
    ]
    assert found[0].columns(["a", "b"]) == ["b", "a"]
    assert found[0].causes.tolist() == [1.25, 3.75]


def test_a_wrong_option_names_the_help_of_its_command(command):
    assert "(see biosfa monitor fit --help)" in command("monitor", "fit", "x.npy", "--bogus", code=2).stderr


def test_the_largest_alarms_keep_their_order():
    alarms = [Alarm("moved", i, "", i, "", worst=worst) for i, worst in enumerate([2.0, np.inf, 1.0, 3.0, 2.5])]
    assert [alarm.first for alarm in largest(alarms, 3)] == [1, 3, 4]


def test_the_trace_is_bounded_and_keeps_the_largest_values(monitor, folder):
    plant = biosfa.load(monitor)
    X = pd.read_csv(folder / "noise.csv").iloc[:, 1:].to_numpy()
    trace, alarms, statistics = Trace(plant.limits_), Alarms(plant.limits_, 12), []
    for _ in range(12):
        for chunk in open_stream(X, chunk_size=700):
            watched = plant.watch_chunk(chunk)
            statistics.append(watched.statistics)
            trace.add(chunk, watched)
            alarms.add(chunk, watched)
    ratios = np.concatenate(statistics) / plant.limits_
    assert POINTS <= len(trace.places) <= 2 * POINTS
    np.testing.assert_array_equal(np.nanmax(trace.ratios, axis=0), np.nanmax(ratios, axis=0))
    assert trace.severity.max() == SEVERITY["abnormal"]
    assert alarms.n_rows == sum(alarms.counts.values()) == 12_000


@pytest.mark.skipif(not Path("../shared/data/tep").exists(), reason="needs the Tennessee Eastman benchmark")
def test_the_tennessee_eastman_benchmark():
    """Faults of a simulated chemical plant; the limits are those of docs/guides/monitoring.md."""
    columns = [*(f"XMEAS_{i}" for i in range(1, 23)), *(f"XMV_{i}" for i in range(1, 12))]

    def read(name):
        return pd.read_parquet(f"../shared/data/tep/{name}.parquet")[columns]

    with pytest.warns(biosfa.ShortCalibrationWarning):
        plant = SlowFeatureMonitor(n_delays=3).fit(read("d00"))
    assert ((plant.statistics(read("d00_te")) > plant.limits_).mean(axis=0) <= 0.025).all()
    beyond = [(plant.statistics(read(f"d{fault:02d}_te")) > plant.limits_)[160:] for fault in (1, 2, 4, 5, 6, 7, 8, 10)]
    assert np.mean([one[:, :2].any(axis=1).mean() for one in beyond]) >= 0.985
    for fault in (1, 2, 4, 5, 7):
        assert (plant.verdicts(read(f"d{fault:02d}_te"))[660:] == "moved").mean() >= 0.95
    for fault in (6, 8):
        assert (plant.verdicts(read(f"d{fault:02d}_te"))[400:660] == "abnormal").mean() >= 0.93
