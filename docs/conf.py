"""The site: `make docs` builds it into site/, with nothing fetched from elsewhere when it is read."""

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
