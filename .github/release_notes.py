"""Prints the section of the changelog that belongs to a tag: ``python .github/release_notes.py v0.2.0``.

Fails if the tag is not the version of the package, or if the changelog has no section of it.
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def version() -> str:
    """The version of the package, read from its source."""
    source = (ROOT / "src" / "biosfa" / "__init__.py").read_text(encoding="utf-8")
    return re.findall(r'^__version__ = "(.*)"$', source, re.MULTILINE)[0]


def section(name: str) -> str:
    """What the changelog says of a version, without the heading; empty if it says nothing."""
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    found = re.search(rf"^## \[{re.escape(name)}\].*\n((?:(?!## |\[[^]]+\]: ).*\n)*)", changelog, re.MULTILINE)
    return found[1].strip() if found else ""


def main() -> None:
    """Print the notes of the tag that is given."""
    tag = sys.argv[1]
    if tag != f"v{version()}":
        sys.exit(f"the tag is {tag}, but the package has version {version()}")
    if not section(version()):
        sys.exit(f"CHANGELOG.md has no section of {version()}")
    print(section(version()))


if __name__ == "__main__":
    main()
