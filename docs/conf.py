"""The site: `make docs` builds it into site/, with nothing fetched from elsewhere when it is read."""

import re
from pathlib import Path

project = "sfumato"
author = "The sfumato maintainers"
extensions = ["myst_parser"]
root_doc = "index"
source_suffix = {".md": "markdown"}
myst_heading_anchors = 4
suppress_warnings = ["myst.header"]  # the results of the papers begin below their own titles

html_theme = "pydata_sphinx_theme"
html_title = "sfumato"
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "header_links_before_dropdown": 8,
    "navbar_end": ["theme-switcher"],
    "show_prev_next": True,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
}
copyright = "The sfumato maintainers, Apache-2.0"  # noqa: A001

ELSEWHERE = re.compile(
    r"""(?:src|data)=["']https?:|<link[^>]+href=["']https?:|@import\s+["']?https?:|url\(["']?https?:"""
)


def refuse_elsewhere(app, error):
    """Fail where a page of the site would load a font, a script or a picture from another place."""
    if error is None:
        files = [p for end in ("*.html", "*.css") for p in Path(app.outdir).rglob(end)]
        loading = [str(p) for p in files if ELSEWHERE.search(p.read_text("utf-8"))]
        if loading:
            raise SystemExit(f"these pages load something from elsewhere: {', '.join(loading)}")


def setup(app):
    """Look at the site once it is built."""
    app.connect("build-finished", refuse_elsewhere)
