"""URLs of files that hold no statements, by the extensions of their names.

Pictures, sound, video, fonts, styles, scripts, programs and office documents.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final
from urllib.parse import unquote

# A name in these folders is the name of a thing or of an article, as `Node.js` in
# DBpedia and Wikipedia.
_FOLDERS_OF_THINGS: Final = frozenset({"entity", "page", "resource", "wiki"})

# Whether a URL may have a file name with an extension, as those of most resources have
# not.
may_have_extension: Final = re.compile(r"[.%][^/]*+\Z|\?").search


@dataclass(frozen=True, slots=True)
class IgnoredNames:
    """Extensions of file names, in lower case and without their dots."""

    extensions: frozenset[str] = frozenset()

    def cover(self, path: str) -> bool:
        """Return whether a path, with or without a query, names an ignored file.

        >>> names = IgnoredNames(frozenset({"jpg", "js"}))
        >>> [names.cover(x) for x in ("/a/b.JPG?w=9", "/app.js", "/b%2ejpg;v=1")]
        [True, True, True]
        >>> [names.cover(x) for x in ("/a.php?f=b.jpg", "/a.jpg/", "/File:A.jpg")]
        [False, False, False]
        >>> names.cover("/resource/Node.js")
        False
        """
        path = path.partition("?")[0]
        folder, _, name = path.rpartition("/")
        if "%" in name:
            name = unquote(name)
        stem, dot, extension = name.partition(";")[0].rpartition(".")
        if not dot or extension.lower() not in self.extensions:
            return False
        # The page about a file of a wiki is called `File:A.jpg`.
        is_title = ":" in stem
        return not is_title and folder.rpartition("/")[2] not in _FOLDERS_OF_THINGS

    def cover_url(self, url: str) -> bool:
        """Return whether a requestable URL names an ignored file."""
        start = url.find("/", url.find("://") + 3)
        return start >= 0 and self.cover(url[start:])


NO_NAMES: Final = IgnoredNames()
