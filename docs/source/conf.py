"""How Sphinx builds the documentation."""

import inspect
import re
import shutil
import sys
from functools import cached_property
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import sparsest

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
REPOSITORY = HERE.parents[1]

project = "sparsest"
author = "The sparsest developers"
copyright = author
version = release = sparsest.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
templates_path = ["_templates"]
exclude_patterns = ["gallery/*.ipynb", "gallery/*.py"]
root_doc = "index"
nitpicky = False
# Anchors of headings, so that pages can link to a question on another page.
myst_heading_anchors = 3
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath", "substitution"]

autosummary_generate = True
# Sphinx cannot store the function below, which templates call.
suppress_warnings = ["config.cache"]


def _is_property(module: str, name: str, item: str) -> bool:
    """Whether an attribute of a class is a property, whose docstring describes it."""
    found = inspect.getattr_static(getattr(import_module(module), name), item, None)
    return isinstance(found, property | cached_property)


# What estimators inherit from scikit-learn is documented there.
autosummary_context = {
    "is_property": _is_property,
    "skipped_methods": [
        "__init__", "fit_transform", "get_metadata_routing", "get_params", "set_fit_request", "set_output",
        "set_params", "set_predict_request", "set_predict_proba_request", "set_score_request",
        "set_decision_function_request", "set_inverse_transform_request", "set_transform_request", "count", "index",
    ]
}  # fmt: skip
toc_object_entries_show_parents = "hide"
autodoc_typehints = "none"
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
numpydoc_xref_param_type = False
# One file beside the pages, so that formulas need no network.
mathjax_path = "tex-svg.js"
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

html_theme = "pydata_sphinx_theme"
html_title = "sparsest"
html_static_path = ["_static"]
html_css_files = ["sparsest.css"]
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "logo": {"text": "sparsest"},
    "navbar_align": "left",
    "header_links_before_dropdown": 6,
    "show_prev_next": True,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "tango",
    "pygments_dark_style": "monokai",
}
# Pages without neighbours in the table of contents need no column for them.
html_sidebars = {"index": [], "architecture": [], "changelog": []}

sphinx_gallery_conf = {
    "examples_dirs": str(REPOSITORY / "examples"),
    "gallery_dirs": "gallery",
    "within_subsection_order": "gallery_order.place",
    "download_all_examples": False,
    "show_signature": False,
    "remove_config_comments": True,
    "write_computation_times": False,
    "abort_on_example_error": True,
    "matplotlib_animations": False,
}


def _copy_studies() -> None:
    """Copy the published studies into the source folder, where Sphinx looks for pages."""
    target = HERE / "studies"
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(REPOSITORY / "docs" / "studies", target)


_ENTRY = re.compile(r"^([*\w, ]+) : (.+)$")


def _describe_below(app, what, name, obj, options, lines) -> None:
    """Put descriptions that begin beside a parameter's name below it: numpydoc would take them for types."""
    found: list[str] = []
    for line, following in zip(lines, [*lines[1:], ""], strict=True):
        entry = _ENTRY.match(line)
        is_type = following[:4] == "    " and following.strip()[:1].isupper() and not line.endswith(".")
        if entry is None or is_type:
            found.append(line)
        else:
            found += [entry[1], f"    {entry[2]}"]
    lines[:] = found


def _copy_mathjax(app, error) -> None:
    """Put MathJax beside the pages."""
    if error is None:
        package = Path(find_spec("sphinx-mathjax-offline").origin).parent
        shutil.copy(package / "static" / "mathjax" / "tex-svg.js", Path(app.outdir) / "_static")


def setup(app):
    """Prepare what is kept outside of the source folder."""
    _copy_studies()
    import benchmark_figures

    benchmark_figures.write(REPOSITORY / "benchmarks" / "README.md", HERE / "benchmark_figures")
    app.connect("build-finished", _copy_mathjax)
    # Before numpydoc, whose priority is the usual 500.
    app.connect("autodoc-process-docstring", _describe_below, priority=400)
