"""Writes a report as one self-contained HTML file."""

import base64
import html
import platform
from collections.abc import Iterable, Sequence
from importlib.metadata import version
from pathlib import Path

from biosfa.io.atomic import replace_file
from biosfa.wording import printable

STYLE = """
:root { color-scheme: light dark; --line: #8884; --muted: light-dark(#666, #aaa); --accent: #1a8a3c; }
body { font: 16px/1.55 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem; }
h1 { line-height: 1.2; margin-bottom: .2rem; } h2 { margin-top: 2.4rem; }
.lead { color: var(--muted); margin-top: 0; }
figure { margin: 1.5rem 0; } figure img { width: 100%; height: auto; background: #fff; border-radius: 6px; }
figcaption { color: var(--muted); font-size: .9rem; }
.facts { display: grid; grid-template-columns: repeat(auto-fit, minmax(9rem, 1fr)); gap: .8rem; margin: 1.5rem 0; }
.facts div { border: 1px solid var(--line); border-radius: 6px; padding: .7rem .9rem; }
.facts b { display: block; font-size: 1.35rem; color: var(--accent); }
.facts span { color: var(--muted); font-size: .85rem; }
.scroll { overflow-x: auto; } table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .3rem .8rem; text-align: right; border-bottom: 1px solid var(--line); white-space: nowrap; }
th:first-child, td:first-child { text-align: left; }
.words th, .words td { white-space: normal; text-align: left; vertical-align: top; }
.words td:first-child { min-width: 9rem; }
@media (max-width: 40rem) {
  .words thead { display: none; } .words tr { display: block; padding: .5rem 0; border-bottom: 1px solid var(--line); }
  .words td { display: block; border: 0; padding: .05rem 0; }
  .words td::before { content: attr(data-name) ": "; color: var(--muted); }
}
pre { overflow-x: auto; border: 1px solid var(--line); border-radius: 6px; padding: .7rem .9rem; }
"""


class Report:
    """A report that is built from paragraphs, tables and pictures, and written as one HTML file.

    Parameters
    ----------
    title : str
        The title.
    lead : str
        A sentence below the title.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from biosfa.presentation.report import Report
    >>> report = Report("A test", "One table.")
    >>> report.table(["n", "n²"], [["1", "1"], ["2", "4"]])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     report.write(Path(folder) / "report.html")
    """

    def __init__(self, title: str, lead: str) -> None:
        self.title = title
        self._parts = [f"<h1>{_escaped(title)}</h1>", f'<p class="lead">{_escaped(lead)}</p>']

    def heading(self, text: str) -> None:
        """Add a heading."""
        self._parts.append(f"<h2>{_escaped(text)}</h2>")

    def paragraph(self, text: str) -> None:
        """Add a paragraph of plain text."""
        self._parts.append(f"<p>{_escaped(text)}</p>")

    def facts(self, facts: Iterable[tuple[str, str] | tuple[str, str, str]]) -> None:
        """Add a row of important numbers, each as (value, description), or as (value, description, colour)."""
        cells = (_fact(*fact) for fact in facts)
        self._parts.append(f'<div class="facts">{"".join(cells)}</div>')

    def picture(self, path: Path, caption: str) -> None:
        """Add a PNG file. Its content becomes part of the page."""
        content = base64.b64encode(path.read_bytes()).decode()
        text = _escaped(caption)
        self._parts.append(
            f'<figure><img src="data:image/png;base64,{content}" alt="{text}"><figcaption>{text}</figcaption></figure>'
        )

    def table(self, header: Sequence[str], rows: Iterable[Sequence[str]], *, words: bool = False) -> None:
        """Add a table of texts. With ``words`` the cells may have several lines."""
        head = "".join(f"<th>{_escaped(cell)}</th>" for cell in header)
        named = [f' data-name="{_escaped(cell)}"' if words else "" for cell in header]  # for narrow screens
        body = "".join(
            "<tr>"
            + "".join(f"<td{name}>{_escaped(cell)}</td>" for name, cell in zip(named, row, strict=True))
            + "</tr>"
            for row in rows
        )
        kind = ' class="words"' if words else ""
        self._parts.append(
            f'<div class="scroll"><table{kind}><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'
        )

    def code(self, text: str) -> None:
        """Add a command or a piece of code."""
        lines = "\n".join(_escaped(line) for line in text.split("\n"))
        self._parts.append(f"<pre>{lines}</pre>")

    def versions(self) -> None:
        """Add a table of the versions of Python and of the packages."""
        packages = ("biosfa", "numpy", "scipy", "numba", "scikit-learn", "matplotlib")
        made_with = [("Python", platform.python_version()), *((name, version(name)) for name in packages)]
        self.table([name for name, _ in made_with], [[number for _, number in made_with]])

    def write(self, path: Path) -> None:
        """Write the page to a file."""
        page = (
            '<!doctype html><html lang="en"><head><meta charset="utf-8">'
            '<meta name="viewport" content="width=device-width, initial-scale=1">'
            f"<title>{_escaped(self.title)}</title><style>{STYLE}</style></head>"
            f"<body>{''.join(self._parts)}</body></html>\n"
        )
        replace_file(path, lambda file: file.write(page.encode()))


def _fact(value: str, what: str, color: str = "") -> str:
    """Return an important number, perhaps in a colour of its own."""
    style = f' style="color: {_escaped(color)}"' if color else ""
    return f"<div><b{style}>{_escaped(value)}</b><span>{_escaped(what)}</span></div>"


def _escaped(text: str) -> str:
    """Return a text as part of a page, where it neither is a tag nor turns the direction of what is around it."""
    return html.escape(printable(text))
