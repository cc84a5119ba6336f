"""The guide to pages that scripts fill works as described, with a real browser."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

from scrapy_playwright import handler as browser_handler

from rdfcrawl.stores.reading import iter_quads
from tests.conftest import LOOPBACK_NETS
from tests.support.page_browser import CHROMIUM_FLAGS, needs_chromium
from tests.support.pages import ROOT, blocks, commands_in, read_page

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.crawl_webs import Loopback

_SITE = "https://shop.example"
_PAGE = b"""<!DOCTYPE html><title>Shop</title><script>
addEventListener("load", async () => {
  const data = document.createElement("script");
  data.type = "application/ld+json";
  data.textContent = await (await fetch("/data")).text();
  document.head.append(data);
  document.body.innerHTML = "<a href=/products/2>next</a><img src=/i.png>";
});
</script><body><div id=app></div>"""
_DATA = json.dumps(
    {"@context": {"@vocab": "https://schema.org/"}, "@id": "#it", "name": "Lamp"}
).encode()


def _project(folder: Path, page: str, url: str) -> None:
    """Write the project of the guide, for another site."""
    (folder / "scrapy.cfg").write_text("[settings]\ndefault = shop.settings\n")
    (folder / "shop").mkdir()
    (folder / "shop" / "__init__.py").touch()
    for block in blocks(page, "python"):
        path = folder / block.partition("\n")[0].removeprefix("# ")
        path.write_text(block.replace(_SITE.replace(".", r"\."), url))


def test_pages_are_read_as_the_browser_shows_them(
    loopback: Loopback, tmp_path: Path
) -> None:
    """If scripts add JSON-LD and links, then a crawl finds and follows both."""
    html = loopback.response(_PAGE, "text/html")
    server = loopback(
        {
            "/products/1": html,
            "/products/2": html,
            "/data": loopback.response(_DATA, "application/json"),
        }
    )
    site = server.url("").rstrip("/")
    page = read_page("javascript-pages.md")
    _project(tmp_path, page, site)
    (words,) = [words for words in commands_in(page) if words[1] == "crawl"]
    options = {"executable_path": needs_chromium(), "args": list(CHROMIUM_FLAGS)}
    browser = json.dumps(options)
    given = {
        "PLAYWRIGHT_LAUNCH_OPTIONS": browser,
        "GUARD_ALLOW_NETS": LOOPBACK_NETS,
        "GUARD_PORTS": "1-65535",
        "DOWNLOAD_DELAY": "0",
    }
    done = subprocess.run(
        [
            *(sys.executable, "-m", "rdfcrawl"),
            *(word.replace(_SITE, site) for word in words[1:]),
            *(f"-s{name}={value}" for name, value in given.items()),
        ],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        check=False,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    quads = b"".join(iter_quads(tmp_path / "crawl" / "linkeddata" / "quads")).decode()
    assert browser_handler.__name__ in page
    for path in ("/products/1", "/products/2"):
        graph = server.url(path)
        assert f'<{graph}#it> <https://schema.org/name> "Lamp" <{graph}> .' in quads
    assert "connects without the guard" in done.stderr
    assert "/i.png" not in server.targets
