"""Hand over only the elements of a tree that matter to RDFa.

Most elements of a page state nothing. The others are found by selectors, in C; beside
these, only their ancestors are visited, once each.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rdfcrawl.html.walking import walk_node

if TYPE_CHECKING:
    from selectolax.lexbor import LexborHTMLParser, LexborNode

    from rdfcrawl.html.rdfa.processor import RdfaProcessor

# Without one of these an element states nothing (RDFa Core 1.1 section 7.5), unless
# a relation around it waits for an object or a subject: then the others name one.
_STATING: Final = "[property],[rel],[rev],[typeof],[vocab]"
_NAMING: Final = _STATING + ",[about],[resource],[href],[src]"


def walk_marked(tree: LexborHTMLParser, processor: RdfaProcessor) -> None:
    """Hand the elements that matter to RDFa 1.1 to its processor.

    The result is that of `walking.walk`; elements are left open, for its `close`.
    """
    walk = _MarkedWalk(processor)
    for node in tree.css(_STATING):
        walk.visit(node)


class _MarkedWalk:
    """A walk through one tree in document order."""

    def __init__(self, processor: RdfaProcessor) -> None:
        self._processor = processor
        self._n_open = 0  # elements that the processor was given
        # By element that was looked at: how many of these are around its content.
        self._depths: dict[int, int] = {}
        self._is_waiting = False  # a relation around waits

    def visit(self, node: LexborNode) -> None:
        """End elements that do not contain a node; begin its ancestors and the node."""
        key = node.mem_id
        # `css` gives an element once for each of the selectors that it matches.
        if key in self._depths:
            return
        processor = self._processor
        depth = self._go_to(node)
        attributes = node.attributes
        if processor.state(node, attributes):
            self._depths[key] = depth
            return
        self._depths[key] = depth + 1
        self._n_open += 1
        processor.start(node.tag or "", attributes, node.text)
        if processor.is_recording:
            self._hand_over_content(node)
        elif processor.is_waiting and not self._is_waiting:
            self._is_waiting = True
            for inner in node.css(_NAMING):
                self.visit(inner)
            self._is_waiting = False

    def _go_to(self, node: LexborNode) -> int:
        """Go to the parent of a node; return how many elements are open.

        Of the ancestors only the root and the relevant ones are given to the processor.
        """
        depths = self._depths
        path: list[LexborNode] = []
        above = node.parent
        while above is not None and above.mem_id not in depths:
            path.append(above)
            above = above.parent
        depth = 0 if above is None else depths[above.mem_id]
        processor = self._processor
        while self._n_open > depth:
            self._n_open -= 1
            processor.end()
        for ancestor in reversed(path):
            if ancestor.is_element_node:
                attributes = ancestor.attributes
                if not depth or processor.is_relevant(ancestor.tag or "", attributes):
                    processor.start(ancestor.tag or "", attributes)
                    depth += 1
            depths[ancestor.mem_id] = depth
        self._n_open = depth
        return depth

    def _hand_over_content(self, node: LexborNode) -> None:
        """Hand over all content of an element whose markup is recorded."""
        for inner in node.css(_NAMING):
            self._depths[inner.mem_id] = 0
        for child in node.iter(include_text=True):
            walk_node(child, self._processor)
        self._n_open -= 1
        self._processor.end()
