"""The first minute with rdfcrawl as a moving picture for the README.

`python -m tests.support.terminal_recording` runs the commands on a shop that is served
on loopback, and draws what they write, line by line, as an SVG that plays by itself.
The settings that a server on this machine needs are left out of the picture.
"""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from tests.conftest import LOOPBACK_NETS
from tests.otherweb.site import NOT_FOUND, Answer, Request, Site
from tests.support.command_forks import shared_forks

PICTURE: Final = Path(__file__).parents[2] / "docs" / "images" / "first-minute.svg"
HOST: Final = "shop.example"
SITE: Final = f"https://{HOST}/"
COMMANDS: Final = (
    f"rdfcrawl look {SITE}",
    f"rdfcrawl crawl sitemap -a sites={SITE} -a items=schema:Product -O products.jl",
    "head -n 1 products.jl",
    (
        "rdfcrawl query --format table 'SELECT ?name ?price { ?lamp schema:name ?name ;"
        " schema:offers/schema:price ?price } ORDER BY ?price LIMIT 4'"
    ),
)
_SITEMAP: Final = (
    '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{}</urlset>'
)
_N_PRODUCTS: Final = 24
_COLUMNS: Final = 112
_LINE_PX, _CHAR_PX, _MARGIN_PX = 19, 8.4, 16
_TYPED_SECS, _SHOWN_SECS, _READ_SECS = 1.2, 0.12, 2.5
_STYLE: Final = (
    "text{font:14px ui-monospace,Menlo,Consolas,monospace;fill:#d8dee9;"
    "white-space:pre}.c{fill:#8fd6c2}"
    "@media(prefers-reduced-motion:no-preference){"
    "text{opacity:0;animation:s .2s forwards}}@keyframes s{to{opacity:1}}"
)


class LampShop(Site):
    """A shop of lamps with JSON-LD, all in its sitemap."""

    robots = "User-agent: *\nDisallow: /cart/\nSitemap: {root}/sitemap.xml\n"

    def answer(self, request: Request) -> Answer:
        """Serve the front page, the sitemap, or a product."""
        if request.target == "/":
            links = "".join(f"<a href=/lamp/{n}>{n}</a>" for n in range(_N_PRODUCTS))
            return Answer(200, "text/html", f"<title>Lamps</title>{links}".encode())
        if request.target == "/sitemap.xml":
            urls = (self.url(f"/lamp/{n}") for n in range(_N_PRODUCTS))
            entries = "".join(f"<url><loc>{url}</loc></url>" for url in urls)
            return Answer(200, "application/xml", _SITEMAP.format(entries).encode())
        name, _, number = request.target.rpartition("/")
        if name != "/lamp" or not number.isdigit() or int(number) >= _N_PRODUCTS:
            return NOT_FOUND
        return Answer(200, "text/html", _product(int(number)).encode())


def _product(number: int) -> str:
    said = {
        "@context": "https://schema.org/",
        "@type": "Product",
        "@id": "#it",
        "name": f"Lamp {number + 1}",
        "brand": {"@type": "Brand", "name": "Bright"},
        "offers": {
            "@type": "Offer",
            "price": f"{19 + number}.50",
            "priceCurrency": "EUR",
        },
    }
    script = f'<script type="application/ld+json">{json.dumps(said)}</script>'
    return f"<!doctype html><title>Lamp {number + 1}</title>{script}"


@dataclass(frozen=True, slots=True)
class TerminalLine:
    """A line of the recording.

    Attributes:
        text: of the line.
        secs: when it appears.
        is_command: it was typed.
    """

    text: str
    secs: float
    is_command: bool = False


def record(folder: Path, *, delay_secs: float = 1.0) -> list[TerminalLine]:
    """Run the commands in a folder; return the lines with their times.

    Args:
        folder: in which they run.
        delay_secs: between two requests to the shop.
    """
    lines: list[TerminalLine] = []
    now = 0.5
    shop = LampShop("127.20.81.1")
    shop.start()
    try:
        for command in COMMANDS:
            lines.append(TerminalLine(f"$ {command}", now, is_command=True))
            now += _TYPED_SECS
            for text in _run(command, shop.url("/"), folder, delay_secs):
                lines.append(TerminalLine(text, now))
                now += _SHOWN_SECS
            lines.append(TerminalLine("", now))
            now += _READ_SECS
    finally:
        shop.stop()
    return lines


def _run(command: str, root: str, folder: Path, delay_secs: float) -> Iterator[str]:
    """Yield the output of a command about the shop."""
    name, *words = shlex.split(command.replace(SITE, root))
    if name == "head":
        text = (folder / words[-1]).read_text(encoding="utf-8").split("\n")[0]
    else:
        given = f"-sGUARD_ALLOW_NETS={LOOPBACK_NETS}", f"-sDOWNLOAD_DELAY={delay_secs}"
        quiet = "-sLOG_LEVEL=WARNING", "-sSTATS_DUMP=False"
        program = "-m", "rdfcrawl"
        done = shared_forks().run(*program, *words, *given, *quiet, folder=folder)
        if done.returncode:
            raise RuntimeError(f"{command}: {done.stderr}")
        text = (done.stderr + done.stdout).rstrip("\n")
    shown = text.replace(root, SITE).replace(root.rstrip("/"), SITE.rstrip("/"))
    yield from shown.replace(root.split("/")[2], HOST).split("\n")


def drawn(lines: Sequence[TerminalLine]) -> str:
    """Return the lines as an SVG whose lines appear one after another."""
    rows = list(_rows(lines))
    width = round(_COLUMNS * _CHAR_PX + 2 * _MARGIN_PX)
    height = len(rows) * _LINE_PX + 2 * _MARGIN_PX
    title = "The first minute: look at a site, crawl it, query it"
    texts = "".join(
        f'<text x="{_MARGIN_PX}" y="{_MARGIN_PX + _LINE_PX * n + 14}"'
        f"{' class=' + chr(34) + 'c' + chr(34) if row.is_command else ''}"
        f' style="animation-delay:{row.secs:.1f}s">{escape(row.text)}</text>\n'
        for n, row in enumerate(rows)
        if row.text
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}"'
        f' width="{width}" height="{height}" role="img"><title>{title}</title>\n'
        f"<style>{_STYLE}</style>\n"
        f'<rect width="100%" height="100%" rx="8" fill="#1e2430"/>\n{texts}</svg>\n'
    )


def _rows(lines: Iterable[TerminalLine]) -> Iterator[TerminalLine]:
    """Yield the lines, the long ones in several."""
    for line in lines:
        for n in range(0, max(1, len(line.text)), _COLUMNS):
            text = line.text[n : n + _COLUMNS]
            yield TerminalLine(text, line.secs, line.is_command)


def main() -> None:
    """Write the picture."""
    with TemporaryDirectory() as folder:
        PICTURE.write_text(drawn(record(Path(folder))), encoding="utf-8")
    sys.stdout.write(f"{PICTURE}\n")


if __name__ == "__main__":
    main()
