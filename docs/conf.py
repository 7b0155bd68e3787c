"""How the site is built: ``make docs``."""

import inspect
import sys
from pathlib import Path
from typing import Any

import biosfa

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

project = "biosfa"
author = "The biosfa developers"
release = biosfa.__version__
project_copyright = f"The biosfa developers. Version {release}, BSD-3-Clause license"
repository = "https://github.com/biosfa/biosfa"
extensions = ["myst_parser", "mathml", "symbols", "numpydoc", "sphinx.ext.autodoc", "sphinx.ext.autosummary"]
templates_path = ["_templates"]
myst_heading_anchors = 3
myst_enable_extensions = ["dollarmath"]
autosummary_generate = True
autodoc_mock_imports = ["mne", "river", "sktime"]  # which the site is built without
autodoc_typehints = "none"  # numpydoc has them
autodoc_preserve_defaults = True  # 1e9, not 1000000000.0
numpydoc_show_class_members = False
smartquotes_action = "De"  # straight quotes: curved ones are wrong in {"auto"} and default="auto"
html_theme = "furo"
pygments_dark_style = "github-dark"  # the theme's own underlines modules like links
html_title = f"biosfa {release}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_theme_options = {
    "source_repository": repository,
    "source_branch": "main",
    "source_directory": "docs/",
    "footer_icons": [{"name": "Repository", "url": repository, "html": "Repository", "class": ""}],
}
exclude_patterns = ["_build", "_templates", "_ext"]


def own_signature(app: Any, what: str, name: str, obj: Any, options: Any, signature: str, returned: str) -> Any:
    """Return the signature of a class whose base class is mocked, where autodoc has found that of the mock."""
    if what != "class" or signature != "(*args, **kwargs)":
        return signature, returned
    own = list(inspect.signature(obj.__init__).parameters.values())[1:]
    plain = [parameter.replace(annotation=inspect.Parameter.empty) for parameter in own]
    return str(inspect.Signature(plain)), returned


def setup(app: Any) -> None:
    """Connect what is defined here."""
    app.connect("autodoc-process-signature", own_signature)
