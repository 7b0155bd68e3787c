"""Compiled functions on disk: never stale, never in the way, and what is said while they are made."""

import ast
import hashlib
import io
import os
import pickle
import shutil
import subprocess
import sys
import threading
import types
from pathlib import Path

import numba
import numpy as np
import pytest
from llvmlite.binding import Linkage
from numba.core.errors import NumbaWarning

import biosfa
from biosfa.kernels import cache
from biosfa.kernels.cache import KernelCache, Store, cache_folder, digest_of
from biosfa.kernels.jit import jit
from biosfa.kernels.notice import Notice
from biosfa.kernels.private import is_own
from tests.conftest import posix

SOURCE = Path(biosfa.__file__).parent
LARGE = np.zeros(200_000)

EDIT_A_CALLEE = """
import importlib, pathlib, sys

def result():
    for name in [name for name in sys.modules if name.startswith("biosfa")]:
        del sys.modules[name]
    importlib.invalidate_caches()
    caller = importlib.import_module("biosfa.kernels.caller")
    return caller.twice(1.0), len(caller.twice.stats.cache_hits)

callee = pathlib.Path("biosfa/kernels/callee.py")
first = result()
again = result()
callee.write_text(callee.read_text().replace("x + 1.0", "x + 10.0"))
print(first, again, result())
"""


