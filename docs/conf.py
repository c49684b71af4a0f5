"""How the documentation is built, without a network."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE / "_ext"), str(HERE.parent)]

project = "somscale"
author = "somscale developers"
project_copyright = author
version = release = import_module("somscale").__version__

extensions = ["sphinx.ext.autodoc", "numpydoc", "myst_parser", "somscale_docs"]
exclude_patterns = ["_build", "_ext"]
smartquotes = False  # options begin with two hyphens
default_role = "code"  # a name in single backticks
nitpicky = True  # a reference that leads nowhere is a warning, and -W makes it an error
# but those to other packages, whose manuals would have to be fetched
nitpick_ignore_regex = [("py:.*", r"(dask|distributed|matplotlib|numpy|pandas|xarray|zarr)\..*")]

autodoc_typehints = "none"  # the types stand in the docstrings, with shapes
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
add_module_names = False
python_display_short_literal_types = True
toc_object_entries = False
maximum_signature_line_length = 72

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3

html_theme = "furo"
html_title = f"somscale {version}"
html_static_path = ["_static"]
html_css_files = ["somscale.css"]
html_show_sourcelink = False
html_copy_source = False
html_show_sphinx = False
html_theme_options = {"navigation_with_keys": True}
pygments_style = "friendly"
pygments_dark_style = "github-dark"
