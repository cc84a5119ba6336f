"""Codes and words of portals, and their terms in controlled vocabularies.

Source: authority tables of the EU Publications Office (frequency, file-type,
language, data-theme), the IANA registry of media types, CKAN's own list of licences.
"""

from __future__ import annotations

import re
from importlib.resources import files
from typing import Final

from rdfcrawl.core.namespaces import MEDIA_TYPES

EU: Final = "http://publications.europa.eu/resource/authority/"

_MEDIA_TYPE = re.compile(
    r"(application|audio|font|image|message|model|multipart|text|video)"
    r"/([a-z0-9][a-z0-9!#$&^_.+-]{0,126})"
).fullmatch
_NO_WORD = re.compile(r"[^a-z0-9]+")


def read_sections(name: str) -> dict[str, list[str]]:
    """Return the lines of a file in this folder by the section that they are in."""
    text = files("rdfcrawl.sources.ckan").joinpath(name).read_text("utf-8")
    sections: dict[str, list[str]] = {}
    for line in text.splitlines():
        if line.startswith("["):
            lines = sections[line.strip("[]")] = list[str]()
        elif line and not line.startswith("#"):
            lines.append(line)
    return sections


def parse_pairs(text: str) -> dict[str, str]:
    """Parse pairs of word and name: `word=NAME`, or only a name."""
    entries = (entry.partition("=") for entry in text.split())
    return {word_of(word): name or word for word, _, name in entries}


def word_of(text: str) -> str:
    """Return a text for comparison: lower case, letters and digits only.

    >>> word_of("R/P1Y"), word_of(" Semi-Annual ")
    ('rp1y', 'semiannual')
    """
    return _NO_WORD.sub("", text.lower())


_SECTIONS: Final = read_sections("vocabularies.txt")
_FREQUENCY_OF: Final = {
    word: code
    for code, *words in map(str.split, _SECTIONS["frequencies"])
    for word in words
}
_FREQUENCIES: Final = frozenset(_FREQUENCY_OF.values())
_FILE_TYPE_OF: Final = parse_pairs(" ".join(_SECTIONS["file types"]))
_LANGUAGE_OF: Final = parse_pairs(" ".join(_SECTIONS["languages"]))
_THEME_CODES: Final = frozenset(parse_pairs(" ".join(_SECTIONS["themes"])).values())
_LICENCES: Final = dict(map(str.split, _SECTIONS["licences"]))
_LANGUAGE_CODES: Final = frozenset(_LANGUAGE_OF.values())


def frequency(text: str) -> str:
    """Return the IRI of an update frequency; empty if unknown."""
    upper = text.strip().upper()
    own = upper if upper in _FREQUENCIES else ""
    code = _FREQUENCY_OF.get(word_of(text), own)
    return f"{EU}frequency/{code}" if code else ""


def file_type(text: str) -> str:
    """Return the IRI of a file format; empty if unknown."""
    name = _FILE_TYPE_OF.get(word_of(text), "")
    return f"{EU}file-type/{name}" if name else ""


def media_type(text: str) -> str:
    """Return the IRI of a media type; empty if the text does not have its form.

    >>> media_type("Text/CSV; charset=utf-8")
    'https://www.iana.org/assignments/media-types/text/csv'
    """
    essence = text.partition(";")[0].strip().lower()
    return MEDIA_TYPES + essence if _MEDIA_TYPE(essence) else ""


def language(text: str) -> str:
    """Return the IRI of a language code of ISO 639; empty if unknown."""
    code = re.split("[-_]", text.strip().lower())[0]
    own = code.upper() if code.upper() in _LANGUAGE_CODES else ""
    name = _LANGUAGE_OF.get(code, own)
    return f"{EU}language/{name}" if name else ""


def theme(text: str) -> str:
    """Return the IRI of an EU data theme; empty if the text is not its code."""
    code = text.strip().upper()
    return f"{EU}data-theme/{code}" if code in _THEME_CODES else ""


def licence(identifier: str) -> str:
    """Return the IRI of the licence with this CKAN id; empty if unknown."""
    return _LICENCES.get(identifier.strip().lower().replace("_", "-"), "")
