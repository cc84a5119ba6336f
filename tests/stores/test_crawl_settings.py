"""The settings of a crawl in its folder."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.settings import BaseSettings

from rdfcrawl.stores.crawl_settings import (
    HIDDEN,
    SETTINGS_NAME,
    keep_settings,
    read_settings,
)

if TYPE_CHECKING:
    from pathlib import Path


def test_secrets_are_not_written(tmp_path: Path) -> None:
    """If settings have passwords, keys or logins, then the file has none of them."""
    settings = BaseSettings()
    settings.setdict(
        {
            "MAIL_PASS": "s3cret",
            "AWS_SECRET_ACCESS_KEY": "s3cret",
            "REDIS_PARAMS": {"password": "s3cret", "socket_timeout": 3},
            "DEFAULT_REQUEST_HEADERS": {"Authorization": "s3cret", "Accept": "a"},
            "SPLASH_URL": "http://me:s3cret@h.example/",
            "PROXIES": ["http://me:s3cret@h.example/", {"api_key": "s3cret"}],
            "HEADERS": {"X-Api-Key": "s3cret", "x-access-key": "s3cret"},
            "FTP_LOGINS": ["me:s3cret"],
            "CACHE_PARAMS": '{"password": "s3cret", "db": 2}',
            "PLACES": '[{"url": "http://me:s3cret@h.example/"}]',
            "PATTERN": "[a-z]",
            "COOKIES_ENABLED": True,
            "STORES": {"http://me:s3cret@h.example/": {}},
        },
        "cmdline",
    )
    settings.set("DEFAULTED", 1, "default")
    keep_settings(tmp_path, settings)
    assert "s3cret" not in (tmp_path / SETTINGS_NAME).read_text()
    kept = {each.name: each.value for each in read_settings(tmp_path) or ()}
    assert kept == {
        "MAIL_PASS": HIDDEN,
        "AWS_SECRET_ACCESS_KEY": HIDDEN,
        "REDIS_PARAMS": {"password": HIDDEN, "socket_timeout": 3},
        "DEFAULT_REQUEST_HEADERS": {"Authorization": HIDDEN, "Accept": "a"},
        "SPLASH_URL": "http://***@h.example/",
        "PROXIES": ["http://***@h.example/", {"api_key": HIDDEN}],
        "HEADERS": {"X-Api-Key": HIDDEN, "x-access-key": HIDDEN},
        "FTP_LOGINS": HIDDEN,
        "CACHE_PARAMS": {"password": HIDDEN, "db": 2},
        "PLACES": [{"url": "http://***@h.example/"}],
        "PATTERN": "[a-z]",
        "COOKIES_ENABLED": True,
    }


def test_damaged_files_are_no_settings(tmp_path: Path) -> None:
    """If there is no file, or a damaged one, then the settings are not known."""
    assert read_settings(tmp_path) is None
    for content in ("", "[[", "{}x", "[[1]]", "3"):
        (tmp_path / SETTINGS_NAME).write_text(content)
        assert read_settings(tmp_path) is None
