"""Folders with results: a command replaces its own earlier results, whole, and nothing else."""

import json
import multiprocessing
import time

import pytest

from biosfa.exceptions import InputError, OutputError
from biosfa.io import open_stream, results
from biosfa.io.results import LIST, check_complete, check_replaceable, entry_of, write_list, writing_results
from tests.conftest import posix
from tests.processes import content_of, forked, killed_at

NAMES = ("table.csv", "page.html", "networks/a.bin")


def write(folder, text, names=NAMES, command="first", meanwhile=lambda: None):
    with writing_results(folder, command, names, ()) as new:
        for name in names:
            (new / name).parent.mkdir(exist_ok=True)
            (new / name).write_text(f"{text} {name}")
        meanwhile()


def test_a_run_replaces_its_own_results_and_leaves_all_else(tmp_path):
    out = tmp_path / "new" / "out"
    write(out, "old")
    (out / "notes.txt").write_text("precious")
    (out / "networks" / "b.bin").write_text("precious")
    (out / "part-of-my-thesis").mkdir()
    write(out, "of another command", ("other.csv",), command="second")
    write(out, "new", ("table.csv", "more.csv"))
    found = content_of(out)
    assert found.pop(LIST)
    assert found == {
        "table.csv": b"new table.csv",
        "more.csv": b"new more.csv",
        "other.csv": b"of another command other.csv",
        "notes.txt": b"precious",
        "networks/b.bin": b"precious",
    }
    assert sorted(json.loads((out / LIST).read_text())) == ["more.csv", "other.csv", "table.csv"]
    with pytest.raises(OutputError, match=r"other\.csv was not written by this command"):
        write(out, "newest", ("other.csv",))


DECOYS = {
    "file": lambda path: path.write_text("precious"),
    "folder": lambda path: (path.mkdir(), (path / "deep").write_text("precious")),
    "link": lambda path: path.symlink_to(path.parent / "victim"),
    "dangling link": lambda path: path.symlink_to(path.parent / "nowhere"),
}


@posix
@pytest.mark.parametrize("decoy", DECOYS)
@pytest.mark.parametrize("when", ["before", "after", "meanwhile"])
@pytest.mark.parametrize("name", NAMES)
def test_what_was_not_written_here_is_not_replaced(tmp_path, decoy, when, name):
    """Also in the place of an own result, or if it appears during the run."""
    (tmp_path / "networks").mkdir()
    for folder in (tmp_path, tmp_path / "networks"):
        (folder / "victim").write_text("precious")
    if when == "after":
        write(tmp_path, "old")
        (tmp_path / name).unlink()
    if when != "meanwhile":
        DECOYS[decoy](tmp_path / name)
    before = content_of(tmp_path)

    def put_in_the_way():
        if when == "meanwhile":
            DECOYS[decoy](tmp_path / name)
            before.update(content_of(tmp_path))

    with pytest.raises(OutputError, match=f"{name} (was not written|has changed|is a link)"):
        write(tmp_path, "new", meanwhile=put_in_the_way)
    assert content_of(tmp_path) == before


@posix
def test_folders_of_results_are_not_reached_through_links(tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "networks").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OutputError, match="networks is a link"):
        write(tmp_path / "out", "new")
    assert content_of(tmp_path / "elsewhere") == {}
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    write(tmp_path / "link", "new")  # the folder itself was named by the user
    assert (tmp_path / "elsewhere" / "table.csv").read_text() == "new table.csv"


@posix
def test_permissions_of_results_stay(tmp_path):
    write(tmp_path, "old")
    (tmp_path / "table.csv").chmod(0o600)
    write(tmp_path, "new")
    assert (tmp_path / "table.csv").read_text() == "new table.csv"
    assert (tmp_path / "table.csv").stat().st_mode & 0o777 == 0o600


def test_an_edited_result_is_not_replaced(tmp_path):
    write(tmp_path, "old")
    (tmp_path / "page.html").write_text("OLD page.html")  # of the same size
    with pytest.raises(OutputError, match=r"page\.html has changed since this command wrote it"):
        write(tmp_path, "new")
    assert (tmp_path / "page.html").read_text() == "OLD page.html"


def test_a_run_that_fails_leaves_the_old_results(tmp_path):
    write(tmp_path / "out", "old")
    before = content_of(tmp_path)
    for error in (KeyError, KeyboardInterrupt):

        def fail(error=error):
            raise error

        with pytest.raises(error):
            write(tmp_path / "out", "new", meanwhile=fail)
        assert content_of(tmp_path) == before
        with pytest.raises(error):
            write(tmp_path / "never", "new", meanwhile=fail)
        assert not (tmp_path / "never").exists()