def test_a_compiled_function_calls_its_own_copies_of_others():
    """Else it would take those of any function that was compiled before it, which may round differently."""

    @jit  # a function inside of another is compiled anew each time, and what was compiled still has its names
    def middle(values):
        return np.sort(values)[len(values) // 2]  # the sort is a function of its own

    assert middle(np.array([3.0, 1.0, 2.0])) == 2.0
    (result,) = middle.overloads.values()
    own = [function for function in result.library._final_module.functions if not function.is_declaration]
    assert any("sort" in function.name for function in own)
    assert {Linkage(function.linkage) for function in own} == {Linkage.external, Linkage.internal}


def offset(x):
    return x + 1.0


def first_of_many(x):
    return LARGE[0] + x


@pytest.fixture
def store(tmp_path):
    """A store of its own, for kernels that are one file."""
    (tmp_path / "sources").mkdir()
    (tmp_path / "sources" / "one.py").write_text("x = 1")
    return Store(tmp_path / "cache", tmp_path / "sources")


def compiled(function, store):
    """The function as a process would compile it that has just begun."""
    made = numba.njit(function)
    made._cache = KernelCache(function, store)
    return made


def loaded(made):
    return sum(made.stats.cache_hits.values())


def test_an_edit_of_a_callee_in_another_file_gives_new_code_and_the_installation_stays_as_it_is(tmp_path):
    package = tmp_path / "biosfa"
    shutil.copytree(SOURCE, package, ignore=shutil.ignore_patterns("__pycache__"))
    kernel = "from biosfa.kernels.jit import jit\n{}\n@jit\ndef {}(x):\n    return {}\n"
    (package / "kernels" / "callee.py").write_text(kernel.format("", "one_more", "x + 1.0"))
    (package / "kernels" / "caller.py").write_text(
        kernel.format("from biosfa.kernels.callee import one_more", "twice", "2.0 * one_more(x)")
    )
    environment = {**os.environ, "PYTHONPATH": str(tmp_path), "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    done = subprocess.run(
        [sys.executable, "-c", EDIT_A_CALLEE], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    assert done.stdout + done.stderr == "(4.0, 0) (4.0, 1) (22.0, 0)\n"
    assert [path for path in package.rglob("*") if path.suffix in (".nbc", ".nbi")] == []


def test_the_digest_depends_on_the_names_and_contents_of_all_kernels(tmp_path):
    found = [digest_of(tmp_path)]
    (tmp_path / "one.py").write_text("x = 1")
    found.append(digest_of(tmp_path))
    (tmp_path / "one.py").write_text("x = 2")
    found.append(digest_of(tmp_path))
    (tmp_path / "inner").mkdir()
    (tmp_path / "one.py").rename(tmp_path / "inner" / "one.py")
    found.append(digest_of(tmp_path))
    assert found[0] is None  # no sources: nothing is known of the kernels, and nothing is kept
    assert len(set(found)) == 4


def uncovered_names():
    """Names that compiled functions take from modules that the digest does not cover; types are not compiled."""
    for file in SOURCE.rglob("*.py"):
        tree = ast.parse(file.read_text(encoding="utf-8"))
        imported = {
            alias.asname or alias.name: node.module
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom) and node.module.startswith("biosfa") and node.module != "biosfa.typing"
            for alias in node.names
        }
        for function in ast.walk(tree):
            if isinstance(function, ast.FunctionDef) and "jit" in map(ast.unparse, function.decorator_list):
                for node in (node for line in function.body for node in ast.walk(line) if isinstance(node, ast.Name)):
                    if not imported.get(node.id, "biosfa.kernels").startswith("biosfa.kernels"):
                        yield f"{file.relative_to(SOURCE)}: {function.name} uses {node.id} of {imported[node.id]}"


def test_compiled_functions_use_nothing_but_their_own_file_and_kernels():
    assert list(uncovered_names()) == []


def test_a_function_is_loaded_if_it_was_compiled_for_the_same_types_from_the_same_file(store, monkeypatch):
    assert compiled(offset, store)(1.0) == 2.0
    again = compiled(offset, store)
    assert again(1.0) == 2.0
    assert loaded(again) == 1
    assert again(1) == 2.0
    assert loaded(again) == 1
    monkeypatch.setattr(cache, "checksum_of", lambda file: b"another content of the file")
    edited = compiled(offset, store)
    assert edited(1.0) == 2.0
    assert loaded(edited) == 0
    assert len(list(store.folder.iterdir())) == 2  # new code has replaced the old


def test_processes_that_compile_at_the_same_time_do_not_mix_up_their_signatures(store):
    one, other = compiled(offset, store), compiled(offset, store)
    assert one(1.0) == 2.0
    assert other(1) == 2.0
    assert other(np.float32(1.0)) == 2.0
    third = compiled(offset, store)
    assert third(1.0) == third(1) == third(np.float32(1.0)) == 2.0
    assert loaded(third) == 3


def test_damaged_files_are_compiled_again(store):
    compiled(offset, store)(1.0)
    (file,) = store.folder.iterdir()
    whole = file.read_bytes()
    for damaged in (b"", whole[:1000], whole[:-9] + b"\0" * 9):
        file.write_bytes(damaged)
        again = compiled(offset, store)
        assert again(1.0) == 2.0
        assert loaded(again) == 0
        assert store.read(file.name) is not None


def test_a_file_that_cannot_be_unpickled_is_compiled_again(store):
    compiled(offset, store)(1.0)
    (file,) = store.folder.iterdir()
    store.write(file.name, b"no pickle")
    assert compiled(offset, store)(1.0) == 2.0


def test_code_of_sources_that_were_edited_meanwhile_is_not_kept(store, tmp_path):
    (tmp_path / "sources" / "one.py").write_text("x = 2")
    assert compiled(offset, store)(1.0) == 2.0
    assert not store.folder.exists() or list(store.folder.iterdir()) == []


@pytest.mark.parametrize("parent", ["a file/cache", None])
def test_where_nothing_can_be_written_functions_are_compiled_each_time(store, tmp_path, parent):
    (tmp_path / "a file").touch()
    nowhere = Store(tmp_path / parent if parent else None, tmp_path / "sources")
    for _ in range(2):
        made = compiled(offset, nowhere)
        assert made(1.0) == 2.0
        assert loaded(made) == 0
    made.recompile()
    assert not nowhere.prepare()


class RunsCode:
    """What is unpickled from it is the result of a call."""

    def __init__(self, file):
        self._file = file

    def __reduce__(self):
        return Path.touch, (self._file,)


@pytest.fixture
def poisoned(store, tmp_path):
    """A store whose only file creates another file when it is unpickled; gives that file."""
    compiled(offset, store)(1.0)
    (file,) = store.folder.iterdir()
    content = pickle.dumps(RunsCode(tmp_path / "was run"))
    file.write_bytes(hashlib.sha256(content).digest() + content)
    return tmp_path / "was run"


def made_by_others(monkeypatch, _store):
    """Take the place of a user to whom nothing here belongs; what belongs to root is trusted on the way."""
    me = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: me + 1)


def open_to_others(mode, choose):
    def change(_monkeypatch, store):
        choose(store).chmod(mode)

    return change


def reached_by_a_link_that_others_can_replace(_monkeypatch, store):
    shared = store.folder.parent.with_name("shared")
    shared.mkdir()
    shared.chmod(0o777)
    (shared / "link").symlink_to(store.folder.parent)
    store.folder = shared / "link" / store.folder.name


