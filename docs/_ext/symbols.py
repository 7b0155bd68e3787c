"""A Sphinx extension for formulas in plain text: docstrings and tables that are also read where nothing is rendered.

``x_{t−1}``, ``λ_slow``, ``C_xx`` and ``m^0.96`` are shown with subscripts and superscripts. Code is left as it is.
"""

import re
from typing import Any

from docutils import nodes
from sphinx.addnodes import desc_signature
from sphinx.application import Sphinx
from sphinx.ext import autosummary
from sphinx.transforms import SphinxTransform

INDEX = re.compile(
    r"""(?<![a-z_]) (?:
    (?P<base> [CSrsxyzȳηλ]\u0304?) _ (?: \{(?P<long>[^{}]+)\} | (?P<short> \d+ | [a-zẋ\u0304]{1,5}(?![a-z_])))
    | (?P<power> m) \^ (?P<exponent> [\d.]*\d))""",
    re.VERBOSE,
)
LEFT_ALONE = (nodes.literal, nodes.literal_block, nodes.math, nodes.math_block, nodes.raw, nodes.term, desc_signature)


class Indices(SphinxTransform):
    """Turn written indices and exponents into nodes."""

    default_priority = 700

    def apply(self, **kwargs: Any) -> None:
        """Replace the texts of one page."""
        for text in list(self.document.findall(nodes.Text)):
            if INDEX.search(text) and not inside(text, LEFT_ALONE):
                text.parent.replace(text, rendered(str(text)))


def inside(node: nodes.Node, kinds: tuple[type, ...]) -> bool:
    """Whether a node of these kinds contains this one."""
    parent = node.parent
    return parent is not None and (isinstance(parent, kinds) or inside(parent, kinds))


def rendered(text: str) -> list[nodes.Node]:
    """The same words, with nodes for what is lowered or raised."""
    pieces: list[nodes.Node] = []
    end = 0
    for found in INDEX.finditer(text):
        pieces.append(nodes.Text(text[end : found.start()] + (found["base"] or found["power"])))
        if found["exponent"]:
            pieces.append(nodes.superscript("", found["exponent"]))
        else:
            pieces.append(nodes.subscript("", found["long"] or found["short"]))
        end = found.end()
    return [*pieces, nodes.Text(text[end:])]


def setup(app: Sphinx) -> dict[str, Any]:
    """Render indices, and let no sentence of the API end after "Eq." or "Sec."."""
    autosummary.WELL_KNOWN_ABBREVIATIONS += ("Eq.", "Eqs.", "Sec.", "Fig.", "Alg.")
    app.add_transform(Indices)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