@pytest.mark.parametrize(
    "content",
    [
        "",
        "{",
        "[]",
        "7",
        '{"table.csv": 3}',
        '{"table.csv": [{"command": "first"}]}',
        '{"../victim": [{"command": "first", "size": 8, "sha256": ""}]}',
        '{"/etc/passwd": [{"command": "first", "size": 8, "sha256": ""}]}',
        "[" * 100_000,
    ],
)
def test_a_list_that_is_damaged_or_forged_is_refused(tmp_path, content):
    out = tmp_path / "out"
    out.mkdir()
    (tmp_path / "victim").write_text("precious")
    (out / LIST).write_text(content)
    (out / "table.csv").write_text("1,2\n")
    before = content_of(tmp_path)
    with pytest.raises(OutputError, match=r"\.biosfa\.json is not a list of results, or is damaged: remove it"):
        write(out, "new")
    with pytest.raises(InputError, match="is not a list of results"):
        open_stream(out)
    assert content_of(tmp_path) == before


def test_a_folder_is_whole_if_it_has_all_its_parts(tmp_path):
    parts = [tmp_path / f"part-{i}.csv" for i in range(12)]
    for part in parts:
        part.write_text("a,b\n1,2\n3,4\n")
    write_list(tmp_path, {part.name: (entry_of(part, results.PARTS),) for part in parts})
    check_replaceable(tmp_path, results.PARTS)
    assert sum(chunk.n_rows for chunk in open_stream(tmp_path)) == 24
    parts[3].write_text("a,b\n1,2\n")
    parts[11].unlink()
    for source in (tmp_path, f"{tmp_path.parent}/{tmp_path.name[:-1]}*"):
        with pytest.raises(InputError, match=r"incomplete: of its 12 parts, part-11\.csv, part-3\.csv are missing"):
            open_stream(source)
    (tmp_path / LIST).unlink()
    assert sum(chunk.n_rows for chunk in open_stream(tmp_path)) == 21
    check_complete(tmp_path)


def test_only_a_folder_of_own_results_is_replaceable(tmp_path):
    check_replaceable(tmp_path / "nothing", "first")
    check_replaceable(tmp_path, "first")
    write(tmp_path, "old", ("part-0",))
    check_replaceable(tmp_path, "first")
    with pytest.raises(OutputError, match="holds part-0, which this command has not written"):
        check_replaceable(tmp_path, "second")
    (tmp_path / "part-2").mkdir()
    with pytest.raises(OutputError, match="holds part-2, which"):
        check_replaceable(tmp_path, "first")
    (tmp_path / "file").touch()
    with pytest.raises(OutputError, match="is a file, and the results are a folder"):
        check_replaceable(tmp_path / "file", "first")


def kill_at_every_moment(folder, number):
    """Kill a second run at every other of its touches, and let a third one end."""
    touch = 0
    while True:
        touch, out = touch + 2, folder / f"{touch}"
        write(out, "old")
        (out / "notes.txt").write_text("precious")
        (out / "page-2.html").write_text("precious")
        was_killed = killed_at(touch, out, write, out, "new", ("table.csv", "page.html"))
        found = content_of(out)
        assert (found["notes.txt"], found["page-2.html"]) == (b"precious", b"precious")
        for name in ("table.csv", "page.html"):
            assert found[name] in (f"old {name}".encode(), f"new {name}".encode())
        write(out, "newest")
        found = content_of(out)
        assert sorted(found) == sorted([*NAMES, LIST, "notes.txt", "page-2.html"])
        assert all(found[name] == f"newest {name}".encode() for name in NAMES)
        if not was_killed:
            break
    number.value = touch


@posix
def test_killed_at_any_moment_it_has_old_or_new_results_and_can_be_run_again(tmp_path):
    number = multiprocessing.get_context("forkserver").Value("i", 0)
    process = forked(kill_at_every_moment, tmp_path, number)
    process.join()
    assert process.exitcode == 0
    assert number.value > 15  # moments


def write_often(out, who, go):
    go.wait()
    for _ in range(10):
        try:
            with writing_results(out, "first", NAMES, ()) as new:
                for name in NAMES:
                    (new / name).parent.mkdir(exist_ok=True)
                    (new / name).write_text(f"{who}")
                    time.sleep(0.002)
        except OutputError as error:
            assert "another run is writing to" in str(error)  # noqa: PT017 (it need not happen)


@posix
def test_results_of_runs_at_once_are_not_mixed(tmp_path):
    go = multiprocessing.get_context("forkserver").Event()
    processes = [forked(write_often, tmp_path / "out", who, go) for who in range(4)]
    go.set()
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0] * 4
    found = content_of(tmp_path / "out")
    assert len({found[name] for name in NAMES}) == 1
    assert sorted(found) == sorted([*NAMES, LIST])
    write(tmp_path / "out", "one more")
