"""Measure tables of the docs again: ``make measure TABLES="rat-units images-units"``.

For each table, this runs the programs that it is made from, writes ``benchmarks/results/TABLE.json`` with the commit
and the machine, and fills the pages. Results of programs are kept in ``build/measured``: a run that was stopped
resumes, and tables of the same program share one run. ``--again`` runs the programs even if there are results. Without
names, it lists the tables.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
from pathlib import Path

import fill_numbers
from tables import SOURCES, TABLES, Results
from tables.sources import MEASURED, ROOT, read


def machine() -> str:
    """The processor and the number of cores."""
    name = platform.processor() or platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        lines = cpuinfo.read_text(encoding="utf-8").splitlines()
        name = next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), name)
    return f"{name}, {os.cpu_count()} cores"


def commit() -> str:
    """The present commit; refuses to measure code that is not committed."""
    changed = subprocess.run(["git", "diff", "--quiet", "HEAD", "--", "src"], cwd=ROOT)
    if changed.returncode:
        sys.exit("src has changes that are not committed: commit first, so that the table can say what was measured")
    return subprocess.check_output(["git", "rev-parse", "--short=7", "HEAD"], cwd=ROOT, text=True).strip()


def measured(name: str, *, again: bool) -> Results:
    """Return the results of a source. It runs if there are none."""
    known = read(name)
    if known is not None and not again:
        return known
    source, folder = SOURCES[name], MEASURED / name
    origin = {"commit": commit(), "machine": machine()}
    (folder / "origin.json").unlink(missing_ok=True)
    resume = source.resume if folder.exists() and not again else ()
    folder.mkdir(parents=True, exist_ok=True)
    print(f"$ {source.command}", flush=True)
    arguments = [part.format(out=folder) for part in (*source.arguments, *resume)]
    done = subprocess.run([sys.executable, *arguments], cwd=ROOT)
    if not all((folder / file).exists() for file in source.files):
        sys.exit(f"{source.command} has written no results; its exit status is {done.returncode}")
    (folder / "origin.json").write_text(json.dumps(origin), encoding="utf-8")
    found = read(name)
    assert found is not None
    return found


def write(name: str, known: dict[str, Results], *, again: bool) -> None:
    """Measure one table, and write its result file; ``known`` has the sources of the tables before."""
    table = TABLES[name]
    for source in table.sources:
        known[source] = known.get(source) or measured(source, again=again)
    results = {source: known[source] for source in table.sources}
    columns, *rows = table.make(results)
    origins = {key: sorted({each.origin[key] for each in results.values()}) for key in ("commit", "machine")}
    content = {
        "about": table.about,
        "commands": [SOURCES[source].command for source in table.sources],
        "commit": ", ".join(origins["commit"]),
        "machine": "; ".join(origins["machine"]),
        "columns": columns,
        "rows": rows,
    }
    path = fill_numbers.RESULTS / f"{name}.json"
    path.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    print(f"{path.relative_to(ROOT)}: written")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("tables", nargs="*", metavar="TABLE", help="names of tables")
    parser.add_argument("--again", action="store_true", help="run programs even if there are results")
    options = parser.parse_args()
    unknown = [name for name in options.tables if name not in TABLES]
    if unknown:
        parser.error(f"there is no table {unknown[0]!r}: choose among {', '.join(TABLES)}")
    if not options.tables:
        for name, table in TABLES.items():
            print(f"{name:16} {table.about}: {', '.join(SOURCES[source].command for source in table.sources)}")
    known: dict[str, Results] = {}
    for name in options.tables:
        write(name, known, again=options.again)
    if options.tables:
        fill_numbers.main()


if __name__ == "__main__":
    main()
