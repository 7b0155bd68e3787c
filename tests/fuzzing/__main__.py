"""Run cases; see :mod:`tests.fuzzing`."""

import argparse
import os
import sys
import tempfile
import time
import warnings
from pathlib import Path

os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")  # the others reserve more than they use


def main():
    """Run the cases that are asked for; the exit code is 1 if one has a defect."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.fuzzing", description="Damaged files, and rows by every road."
    )
    parser.add_argument("--minutes", type=float, default=30.0, help="stop after so long")
    parser.add_argument("--cases", type=int, default=20_000, help="how many")
    parser.add_argument("--first", type=int, default=0, help="seed of the first; the others follow")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes side by side")
    parser.add_argument("--only", help="kind of case, such as model, csv or roads; others are passed over")
    parser.add_argument("--out", type=Path, help="folder for what has a defect; a new one by default")
    options = parser.parse_args()
    if not hasattr(os, "fork"):
        sys.exit("this needs os.fork, which this system does not have")
    warnings.simplefilter("ignore")
    from tests.fuzzing.campaign import as_text, run_cases
    from tests.fuzzing.cases import Cases

    defects = options.out or Path(tempfile.mkdtemp(prefix="biosfa-defects-"))
    defects.mkdir(parents=True, exist_ok=True)
    cases = Cases(options.only)
    try:
        seeds = range(options.first, options.first + options.cases)
        if options.only:
            seeds = [seed for seed in seeds if cases.choose(seed).target == options.only]
        begin = time.perf_counter()
        results = run_cases(cases, seeds, jobs=options.jobs, minutes=options.minutes, defects=defects)
    finally:
        cases.close()
    print(as_text(results, time.perf_counter() - begin))
    if any(defects.iterdir()):
        sys.exit(f"defects: {defects}")
    if options.out is None:
        defects.rmdir()


if __name__ == "__main__":
    main()