@posix
@pytest.mark.parametrize(
    "change",
    [
        made_by_others,
        open_to_others(0o702, lambda store: store.folder),
        open_to_others(0o1777, lambda store: store.folder),  # others can add files
        open_to_others(0o777, lambda store: store.folder.parent),  # others can put a folder of their own in its place
        open_to_others(0o777, lambda store: store.folder.parent.parent),
        reached_by_a_link_that_others_can_replace,
    ],
)
def test_code_that_others_may_have_written_is_not_run(store, poisoned, change, monkeypatch):
    change(monkeypatch, store)
    content = {file: file.read_bytes() for file in store.folder.iterdir()}
    made = compiled(offset, store)
    with pytest.warns(UserWarning, match="compiled code is not kept.*: set NUMBA_CACHE_DIR to a folder") as caught:
        assert (made(1.0), made(1)) == (2.0, 2.0)
    assert len(caught) == 1  # it is said once
    assert not poisoned.exists()
    assert not store.prepare()
    assert {file: file.read_bytes() for file in store.folder.iterdir()} == content


@posix
def test_a_file_that_others_may_write_to_is_replaced(store, poisoned):
    (file,) = store.folder.iterdir()
    file.chmod(0o606)
    assert compiled(offset, store)(1.0) == 2.0
    assert not poisoned.exists()
    assert file.stat().st_mode & 0o777 == 0o600
    assert loaded(again := compiled(offset, store)) == 0
    assert again(1.0) == 2.0
    assert loaded(again) == 1


@posix
def test_what_this_user_made_in_a_sticky_folder_is_used(store):
    store.folder.parent.parent.chmod(0o1777)
    compiled(offset, store)(1.0)
    again = compiled(offset, store)
    assert again(1.0) == 2.0
    assert loaded(again) == 1


def test_the_code_of_this_user_runs(store, poisoned):
    """Otherwise the tests above would show nothing."""
    assert compiled(offset, store)(1.0) == 2.0
    assert poisoned.exists()


@posix
def test_all_folders_that_are_made_are_private(store, tmp_path):
    before = os.umask(0)
    try:
        deep = Store(tmp_path / "home" / "cache" / "biosfa", tmp_path / "sources")
        assert deep.prepare()
    finally:
        os.umask(before)
    made = [deep.folder, *deep.folder.parents[:3]]
    assert [path.stat().st_mode & 0o777 for path in made] == [0o700] * 4


@posix
@pytest.mark.parametrize(
    ("name", "members", "is_private"), [("me", [], True), ("me", ["her"], False), ("us", [], False)]
)
def test_a_group_of_one_is_nobody_else(store, monkeypatch, name, members, is_private):
    """Many systems give each user a group, and open new files to it. That of root is for others, too."""
    store.prepare()
    store.folder.chmod(0o770)
    found = store.folder.stat()
    grp, pwd = (pytest.importorskip(module) for module in ("grp", "pwd"))
    monkeypatch.setattr(pwd, "getpwuid", lambda user: types.SimpleNamespace(pw_name="me"))
    monkeypatch.setattr(grp, "getgrgid", lambda group: types.SimpleNamespace(gr_name=name, gr_mem=members))
    monkeypatch.setattr(os, "geteuid", lambda: found.st_uid or 1000)
    assert is_own(os.stat_result((*found[:4], os.geteuid(), *found[5:]))) == is_private
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert not is_own(os.stat_result((*found[:4], 0, *found[5:])))


def test_a_folder_that_is_removed_meanwhile_is_made_again(store):
    made = compiled(offset, store)
    made(1.0)
    shutil.rmtree(store.folder)
    assert made(1) == 2.0
    assert len(list(store.folder.iterdir())) == 1


