"""Extract Open Graph and Dublin Core from `<meta>` and `<link>`.

Open Graph tags are RDFa: the subject is the page, the property `og:image:width` is
`http://ogp.me/ns#image:width`, and the content is a literal in the language of the
page, even if it is a URL. Prefixes come from `prefix` and `xmlns:`, from the initial
context of RDFa, or are `product` and `fb`, which pages rarely declare.

Dublin Core follows "Expressing Dublin Core metadata using HTML/XHTML meta and link
elements" (DCMI, 2008): `DC.date.issued` is `dcterms:issued` and `DC.title` is
`dc:title`, unless `<link rel="schema.DC">` declares another namespace. The content is
a literal in the language of its element or, if `scheme` names an encoding of Dublin
Core, with that datatype; the target of a `<link>` is an IRI.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from rdfcrawl.core.errors import Reason
from rdfcrawl.core.namespaces import DC, DCTERMS
from rdfcrawl.rdf.data import read_table
from rdfcrawl.rdf.iris import escape_url, prefix_pairs, resolve
from rdfcrawl.rdf.terms import iri, literal, statement

if TYPE_CHECKING:
    from selectolax.lexbor import LexborNode

    from rdfcrawl.core.errors import FaultLog
    from rdfcrawl.rdf.html.page import ParsedPage

MAX_TAGS: Final = 5000

_NOT_IN_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_MAX_NAME_CHARS: Final = 1000
_OPEN_GRAPH: Final = {"og": "http://ogp.me/ns#"} | {
    name: f"http://ogp.me/ns/{name}#"
    for name in ("music", "video", "article", "book", "profile", "product", "fb")
}
_NAMESPACES: Final = {"dc": DC, "dcterms": DCTERMS, "dct": DCTERMS}
_TABLE: Final = read_table("dublin_core")
_ELEMENTS: Final = frozenset(_TABLE["elements"])
_TERMS: Final = {name.lower(): name for name in (*_ELEMENTS, *_TABLE["terms"])}
_ENCODINGS: Final = {name.lower(): name for name in _TABLE["encodings"]}


def extract_open_graph(page: ParsedPage, log: FaultLog) -> Iterator[str]:
    """Yield the statements of the Open Graph tags, at most `MAX_TAGS` (`TOO_LARGE`).

    Raises:
        SourceFault: see `ParsedPage.tree`.

    Source: The Open Graph protocol (ogp.me); RDFa Core 1.1 Initial Context.
    """
    is_in_head = not page.is_parsed and page.has_open_graph_in_head_only
    tree = page.head_tree if is_in_head else page.tree
    root, head = tree.root, tree.head
    if root is None:
        return
    namespaces = dict(_OPEN_GRAPH)
    for element in filter(None, (root, head)):
        attributes = element.attributes
        for key, value in attributes.items():  # as in RDFa
            if key.startswith("xmlns:") and value:
                namespaces[key[6:].lower()] = value.strip()
        namespaces |= prefix_pairs(attributes.get("prefix") or "")
    subject, document = iri(page.base), page.url.partition("#")[0]
    language = page.head_language
    # Selectors of attributes alone take half the time.
    nodes = [node for node in tree.css("[content][property]") if node.tag == "meta"]
    for node in _limited(nodes, log):
        attrs = node.attributes
        text = _NOT_IN_XML.sub("", attrs["content"] or "")
        content = literal(text, language=language)
        for name in dict.fromkeys((attrs["property"] or "").split()):
            prefix, _, local = name.partition(":")
            namespace = namespaces.get(prefix.lower())
            if namespace and len(namespace) <= _MAX_NAME_CHARS:
                predicate = iri(resolve(namespace + local, document))
                yield statement(subject, predicate, content)


def extract_dublin_core(page: ParsedPage, log: FaultLog) -> Iterator[str]:
    """Yield the statements of the Dublin Core tags; see `extract_open_graph`."""
    schemas = _schemas(page)
    tags = page.tree.css("meta[name][content],link[rel][href]")
    nodes = [node for node in tags if _namespace(_name(node), schemas)]
    subject = iri(page.base)
    for node in _limited(nodes, log):
        name = _name(node)
        if term := _TERMS.get(name.rpartition(".")[2].lower()):
            namespace = _namespace(name, schemas)
            if namespace == DC and term not in _ELEMENTS:
                namespace = DCTERMS
            yield statement(subject, iri(namespace + term), _value(page, node))


def _limited(nodes: list[LexborNode], log: FaultLog) -> list[LexborNode]:
    if len(nodes) > MAX_TAGS:
        log.note(Reason.TOO_LARGE, f"more than {MAX_TAGS} tags of metadata")
    return nodes[:MAX_TAGS]


def _name(node: LexborNode) -> str:
    name = node.attributes.get("name" if node.tag == "meta" else "rel")
    return (name or "").strip()


def _schemas(page: ParsedPage) -> dict[str, str]:
    """Return the namespaces that a page declares for prefixes."""
    schemas = dict(_NAMESPACES)
    for node in page.tree.css("link[rel][href]"):
        word, _, prefix = _name(node).lower().partition(".")
        href = (node.attributes["href"] or "").strip()
        if word == "schema" and href in {DC, DCTERMS}:
            schemas[prefix] = href
    return schemas


def _namespace(name: str, schemas: dict[str, str]) -> str:
    prefix, dot, local = name.lower().partition(".")
    is_term = dot and local and len(local) <= _MAX_NAME_CHARS
    return schemas.get(prefix, "") if is_term else ""


def _value(page: ParsedPage, node: LexborNode) -> str:
    attrs = node.attributes
    if node.tag == "link":
        return iri(resolve(escape_url(attrs["href"] or ""), page.base))
    content = attrs["content"] or ""
    scheme = (attrs.get("scheme") or "").rpartition(".")[2].strip().lower()
    if scheme in _ENCODINGS:
        return literal(content, datatype=DCTERMS + _ENCODINGS[scheme])
    return literal(content, language=page.language_of(node))
