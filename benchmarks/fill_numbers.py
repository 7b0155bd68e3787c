"""Fill the tables of measured numbers in README and docs from the files in ``benchmarks/results``: ``make numbers``.

A result file is JSON. It says what was measured, by which commands, at which commit and on which machine; and a table.
A page says where the table goes::

    <!-- numbers: NAME -->
    <!-- /numbers -->

``make measure TABLES=NAME`` measures a file again.
"""

import json
import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results"
PLACE = re.compile(r"<!-- numbers: ([\w-]+) -->\n.*?<!-- /numbers -->", re.DOTALL)


def pages() -> list[Path]:
    """All pages that may have numbers."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def table(name: str) -> str:
    """The table of a result file as Markdown, with where it comes from."""
    result = json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))
    rows = [result["columns"], ["---"] * len(result["columns"]), *result["rows"]]
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    *others, last = (f"`{command}`" for command in result["commands"])
    commands = f"{', '.join(others)} and {last}" if others else last
    origin = f"{commands}, commit {result['commit']}, {result['machine']}"
    return "\n".join([*lines, "", f"<small>Measured by {origin}.</small>"])


def filled(text: str) -> str:
    """A page with its tables as they are in the result files."""
    return PLACE.sub(lambda found: f"<!-- numbers: {found[1]} -->\n{table(found[1])}\n<!-- /numbers -->", text)


def main() -> None:
    for page in pages():
        before = page.read_text(encoding="utf-8")
        after = filled(before)
        if after != before:
            page.write_text(after, encoding="utf-8")
            print(f"{page.relative_to(ROOT)}: filled")


if __name__ == "__main__":
    main()
