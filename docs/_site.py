"""Hooks of the documentation site: links into the repository, and the API page."""

from __future__ import annotations

import posixpath
import re
from typing import TYPE_CHECKING, Final

from mkdocs.structure.files import File, Files

import rdfcrawl

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.pages import Page

_API_PAGE: Final = "reference/package.md"
_API_INTRO: Final = """\
# The package

For programmers: signatures and docstrings of [the Python interface](api.md).
"""
_find_links: Final = re.compile(r"\]\((\.\./[^)\s]*)\)")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the page of the public names, from their docstrings."""
    names = [each for each in rdfcrawl.__all__ if not each.startswith("__")]
    content = "\n".join([_API_INTRO, *(f"::: rdfcrawl.{each}" for each in names)])
    files.append(File.generated(config, _API_PAGE, content=content))
    return files


def on_page_markdown(
    markdown: str, page: Page, config: MkDocsConfig, **_: Files
) -> str:
    """Return a page whose links to files outside of `docs/` lead to the repository.

    Its graphs are text: the script that draws them would come from another host.
    """
    folder = posixpath.dirname(page.file.src_uri)
    repository = config.extra["repository"]

    def replaced(link: re.Match[str]) -> str:
        path = posixpath.normpath(posixpath.join("docs", folder, link[1]))
        if path.startswith("docs/"):
            return link[0]
        return f"]({repository}/blob/main/{path})"

    markdown = markdown.replace("```mermaid\ngraph TD\n", "```text\n")
    return _find_links.sub(replaced, markdown.replace(" --> ", " → "))
