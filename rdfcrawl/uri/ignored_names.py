"""URLs of files that hold no statements, by the extensions of their names.

Pictures, sound, video, fonts, styles, scripts, programs and office documents.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final
from urllib.parse import unquote

IGNORED_EXTENSIONS: Final = (
    # pictures
    "apng", "avif", "bmp", "cdr", "cur", "djvu", "drw", "dxf", "emf", "eps", "gif",
    "heic", "heif", "ico", "jfif", "jpe", "jpeg", "jpg", "jxl", "mng", "pct", "png",
    "ps", "psd", "psp", "pst", "tif", "tiff", "webp", "wmf",
    # sound and video
    "3gp", "aac", "aif", "aiff", "amr", "asf", "asx", "avi", "flac", "flv", "m2ts",
    "m3u8", "m4a", "m4b", "m4v", "mid", "midi", "mka", "mkv", "mov", "mp2", "mp3",
    "mp4", "mpeg", "mpg", "oga", "ogg", "ogv", "opus", "qt", "ra", "rm", "swf", "wav",
    "weba", "webm", "wma", "wmv",
    # fonts, styles and scripts
    "css", "eot", "js", "mjs", "otf", "scss", "ttf", "wasm", "woff", "woff2",
    # office documents and print formats
    "doc", "docb", "docm", "docx", "dot", "dotm", "dotx", "epub", "mobi", "odf", "odg",
    "odp", "ods", "odt", "pdf", "potm", "potx", "pps", "ppsx", "ppt", "pptm", "pptx",
    "rtf", "vsd", "xls", "xlsb", "xlsm", "xlsx", "xlt", "xltm", "xltx",
    # programs
    "apk", "bat", "bin", "cpl", "deb", "dmg", "exe", "hta", "iso", "jar", "msi", "msp",
    "rar", "rpm",
)  # fmt: skip
"""File name extensions whose links are not followed, by default."""
# A name in one of these folders names a thing or an article, as `Node.js` in DBpedia
# and Wikipedia.
_FOLDERS_OF_THINGS: Final = frozenset({"entity", "page", "resource", "wiki"})


@dataclass(frozen=True, slots=True)
class IgnoredNames:
    """Extensions of file names, in lower case and without their dots."""

    extensions: frozenset[str] = frozenset()

    def covers(self, path: str) -> bool:
        """Return whether a path, with or without a query, names an ignored file.

        >>> names = IgnoredNames(frozenset({"jpg", "js"}))
        >>> [names.covers(x) for x in ("/a/b.JPG?w=9", "/app.js", "/b%2ejpg;v=1")]
        [True, True, True]
        >>> [names.covers(x) for x in ("/a.php?f=b.jpg", "/a.jpg/", "/File:A.jpg")]
        [False, False, False]
        >>> names.covers("/resource/Node.js")
        False
        """
        path = path.partition("?")[0]
        folder, _, name = path.rpartition("/")
        if "%" in name:
            name = unquote(name)
        stem, dot, extension = name.partition(";")[0].rpartition(".")
        if not dot or extension.lower() not in self.extensions:
            return False
        # In a wiki, `File:A.jpg` is the page about a file.
        is_title = ":" in stem
        return not is_title and folder.rpartition("/")[2] not in _FOLDERS_OF_THINGS

    def covers_url(self, url: str) -> bool:
        """Return whether a requestable URL names an ignored file."""
        start = url.find("/", url.find("://") + 3)
        return start >= 0 and self.covers(url[start:])


NO_NAMES: Final = IgnoredNames()