def test_a_full_disk_leaves_nothing_behind(store, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    assert compiled(offset, store)(1.0) == 2.0
    assert list(store.folder.iterdir()) == []


def test_recompiling_forgets_what_was_kept(store):
    made = compiled(offset, store)
    made(1.0)
    (file,) = store.folder.iterdir()
    file.write_bytes(b"")
    made.recompile()
    assert file.read_bytes() != b""
    assert made.stats.cache_path == str(store.folder)


def test_functions_inside_of_others_are_not_kept(store):
    def adding(number):
        def add(x):
            return x + number

        return compiled(add, store)

    assert [adding(1.0)(1.0), adding(2.0)(1.0)] == [2.0, 3.0]
    assert not store.folder.exists()


def test_a_function_that_refers_to_a_large_array_is_not_kept(store):
    with pytest.warns(NumbaWarning, match="first_of_many is not kept"):
        assert compiled(first_of_many, store)(1.0) == 1.0
    assert not store.folder.exists()


def test_folders_of_old_versions_are_removed_and_nothing_else(tmp_path):
    sources, parent = tmp_path / "sources", tmp_path / "cache"
    sources.mkdir()
    others = [parent / name for name in ("notes", "kernels-mine", "kernels-0123")]
    for other in others:
        other.mkdir(parents=True)
    folders = []
    for version in range(cache.FOLDERS_KEPT + 3):
        (sources / "one.py").write_text(f"x = {version}")
        store = Store(parent, sources)
        store.write("a", b"code")
        os.utime(store.folder, (version, version))
        folders.append(store.folder)
        if version == cache.FOLDERS_KEPT:
            Store(parent, sources).read("a")
            (sources / "one.py").write_text("x = 1")
            assert Store(parent, sources).read("a") == b"code"  # used again: it stays
    assert set(parent.iterdir()) == {*others, folders[1], *folders[-cache.FOLDERS_KEPT + 1 :]}


def test_the_folder_is_that_of_the_user_or_of_numba(monkeypatch, tmp_path):
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    assert cache_folder() == tmp_path / "biosfa"
    monkeypatch.setattr(numba.config, "CACHE_DIR", "")
    monkeypatch.setattr(Path, "home", lambda: tmp_path / "home")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path / "local"))
    found = {}
    for platform in ("linux", "darwin", "win32"):
        monkeypatch.setattr(sys, "platform", platform)
        found[platform] = cache_folder().relative_to(tmp_path).as_posix()
    assert found == {"linux": "xdg/biosfa", "darwin": "home/Library/Caches/biosfa", "win32": "local/biosfa/Cache"}
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert cache_folder() == tmp_path / "home" / ".cache" / "biosfa"


def test_without_a_home_there_is_no_folder(monkeypatch):
    def homeless():
        raise RuntimeError

    monkeypatch.setattr(numba.config, "CACHE_DIR", "")
    monkeypatch.setattr(Path, "home", homeless)
    assert cache_folder() is None


def test_with_compilation_turned_off_kernels_are_python(monkeypatch):
    monkeypatch.setattr(numba.config, "DISABLE_JIT", True)
    assert jit(offset) is offset


class Terminal(io.StringIO):
    def __init__(self, *, is_terminal=True):
        super().__init__()
        self.is_terminal = is_terminal
        self.was_told = threading.Event()

    def isatty(self):
        return self.is_terminal

    def flush(self):
        self.was_told.set()


@pytest.fixture
def compiling(store):
    """The event of compiling one of our functions."""
    return types.SimpleNamespace(data={"dispatcher": compiled(offset, store)})


@pytest.mark.parametrize(
    ("is_kept", "words"), [(True, "the result is kept on disk"), (False, "set NUMBA_CACHE_DIR to keep")]
)
def test_a_long_compilation_is_told_of_once_on_a_terminal(store, compiling, monkeypatch, is_kept, words):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    notice = Notice(store if is_kept else Store(None, SOURCE), patience=0.0)
    for _ in range(2):
        notice.on_start(compiling)
        notice.on_start(compiling)
        assert terminal.was_told.wait(60)
        notice.on_end(compiling)
        notice.on_end(compiling)
    (line,) = terminal.getvalue().splitlines()
    assert line.startswith("biosfa: compiling")
    assert words in line


def test_nothing_is_told_before_its_time_nor_elsewhere_nor_of_others(store, compiling, monkeypatch):
    theirs = types.SimpleNamespace(data={"dispatcher": numba.njit(offset)})
    for event, patience, is_terminal in [(compiling, 600.0, True), (compiling, 0.0, False), (theirs, 0.0, True)]:
        terminal = Terminal(is_terminal=is_terminal)
        monkeypatch.setattr(sys, "stderr", terminal)
        notice = Notice(store, patience)
        before = threading.active_count()
        notice.on_start(event)
        waiting = threading.active_count() - before
        notice.on_end(event)
        assert waiting == (patience > 0.0)
        assert terminal.getvalue() == ""
