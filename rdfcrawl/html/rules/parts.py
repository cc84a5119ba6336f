"""Give selectors and templates access to a page."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from lxml import etree

from rdfcrawl.errors import Reason, SourceFault
from rdfcrawl.html.rules.names import last_segment, url_parts
from rdfcrawl.html.rules.selectors import (
    JsonValue,
    Selector,
    SelectorFailed,
    parse_json,
)
from rdfcrawl.html.rules.templates import UrlPart, WholeIri

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rdfcrawl.faultlog import FaultLog
    from rdfcrawl.html.page import ParsedPage
    from rdfcrawl.html.rules.selectors import Element, Scope


class PageParts:
    """A page as HTML or as JSON; `log` takes `SYNTAX` for invalid JSON."""

    def __init__(self, page: ParsedPage, log: FaultLog) -> None:
        self.page = page
        self._log = log

    @cached_property
    def base(self) -> str:
        """Base of relative links."""
        if self.page.is_json:
            return self.page.url
        try:
            return self.page.base
        except SourceFault:  # too deep for HTML5; for rules, what is too deep is cut
            return self.page.url

    @cached_property
    def root(self) -> Element | None:
        """The root element; None for JSON, and for a page without elements."""
        if self.page.is_json:
            return None
        body = self.page.utf8.replace(b"\0", b"")
        parser = etree.HTMLParser(encoding="utf-8", huge_tree=True)
        try:
            return etree.fromstring(body or b"<html/>", parser)
        except etree.XMLSyntaxError:  # nothing in it but white space or comments
            return None

    @cached_property
    def json(self) -> JsonValue | None:
        """The value of a page of JSON; else None."""
        if not self.page.is_json:
            return None
        try:
            return JsonValue(parse_json(self.page.text.removeprefix("\ufeff")))
        except SelectorFailed as error:
            self._log.note(Reason.SYNTAX, f"page is {error}")
            return None

    def scope(self, selector: Selector | None) -> Scope | None:
        """Return the part of the page that a selector is applied to."""
        is_query = selector is not None and selector.path is None
        return self.json if is_query else self.root

    def values(self, captured: Mapping[str, str]) -> Mapping[str, str]:
        """Return the values for templates; `captured` are named parts of the URL."""
        host, path, query = url_parts(self.page.url)
        return {
            "url": WholeIri(self.page.url),
            "base": WholeIri(self.base),
            "host": UrlPart(host),
            "path": UrlPart(path),
            "query": UrlPart(query),
            "label": UrlPart(last_segment(path)),
            **{name: UrlPart(text) for name, text in captured.items()},
        }
