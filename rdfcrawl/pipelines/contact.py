"""The contact in `USER_AGENT`: of the setting, or kept in `CRAWL_DIR/contact.txt`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from rdfcrawl.core.errors import ConfigError
from rdfcrawl.stores.files import replacing_file

if TYPE_CHECKING:
    from pathlib import Path

    from scrapy.settings import BaseSettings

# Pages of the software in default values, which are no contact of the crawl.
SOFTWARE: Final = ("https://github.com/rdfcrawl/rdfcrawl", "https://scrapy.org")
CONTACT_FILE: Final = "contact.txt"
"""Its name in `CRAWL_DIR`."""
_MOST_CHARS: Final = 200
# RFC 5321 4.5.3.1.1: at most 64 characters precede the @.
_has_address = re.compile(
    r"[^\s@;,()<>]{1,64}@[a-z0-9-]+(?:\.[a-z0-9-]+)+", re.IGNORECASE
).search
_has_page = re.compile(r"https?://[a-z0-9-]+(?:\.[a-z0-9-]+)+", re.IGNORECASE).search
# It becomes part of a comment in a header.
_is_comment = re.compile(r"[!-'*-\[\]-~]{3,200}").fullmatch


class ContactMissing(ConfigError):
    """A crawl of the open web has no contact."""


def names_contact(user_agent: str) -> bool:
    """Return whether a `User-Agent` has a mail address, or the URL of a page.

    The URL of the software itself does not count.

    >>> names_contact("lab/1 (+https://lab.example.org)"), names_contact("lab/1")
    (True, False)
    """
    for page in SOFTWARE:
        user_agent = user_agent.replace(page, "")
    return bool(_has_address(user_agent) or _has_page(user_agent))


def is_contact(text: str) -> bool:
    """Return whether a text is a mail address or the URL of a page, and can be sent.

    >>> is_contact("me@example.org"), is_contact("me"), is_contact("(a@b.example)")
    (True, False, False)
    """
    return bool(_is_comment(text)) and names_contact(text)


def with_contact(user_agent: str, contact: str) -> str:
    """Return a `User-Agent` with a contact in its comment.

    >>> with_contact("lab/1 (+https://scrapy.org)", "me@example.org")
    'lab/1 (+https://scrapy.org; me@example.org)'
    >>> with_contact("lab/1", "me@example.org")
    'lab/1 (+me@example.org)'
    """
    if user_agent.endswith(")"):
        return f"{user_agent[:-1]}; {contact})"
    return f"{user_agent} (+{contact})"


def keep_contact(path: Path, contact: str) -> None:
    """Write the contact of the crawls in a folder.

    Raises:
        OSError: the disk cannot be written.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing_file(path) as file:
        file.write(f"{contact}\n")


def use_kept_contact(settings: BaseSettings, folder: Path) -> None:
    """Add the kept contact to a `USER_AGENT` without one, unless settings are frozen.

    Args:
        settings: of a crawl.
        folder: of all crawls, `CRAWL_DIR`.

    Raises:
        ConfigError: the file cannot be read, or has something else.
    """
    agent = str(settings.get("USER_AGENT"))
    if names_contact(agent) or settings.frozen:
        return
    path = folder / CONTACT_FILE
    try:
        with path.open(encoding="utf-8") as file:
            contact = file.read(_MOST_CHARS + 1).strip()
    except FileNotFoundError:
        return
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: cannot be read: {error}") from error
    if not is_contact(contact):
        raise ConfigError(f"{path}: must be a mail address, or the URL of a page")
    priority = settings.getpriority("USER_AGENT") or 0
    settings.set("USER_AGENT", with_contact(agent, contact), priority)
