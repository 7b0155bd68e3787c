"""Many cases side by side, counted, and those that found something kept."""

import json
import os
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter, defaultdict
from functools import partial
from pathlib import Path

from tests.fuzzing.sandbox import DEFECT, READ, REFUSED, Outcome, run_apart

KEPT_OF_A_KIND = 5  # cases with the same defect that are kept with their files
INTACT = 3  # files of each kind that are read to know how much memory one needs
MORE_MEMORY = 50 * 10**6  # bytes that a damaged file may need beyond an intact one
LOOK = 0.5  # seconds between two looks at what the workers have done


def run_cases(cases, seeds, *, jobs, minutes, defects, quiet=False):
    """Run cases in ``jobs`` processes until all are done or time is over; returns what came of each.

    Files of cases with a defect go to the folder ``defects``.
    """
    enough = enough_memory(cases)
    deadline = time.monotonic() + 60.0 * minutes
    with tempfile.TemporaryDirectory(prefix="fuzzing-run-") as scratch:
        logs = [Path(scratch) / f"worker{i}.jsonl" for i in range(jobs)]
        workers = [_start(cases, seeds[i::jobs], log, deadline, defects, enough) for i, log in enumerate(logs)]
        try:
            _wait(workers, logs, len(seeds), quiet=quiet)
        except BaseException:
            for worker in workers:
                os.kill(worker, signal.SIGTERM)
            raise
        return [json.loads(line) for log in logs for line in log.read_text().splitlines()]


def enough_memory(cases):
    """The memory that is enough for a file of each kind."""
    enough = {}
    for seed in range(INTACT):
        for case in cases.intact(seed):
            with tempfile.TemporaryDirectory(prefix="intact-") as name:
                outcome = run_apart(partial(cases.prepare, case, intact=True), Path(name))
            enough[case.target] = max(enough.get(case.target, 0), outcome.memory + MORE_MEMORY)
    return enough


def _start(cases, seeds, log, deadline, defects, enough):
    """A process that runs some of the cases and writes a line for each."""
    log.touch()
    worker = os.fork()
    if worker:
        return worker
    try:
        kinds = Counter()
        with open(log, "w") as lines:
            for seed in seeds:
                if time.monotonic() > deadline:
                    break
                result = run_case(cases, seed, defects, kinds, enough)
                print(json.dumps(result), file=lines, flush=True)
    except BaseException:
        sys.excepthook(*sys.exc_info())
        os._exit(1)
    os._exit(0)


def run_case(cases, seed, defects, kinds, enough):
    """One case; its files are kept if it has a defect that is not known well enough."""
    case = cases.choose(seed)
    folder = Path(tempfile.mkdtemp(prefix=f"case-{seed}-"))
    begin = time.perf_counter()
    outcome = run_apart(lambda inside: cases.prepare(case, inside), folder)
    if outcome.kind != DEFECT and outcome.memory > enough.get(case.target, outcome.memory):
        words = f"{outcome.summary} {outcome.details}, after {outcome.memory / 1e6:.0f} MB"
        outcome = Outcome(DEFECT, "more memory than is enough for an intact file", words, outcome.memory)
    result = {"seed": seed, "target": case.target, "seconds": time.perf_counter() - begin, **outcome._asdict()}
    if outcome.kind == DEFECT:
        kinds[outcome.summary] += 1
        if kinds[outcome.summary] <= KEPT_OF_A_KIND:
            (folder / "outcome.txt").write_text(
                f"{outcome.summary}\ntarget: {case.target}\n"
                f"again: python -m tests.fuzzing --first {seed} --cases 1\n\n{outcome.details}\n",
                errors="backslashreplace",
            )
            shutil.move(folder, defects / f"{case.target.replace(' ', '-')}-{seed}")
    shutil.rmtree(folder, ignore_errors=True)
    return result


def _wait(workers, logs, total, *, quiet):
    """Wait for all workers, and say how far they are."""
    running = set(workers)
    while running:
        for worker in list(running):
            done, status = os.waitpid(worker, os.WNOHANG)
            if done:
                running.remove(worker)
                if status:
                    raise RuntimeError("a worker of the harness failed")
        if not quiet and sys.stderr.isatty():
            done = sum(log.read_bytes().count(b"\n") for log in logs)
            print(f"\r{done:,} of {total:,} cases", end="", file=sys.stderr, flush=True)
        if running:
            time.sleep(LOOK if not quiet else 0.05)
    if not quiet and sys.stderr.isatty():
        print(file=sys.stderr)


def as_text(results, seconds):
    """A table of what came of the cases, and the defects, the most frequent first."""
    counts = defaultdict(Counter)
    for result in results:
        counts[result["target"]][result["kind"]] += 1
    lines = [f"{'':<18}{READ:>8}{REFUSED:>9}{DEFECT:>8}{'most MB':>9}{'longest':>9}"]
    for name, count in [*sorted(counts.items()), ("all", sum(counts.values(), Counter()))]:
        mine = [result for result in results if name in ("all", result["target"])]
        most, longest = (max((result[what] for result in mine), default=0) for what in ("memory", "seconds"))
        lines.append(
            f"{name:<18}{count[READ]:>8,}{count[REFUSED]:>9,}{count[DEFECT]:>8,}{most / 1e6:>9.0f}{longest:>7.1f} s"
        )
    lines.append(f"{len(results):,} cases in {seconds / 60:.1f} minutes")
    defects = defaultdict(list)
    for result in results:
        if result["kind"] == DEFECT:
            defects[result["target"], result["summary"]].append(result["seed"])
    for (target, summary), seeds in sorted(defects.items(), key=lambda item: -len(item[1])):
        lines.append(f"{len(seeds):>6,} × {target}: {summary} (seeds {', '.join(map(str, sorted(seeds)[:4]))})")
    return "\n".join(lines)
