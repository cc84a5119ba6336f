"""Walk a page of any depth and pass its elements to a handler."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from selectolax.lexbor import LexborHTMLParser, LexborNode

Attributes = dict[str, "str | None"]


class PageHandler(Protocol):
    """Handler of the elements of a page in document order."""

    def start(self, name: str, attributes: Attributes) -> None:
        """Handle the start of an element; an attribute without a value has None."""

    def end(self) -> None:
        """Handle the end of the innermost element."""

    def text(self, text: str) -> None:
        """Handle text, in any pieces."""

    def comment(self, text: str) -> None:
        """Handle a comment."""


def walk(tree: LexborHTMLParser, handler: PageHandler) -> None:
    """Pass an HTML tree to a handler, without the content of `template`."""
    walk_node(tree.root, handler)


def walk_node(node: LexborNode | None, handler: PageHandler) -> None:
    """Pass a node and all its descendants to a handler."""
    open_nodes: list[LexborNode] = []
    while node is not None:
        if node.is_element_node:
            handler.start(node.tag or "", node.attributes)
            child = node.first_child
            if child is not None:
                open_nodes.append(node)
                node = child
                continue
            handler.end()
        elif node.is_text_node:
            handler.text(node.text_content or "")
        elif node.is_comment_node:
            # `comment_content` is stripped of spaces.
            handler.comment((node.html or "")[4:-3])
        following = node.next if open_nodes else None
        while following is None and open_nodes:
            handler.end()
            node = open_nodes.pop()
            following = node.next if open_nodes else None
        node = following
