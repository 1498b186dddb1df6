"""How Sphinx builds the site: `make docs`."""

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import reference

import bayesnb

project = "bayesnb"
author = "The bayesnb developers"
version = release = bayesnb.__version__

extensions = [
    "links",
    "myst_nb",
    "numpydoc",
    "pictures",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.intersphinx",
    "sphinx.ext.linkcode",
    "sphinx.ext.mathjax",
    "sphinx-mathjax-offline",
    "sphinx_codeautolink",
    "sphinx_copybutton",
    "sphinx_design",
]
exclude_patterns = ["_build", "**.ipynb_checkpoints"]
templates_path = ["_templates"]

# Single backticks in docstrings name things: a link where the thing has a page, code where it is a parameter.
default_role = "py:obj"
highlight_language = "none"
autosummary_context = {"members_by_class": reference.members_by_class()}
autodoc_typehints = "none"
python_maximum_signature_line_length = 80
numpydoc_show_class_members = False
codeautolink_concat_default = True  # the examples of a page are one session
codeautolink_autodoc_inject = False
suppress_warnings = ["codeautolink.match_block"]  # an example with a flag for doctest is not found in the page
linkcode_resolve = reference.source_of

# The pages of other libraries. Their lists of names come from the network, which a build without it does not need.
_LINKED = {
    "arviz": "https://python.arviz.org/en/stable/",
    "jax": "https://docs.jax.dev/en/latest/",
    "matplotlib": "https://matplotlib.org/stable/",
    "numpy": "https://numpy.org/doc/stable/",
    "numpyro": "https://num.pyro.ai/en/stable/",
    "pandas": "https://pandas.pydata.org/docs/",
    "python": "https://docs.python.org/3/",
    "sklearn": "https://scikit-learn.org/stable/",
}
_ONLINE = "READTHEDOCS" in os.environ or "DOCS_ONLINE" in os.environ
intersphinx_mapping = {name: (address, None) for name, address in _LINKED.items()} if _ONLINE else {}
toc_object_entries_show_parents = "hide"

myst_enable_extensions = ["amsmath", "colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3
nb_execution_mode = "off"
nb_merge_streams = True
nb_ipywidgets_js: dict = {}  # the default loads scripts from the network

html_theme = "pydata_sphinx_theme"
html_title = "bayesnb"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_copy_source = False
html_sidebars = {"index": [], "gallery": [], "getting-started": []}
html_context = {"default_mode": "auto"}
html_theme_options = {
    "logo": {"text": "bayesnb"},
    "navbar_align": "left",
    "header_links_before_dropdown": 7,
    "show_toc_level": 2,
    "footer_start": ["copyright"],
    "footer_end": [],
}
copyright = "The bayesnb developers, Apache-2.0"  # noqa: A001 - Sphinx's name for it

copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True


def setup(app):
    """Hook the completeness of the reference into the build."""
    app.connect("env-check-consistency", reference.warn_of_missing_names)
