"""Kill commands at random moments and run them again: every result must have the bits of an undisturbed run.

Nothing temporary may be left behind, and files of others stay as they are. Half of the kills come after a random time,
half when the process is about to open, rename or remove a file, which are the moments that matter. Processes are forked
from one that has imported and compiled everything, so that a kill costs no start of an interpreter; each is killed by
SIGKILL all the same. Runs on a cluster also lose workers.
"""

import argparse
import math
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import psutil
from threadpoolctl import threadpool_limits

from biosfa.cli import main as command
from biosfa.experiments import arena, chaotic, images
from biosfa.experiments.engine import Experiment, Results, RunFolder, Task, _runner
from biosfa.hierarchy import HierarchicalSFA, Layer
from biosfa.io.model_file import read_model
from biosfa.io.results import LIST
from biosfa.typing import Advance, Arrays

MOST_KILLS = 8  # of one run before it may end
TOUCHES = ("open", "os.rename", "os.remove", "os.mkdir", "os.rmdir")  # events that touch files
TIMINGS = ("timings.json", "report.html")  # files whose content depends on how long things took


@dataclass
class Scenario:
    """Something that is killed: how it is run, and what it leaves."""

    name: str
    run: Callable[[Path, bool], None]  # in a folder; again, if it was killed before
    weight: int  # share of the kills
    on_cluster: bool = False
    together: str | None = None  # a folder that is replaced as a whole
    prepare: Callable[[Path], None] = lambda folder: None
    same: Callable[[str], bool] = lambda name: not name.endswith((*TIMINGS, ".png", ".svg", ".npz"))
    old: dict[str, bytes] = field(default_factory=dict)  # what is there before it runs
    whole: dict[str, bytes] = field(default_factory=dict)  # what an undisturbed run leaves
    seconds: float = 0.0
    n_touches: int = 0
    kills: int = 0
    runs: int = 0


def cli(*arguments: str, codes: tuple[int, ...] = (0,)) -> None:
    """Run the command with some arguments."""
    sys.argv = ["biosfa", *arguments]
    try:
        command()
    except SystemExit as end:
        if (end.code or 0) not in codes:
            raise RuntimeError(f"biosfa {' '.join(arguments)} ended with {end.code}") from None


def fit(folder: Path, again: bool, *options: str) -> None:
    """Fit to files; if there is a checkpoint, resume."""
    every = ["--checkpoint-every", "0.005"]
    if again and (folder / "model.checkpoint").exists() and random.random() < 0.5:
        cli("resume", "model", *every, *options[options.index("--scheduler") :] if "--scheduler" in options else ())
    else:
        cli("fit", "../input/a.npy", "../input/b.csv", "-k", "3", "--out", "model", *every, *options)


def fitting(name: str, *options: str) -> Scenario:
    """A fit with some options."""
    return Scenario(f"fit {name}", lambda folder, again: fit(folder, again, *options), weight=12)


def fit_on_workers(folder: Path, again: bool) -> None:
    """A fit whose sections are learned by workers."""
    fit(folder, again, "--pca", "6", "--expand", "quadratic", "--scheduler", "local:2")


def transforming(suffix: str) -> Scenario:
    """Features of a file, written in some format in place of others."""

    def run(folder: Path, again: bool) -> None:
        cli("transform", "../input/model.safetensors", "../input/a.npy", "--out", f"features{suffix}")

    def prepare(folder: Path) -> None:
        cli("transform", "../input/model.safetensors", "../input/b.csv", "--out", f"features{suffix}")

    return Scenario(f"transform {suffix}", run, weight=8, prepare=prepare)


def replacing(name: str, *arguments: str, out: str, codes: tuple[int, ...] = (0,), **more: Any) -> Scenario:
    """A command that writes to a file or folder, where an earlier run with another input has left its results.

    ``{}`` in the arguments is the input.
    """

    def run_on(source: str) -> None:
        cli(*(argument.format(source) for argument in arguments), "--out", out, codes=codes)

    def prepare(folder: Path) -> None:
        run_on("b")
        if (folder / out).is_dir() and "together" not in more:
            put_decoys(folder / out)

    return Scenario(name, lambda folder, again: run_on("a"), prepare=prepare, **more)


