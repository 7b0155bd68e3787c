"""A Sphinx extension that renders formulas as MathML, which browsers show without JavaScript."""

from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.application import Sphinx
from sphinx.errors import SphinxError
from sphinx.writers.html5 import HTML5Translator

MATHML = "http://www.w3.org/1998/Math/MathML"
MO = f"{{{MATHML}}}mo"
ElementTree.register_namespace("", MATHML)


def to_mathml(node: nodes.math | nodes.math_block, display: str) -> str:
    """Convert the LaTeX of a node, or stop the build with a message that names the page and the formula."""
    latex = node.astext()
    place = f"{node.source}, line {node.line}: {latex!r}"
    try:
        tree = ElementTree.fromstring(convert(latex, display=display))
    except Exception as error:  # the converter raises many kinds, and leaves "&" of an unknown environment as it is
        raise SphinxError(f"{place} cannot be converted to MathML ({error!r})") from error
    for element in tree.iter():
        if (element.text or "").startswith("\\"):  # the converter passes on a command that it does not know
            raise SphinxError(f"{place} has the unknown command {element.text}")
        if "columnalign" in element.attrib:  # which browsers ignore
            element.set("style", f"text-align: {element.attrib.pop('columnalign')}; padding-inline: 0")
        if element.tag == MO and (element.text == "/" or (element.text or "").isalpha()):  # "tr" is no relation
            element.set("lspace", "0")
            element.set("rspace", "0" if element.text == "/" else "0.17em")
    return ElementTree.tostring(tree, encoding="unicode")


def visit_inline(self: HTML5Translator, node: nodes.math) -> None:
    """Write a formula within a line."""
    # a word joiner, and CSS that forbids a break before it: no line begins with the comma after a formula
    self.body.append(f'<span class="math">{to_mathml(node, "inline")}\u2060</span>')
    raise nodes.SkipNode


def visit_block(self: HTML5Translator, node: nodes.math_block) -> None:
    """Write a formula on a line of its own."""
    self.body.append(f'<div class="math">{to_mathml(node, "block")}</div>\n')
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, Any]:
    """Make this the renderer of formulas in HTML."""
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_block, None))
    app.config.html_static_path.append(str(Path(__file__).parent / "static"))
    app.add_css_file("mathml.css")
    return {"parallel_read_safe": True, "parallel_write_safe": True}
