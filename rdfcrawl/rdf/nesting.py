"""How deep a document is nested: the parser recurses on triple terms and JSON.

Where it does, a few hundred kilobytes of brackets would overflow the C stack and
end the process, so that such documents are refused before they are parsed.
"""

from __future__ import annotations

import re

# Measured with an 8 MiB stack: 3,000 levels are read, 30,000 end the process.
MAX_DEPTH = 500

_JSON_STRING = re.compile(rb'"(?>[^"\\]++|\\.)*+(?:"|$)', re.DOTALL)
_NO_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))
_TEXT_TOKEN = re.compile(
    rb"<<|>>|#[^\n]*+|<[^<>\"\s]*+>"
    rb'|"""(?>[^"\\]++|\\.|"(?!""))*+"""|\'\'\'(?>[^\'\\]++|\\.|\'(?!\'\'))*+\'\'\''
    rb'|"(?>[^"\\]++|\\.)*+"|\'(?>[^\'\\]++|\\.)*+\'',
    re.DOTALL,
)


def is_json_too_deep(document: bytes) -> bool:
    """Tell whether objects and arrays are nested deeper than `MAX_DEPTH`."""
    if document.count(b"{") + document.count(b"[") <= MAX_DEPTH:
        return False
    brackets = _JSON_STRING.sub(b"", document).translate(None, _NO_BRACKETS)
    depth = 0
    for bracket in brackets:
        if bracket in b"[{":
            depth += 1
            if depth > MAX_DEPTH:
                return True
        else:
            depth -= 1
    return False


def is_text_too_deep(document: bytes) -> bool:
    """Tell whether triple terms or reified triples are nested too deeply."""
    if document.count(b"<<") <= MAX_DEPTH:
        return False
    depth = 0
    for token in _TEXT_TOKEN.finditer(document):
        if token[0] == b"<<":
            depth += 1
            if depth > MAX_DEPTH:
                return True
        elif token[0] == b">>" and depth:
            depth -= 1
    return False
