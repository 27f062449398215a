"""How the documentation is built: `make docs`, with every warning an error."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_extensions"))

import reference

import tellapart

project = "tellapart"
author = "The tellapart authors"
release = version = tellapart.__version__
extensions = [
    "myst_nb",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx_design",
    "gallery",
    "glossary_links",
    "reference",
]
exclude_patterns = ["_build", "notebooks/**/.ipynb_checkpoints"]

# Pages are MyST; blocks of plain Python and console are run by the tests, cells by this build.
myst_enable_extensions = ["attrs_inline", "colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3
nb_execution_mode = "cache"
nb_execution_in_temp = True
nb_execution_cache_path = str(Path(__file__).parent.parent / "build" / "docs-cache")
nb_execution_raise_on_error = True
nb_execution_timeout = 120

# From this folder, so that pages with formulas work with the network off.
mathjax_path = "mathjax/tex-svg.js"

templates_path = ["_templates"]
autosummary_generate = ["api.md"]  # also where an earlier build did not know of it
autosummary_context = {
    "constants": reference.CONSTANTS,
    "guides": reference.GUIDES,
    "records": reference.records(),
}
default_role = "py:obj"
autodoc_typehints = "signature"
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True  # as written, not the whole of what a default holds
autodoc_type_aliases = {
    "Array": "ndarray",
    "ArrayLike": "ArrayLike",
    "Density": "Callable",
    "Score": "Callable",
    "Transitions": "ArrayLike",
}
numpydoc_show_class_members = False
numpydoc_xref_param_type = False
python_use_unqualified_type_names = True

html_theme = "pydata_sphinx_theme"
html_title = "tellapart"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_sidebars = {
    "**": ["section-nav"],
    **{page: [] for page in ("index", "gallery", "search", "genindex", "py-modindex")},
}
html_context = {"default_mode": "auto"}  # as the system says
html_theme_options = {
    "navbar_align": "left",
    "navbar_start": ["navbar-logo", "version"],
    "navbar_persistent": ["search-button"],
    "navbar_end": ["theme-switcher"],
    "navigation_with_keys": False,
    "primary_sidebar_end": [],
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["footer"],
    "footer_end": [],
    "search_bar_text": "Search the documentation",
    "show_toc_level": 2,
}
