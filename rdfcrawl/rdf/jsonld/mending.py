"""What can be kept of JSON that ends too early or is broken somewhere."""

from __future__ import annotations

import re

_TOKEN = re.compile(r'"(?>[^"\\]++|\\.)*+"|[\[\]{},]', re.DOTALL)
_GRAPH = re.compile(r'"@graph"\s*:\s*\Z')
_CLOSERS = {"[": "]", "{": "}"}


def whole_members(text: str, end: int) -> str:
    """Return a document with those members of its outermost array that are whole.

    A node that is cut off may lack its name, so that nothing of it is kept. The
    outermost array is the document itself or the `@graph` of its only object.

    Args:
        text: a document of JSON up to its error, and more.
        end: where the error is.

    >>> whole_members('{"@graph": [{"a": 1}, {"b": 2}, {"c"', 35)
    '{"@graph": [{"a": 1}, {"b": 2}]}'
    """
    stack: list[str] = []
    array_depth = 0  # of the outermost array, once it is met
    cut = 0
    for token in _TOKEN.finditer(text, 0, end):
        mark = token[0]
        if mark in _CLOSERS:
            stack.append(mark)
            if mark == "[" and not array_depth and _is_outermost(stack, text, token):
                array_depth, cut = len(stack), token.end()
        elif mark in {"]", "}"}:
            if not stack or _CLOSERS[stack.pop()] != mark:
                break
            if array_depth and len(stack) == array_depth:
                cut = token.end()
            elif array_depth and len(stack) < array_depth:
                cut = token.start()
                break
        elif mark == "," and array_depth and len(stack) == array_depth:
            cut = token.start()
    if not array_depth:
        return ""
    return text[:cut] + ("]" if array_depth == 1 else "]}")


def _is_outermost(stack: list[str], text: str, token: re.Match[str]) -> bool:
    if len(stack) == 1:
        return True
    before = text[max(0, token.start() - 64) : token.start()]
    return len(stack) == 2 and stack[0] == "{" and bool(_GRAPH.search(before))