def put_decoys(folder: Path) -> None:
    """Put files in a folder that no command may touch."""
    for name in ("notes.txt", "part-of-my-thesis.txt", ".hidden", "part-2/data"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text("precious")


@dataclass(frozen=True)
class Frames:
    """What the hierarchy is trained on."""

    n_frames: int = 3000
    size: int = 16


class Hierarchy(Experiment[Frames]):
    """An experiment that trains a hierarchy, which keeps a checkpoint of its layers, as that with the rat does."""

    name = "hierarchy"

    def title(self) -> str:
        """What the progress bar says."""
        return self.name

    def stages(self, folder: RunFolder) -> list[Callable[[Results], list[Task]]]:
        """One task."""
        return [lambda results: [Task("net", 1, train_layers, (self.config, folder.scratch("net", "layers")))]]

    def summarize(self, results: Results) -> tuple[dict[str, Any], Arrays]:
        """All features, to the bit."""
        return {"features": results["net"].arrays["features"].tolist()}, {}

    def draw(self, out: Path, results: Results, curves: Arrays, found: dict[str, Any], timings: dict[str, Any]) -> None:
        """Draw nothing."""

    def report(self, out: Path, found: dict[str, Any], timings: dict[str, Any]) -> None:
        """Report nothing."""


def train_layers(config: Frames, kept_in: Path, report: Advance) -> Arrays:
    """Train three layers."""
    frames = np.random.default_rng(0).standard_normal((config.n_frames, config.size, config.size)).cumsum(axis=0)
    layers = [
        Layer((4, 4), stride=(4, 4), n_components=4, n_reduced=4),
        Layer((2, 2), stride=(1, 1), n_components=3, n_reduced=4),
        Layer((3, 3), n_components=2, n_reduced=3),
    ]
    return {"features": HierarchicalSFA(layers).fit(frames, checkpoint=kept_in).transform(frames[:500])}


def train_hierarchy(folder: Path, again: bool) -> None:
    """Train layers, one after the other."""
    Hierarchy(Frames()).run(folder / "run", jobs=1, resume=again)


def reproduce_chaotic(folder: Path, again: bool) -> None:
    """The first experiment, small."""
    config = chaotic.ChaoticConfig(
        preset="small", variant="code", runs=1, seed=1, samples=6000, steps=20_000, series=1, offline_steps=100
    )
    chaotic.reproduce(config, folder / "run", jobs=1, resume=again)


def reproduce_images(folder: Path, again: bool) -> None:
    """The second experiment, small; its networks keep checkpoints."""
    _runner.CHECKPOINT_SECONDS = 0.0
    config = images.ImagesConfig(
        preset="small",
        rule="bio-sfa",
        networks=("paper", "online"),
        runs=1,
        seed=1,
        images="noise",
        sequences=30,
        principal=6,
        units=3,
        samples_paper=6000,
        samples=6000,
    )
    images.reproduce(config, folder / "run", jobs=1, resume=again)


def compare(folder: Path, again: bool) -> None:
    """The arena, small."""
    config = arena.configure("mixture", samples=5000, learners=["online", "bio-sfa", "gev"], runs=2, scaling=False)
    arena.compare(config, folder / "run", jobs=1, resume=again)


SCENARIOS = [
    fitting("exact", "--pca", "6", "--expand", "quadratic"),
    fitting("online", "--solver", "online", "--epochs", "2", "--delays", "2"),
    fitting("bio", "--solver", "bio", "--pca", "6"),
    transforming(".npy"),
    transforming(".csv"),
    transforming(".parquet"),
    transforming(".h5"),
    transforming(".zarr"),
    replacing(
        "transform on workers",
        *("transform", "../input/model.safetensors", "../input/{}", "--scheduler", "local:2"),
        out="parts.npy",
        weight=6,
        on_cluster=True,
        together="parts.npy",
    ),
    Scenario("fit on workers", fit_on_workers, weight=6, on_cluster=True),
    replacing("export", "export", "../input/{}.safetensors", out="model.onnx", weight=4),
    replacing("monitor accept", "monitor", "accept", "../input/monitor", "../input/{}.npy", out="accepted", weight=6),
    replacing(
        "monitor check", "monitor", "check", "../input/monitor", "../input/{}.npy", out="check", codes=(0, 3), weight=6
    ),
    replacing("choose", "choose", "../input/{}.npy", "--lags", "1,2", out="choice", weight=4),
    Scenario("hierarchy", train_hierarchy, weight=8),
    Scenario("reproduce chaotic", reproduce_chaotic, weight=5),
    Scenario("reproduce images", reproduce_images, weight=5),
    Scenario("compare", compare, weight=6),
]


def make_inputs(folder: Path) -> None:
    """What all scenarios read."""
    folder.mkdir()
    rng = np.random.default_rng(0)
    samples = rng.standard_normal((60_000, 8)).cumsum(axis=0)
    np.save(folder / "a.npy", samples[:40_000])
    names = ",".join(f"x{i}" for i in range(8))
    np.savetxt(folder / "b.csv", samples[40_000:], delimiter=",", header=names, comments="")
    with inside(folder), quiet():
        cli("fit", "a.npy", "-k", "2", "--out", "model.safetensors")
        for name, rows in (("a", samples[:40_000]), ("b", samples[40_000:])):
            Path(name).mkdir()
            for i, part in enumerate(np.array_split(rows, 6)):
                np.save(Path(name) / f"{i}.npy", part)
            cli("fit", name, "-k", "2", "--out", f"{name}.safetensors")
        np.save("b.npy", samples[40_000:])
        cli("monitor", "fit", "a.npy", "--out", "monitor")


@contextmanager
def inside(folder: Path) -> Iterator[None]:
    """Work in a folder for a while."""
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


def content(folder: Path, same: Callable[[str], bool]) -> dict[str, bytes]:
    """All files in a folder; of those that need not be the same, their names only."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    names = {str(path.relative_to(folder)): path for path in files}
    return {name: path.read_bytes() if same(name) else b"" for name, path in names.items()}


@contextmanager
def quiet() -> Iterator[None]:
    """Let nothing be printed."""
    with open(os.devnull, "w") as nowhere, redirect_stdout(nowhere), redirect_stderr(nowhere):
        yield


class Counted:
    """Counts events that touch files in the present folder, and kills its process at one of them."""

    def __init__(self, last: int | None) -> None:
        self.n = 0
        self.last = last
        self.folder = str(Path.cwd())

    def __call__(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Be told of an event."""
        if event not in TOUCHES or not isinstance(arguments[0], str | os.PathLike):
            return
        if event == "open" and not self._writes(arguments):
            return
        if not os.path.abspath(arguments[0]).startswith(self.folder):  # noqa: PTH100 (no Path in a hook, which is slow)
            return
        self.n += 1
        if self.n == self.last:
            os.kill(os.getpid(), signal.SIGKILL)

    @staticmethod
    def _writes(arguments: tuple[Any, ...]) -> bool:
        return isinstance(arguments[2], int) and bool(arguments[2] & (os.O_WRONLY | os.O_RDWR))


def start(scenario: Scenario, folder: Path, *, again: bool, last: int | None = None, seed: int = 0) -> tuple[int, int]:
    """Run a scenario in a process of its own; returns its id, and a pipe with the number of touches at the end."""
    output, report = os.pipe()
    child = os.fork()
    if child:
        os.close(report)
        return child, output
    code = 1
    try:
        os.close(output)
        os.chdir(folder)
        log = os.open(folder.parent / "log", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(log, 1)
        os.dup2(log, 2)
        random.seed(seed)
        counted = Counted(last)
        sys.addaudithook(counted)
        scenario.run(folder, again)
        os.write(report, str(counted.n).encode())
        code = 0
    except BaseException:
        sys.excepthook(*sys.exc_info())  # type: ignore[arg-type]
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    return 0, 0


def worker_of(process: int) -> int:
    """Return the id of a process that another one has started to work for it; if there is none, that of this one."""
    found = [child.pid for child in psutil.Process(process).children() if "spawn_main" in " ".join(child.cmdline())]
    return random.choice(found) if found else process


def finish(
    child: int, output: int, folder: Path, *, deadline: float | None = None, of_worker: bool = False
) -> int | None:
    """Wait for a process, kill it when its time has come; returns its number of touches, None if it was killed.

    With ``of_worker``, one of its workers is killed in its place.
    """
    while True:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            break
        if deadline is not None and time.perf_counter() > deadline:
            os.kill(worker_of(child) if of_worker else child, signal.SIGKILL)
            deadline = None
        time.sleep(5e-4)
    with os.fdopen(output, "rb") as pipe:
        touches = pipe.read()
    if os.WIFSIGNALED(status):
        return None
    if status and of_worker:  # a worker was killed while it started, so that there was no cluster
        return None
    if status:
        sys.exit((folder.parent / "log").read_text() + "\na process failed that nobody had killed")
    return int(touches)


def make_ready(scenario: Scenario, folder: Path) -> None:
    """A folder as it is before a scenario runs."""
    folder.mkdir()
    put_decoys(folder)
    if scenario.on_cluster:  # which starts threads; they do not survive a fork
        finish(
            *start(replace(scenario, run=lambda folder, again: scenario.prepare(folder)), folder, again=False), folder
        )
        return
    with inside(folder), quiet():
        scenario.prepare(folder)


def run_whole(scenario: Scenario, folder: Path) -> None:
    """Run a scenario undisturbed, and remember what it leaves."""
    make_ready(scenario, folder)
    scenario.old = content(folder, scenario.same)
    begin = time.perf_counter()
    touches = finish(*start(scenario, folder, again=False), folder)
    scenario.seconds, scenario.n_touches = time.perf_counter() - begin, touches or 0
    scenario.whole = content(folder, scenario.same)
    shutil.rmtree(folder)


def kill_and_resume(scenario: Scenario, folder: Path, rng: random.Random, wanted: int) -> None:
    """Run a scenario, kill it some times, let it end, and compare."""
    make_ready(scenario, folder)
    killed = 0
    while True:
        seed = rng.randrange(2**32)
        moments = ["time", "touch", "worker"] if scenario.on_cluster else ["time", "touch"]
        moment = rng.choice(moments) if killed < wanted else "end"
        last = rng.randint(1, max(1, scenario.n_touches)) if moment == "touch" else None
        timed = moment in ("time", "worker")
        deadline = time.perf_counter() + scenario.seconds * rng.uniform(0.0, 1.0) if timed else None
        process = start(scenario, folder, again=killed > 0, last=last, seed=seed)
        ended = finish(*process, folder, deadline=deadline, of_worker=moment == "worker") is not None
        killed += not ended or moment == "worker"
        if ended:
            break
        if scenario.together is not None:
            check_whole(scenario, folder)
        for checkpoint in folder.rglob("*checkpoint"):
            read_model(checkpoint)  # raises if it is not whole
        for name in scenario.old:
            path = folder / name
            if path.name == LIST or Path(name).parts[0] == scenario.together or not scenario.same(name):
                continue
            if path.read_bytes() not in (scenario.old[name], scenario.whole[name]):
                sys.exit(f"{scenario.name}: {path} is neither the old file nor the new one")
    found = content(folder, scenario.same)
    if found != scenario.whole:
        names = {name for name in {*found, *scenario.whole} if found.get(name) != scenario.whole.get(name)}
        sys.exit(
            f"{scenario.name}: killed {killed} times, and OTHER FILES OR BITS: {', '.join(sorted(names))} in {folder}"
        )
    scenario.kills, scenario.runs = scenario.kills + killed, scenario.runs + 1
    shutil.rmtree(folder)


def check_whole(scenario: Scenario, folder: Path) -> None:
    """End if a folder that is replaced as a whole is neither the old one nor the new one, nor away for a moment."""
    prefix = f"{scenario.together}/"
    found = {name: each for name, each in content(folder, scenario.same).items() if name.startswith(prefix)}
    for files in (scenario.old, scenario.whole, {}):
        if found == {name: each for name, each in files.items() if name.startswith(prefix)}:
            return
    sys.exit(f"{scenario.name}: {folder / prefix} is neither the old folder nor the new one")


def main() -> None:
    """Kill and resume until there were so many kills."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", help="scenarios whose names contain this")
    options = parser.parse_args()
    rng = random.Random(options.seed)
    scenarios = [scenario for scenario in SCENARIOS if (options.only or "") in scenario.name]
    home = Path(tempfile.mkdtemp(prefix="crashes-"))
    begin = time.perf_counter()
    with threadpool_limits(1):  # threads do not survive a fork
        make_inputs(home / "input")
        for scenario in scenarios:
            if not scenario.on_cluster:
                make_ready(scenario, home / "warm")
                with inside(home / "warm"), quiet():  # compiles what it needs
                    scenario.run(home / "warm", False)
                shutil.rmtree(home / "warm")
            run_whole(scenario, home / "whole")
            share = math.ceil(options.kills * scenario.weight / sum(each.weight for each in scenarios))
            while scenario.kills < share:
                wanted = min(rng.randint(1, MOST_KILLS), share - scenario.kills)
                kill_and_resume(scenario, home / "killed", rng, wanted)
            print(
                f"{scenario.name:<20} {scenario.kills:>5} kills in {scenario.runs:>4} runs of {scenario.seconds:.2f} s",
                flush=True,
            )
    shutil.rmtree(home)
    total = sum(scenario.kills for scenario in scenarios)
    minutes = (time.perf_counter() - begin) / 60
    print(f"{total} kills in {minutes:.1f} minutes: every run ended with the files and bits of an undisturbed one")


if __name__ == "__main__":
    main()
