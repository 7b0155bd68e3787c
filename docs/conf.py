"""How the site is built: ``make docs``."""

import sys
from pathlib import Path

import biosfa

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

project = "biosfa"
author = "The biosfa developers"
release = biosfa.__version__
extensions = ["myst_parser", "mathml", "numpydoc", "sphinx.ext.autodoc", "sphinx.ext.autosummary"]
templates_path = ["_templates"]
myst_heading_anchors = 3
myst_enable_extensions = ["dollarmath"]
autosummary_generate = True
autodoc_typehints = "none"  # numpydoc says them
numpydoc_show_class_members = False
html_theme = "furo"
html_title = "biosfa"
exclude_patterns = ["_build", "_templates"]
