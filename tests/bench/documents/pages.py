"""HTML pages of 50 to 150 KB, as shops, blogs and portals publish them.

Half of a page is its frame: styles, scripts, symbols, menus. In each form of
annotation, pages state the same things.
"""

from __future__ import annotations

import json
import random
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any, Final

from tests.bench.documents.words import prose, text

if TYPE_CHECKING:
    from collections.abc import Callable

FORMS: Final = ("plain", "json-ld", "microdata", "rdfa", "mixed")
SITES: Final = ("shop", "blog", "portal")
_LEAST_BYTES, _MOST_BYTES = 50_000, 150_000


@dataclass(frozen=True, slots=True)
class DescribedThing:
    """A thing that a page describes.

    Attributes:
        kind: its class of schema.org.
        values: name of a property of schema.org to its text, or to a thing.
        links: name of a property to a link.
    """

    kind: str
    values: dict[str, str | DescribedThing]
    links: dict[str, str]


def page(number: int, form: str) -> bytes:
    """Return a page of a shop, a blog or a portal, in turns.

    Args:
        number: of the page; the same one has the same content in each form.
        form: one of `FORMS`: the annotation of its things.
    """
    rng = random.Random(number)
    site = SITES[number % len(SITES)]
    wanted = rng.randint(_LEAST_BYTES, _MOST_BYTES)
    frame = random.Random(f"{site} {number % 50}")  # sites repeat their frames
    things = [_THINGS[site](rng) for _ in range(rng.randint(8, 40))]
    is_in_script = form in ("json-ld", "mixed")
    scripts = _json_ld(things) if is_in_script else ""
    head = _head(frame, rng, scripts, has_open_graph=form != "plain")
    show = {"microdata": _microdata, "rdfa": _rdfa}.get(form, _plain)
    vocabulary = ' vocab="https://schema.org/"' if form == "rdfa" else ""
    parts = [head, f"<body{vocabulary}>", _menu(frame)]
    if form == "mixed":
        parts.append(_microdata(_breadcrumb(rng), rng))
    parts.append('<main id="content" class="layout__main container">')
    # Themes annotate some things in the page as well as in a script.
    n_twice = len(things) // 4 if form == "mixed" else 0
    parts += [_microdata(thing, rng) for thing in things[:n_twice]]
    parts += [show(thing, rng) for thing in things[n_twice:]]
    n_chars = sum(map(len, parts))
    while n_chars < wanted - 8_000:
        parts.append(_plain(_THINGS[site](rng), rng))
        n_chars += len(parts[-1])
    parts += ["</main>", _footer(frame), "</body></html>"]
    html = "".join(parts)
    if form == "mixed" and site == "blog":  # classes of WordPress's `post_class`
        html = html.replace('class="card ', 'class="post hentry card ', 10)
    return html.encode()


# -- frames --------------------------------------------------------------------------


def _head(
    frame: random.Random, rng: random.Random, scripts: str, *, has_open_graph: bool
) -> str:
    title = escape(text(rng, 6).capitalize())
    about = escape(prose(rng, 20))
    social = (
        f'<meta property="og:title" content="{title}"><meta property="og:type" '
        f'content="website"><meta property="og:description" content="{about}">'
        f'<meta property="og:image" content="/media/{rng.randrange(999)}.jpg">'
        '<meta name="twitter:card" content="summary_large_image">'
    )
    rules = "\n".join(
        f".c-{frame.randrange(9999)}--{name}:hover,.u-{name}>li{{margin:0 {i}px;"
        f"color:#{frame.randrange(1 << 24):06x};transition:all .2s ease-in-out}}"
        for i, name in enumerate(frame.choices(_CLASSES, k=90))
    )
    state = json.dumps(
        {
            text(frame, 1) + str(i): {"id": frame.randrange(10**9), "on": i % 3 == 0}
            for i in range(140)
        }
    )
    return (
        '<!DOCTYPE html>\n<html lang="en" class="no-js"><head><meta charset="utf-8">'
        f'<title>{title} | Example</title><meta name="viewport" '
        'content="width=device-width, initial-scale=1"><meta name="description" '
        f'content="{about}"><meta name="generator" content="WordPress 6.5">'
        '<link rel="canonical" href="/page"><link rel="alternate" hreflang="de" '
        'href="/de/page"><link rel="stylesheet" href="/assets/app.4f2a.css">'
        '<link rel="preload" as="font" href="/f.woff2" crossorigin>'
        f"{social if has_open_graph else ''}{scripts}<style>{rules}</style>"
        f"<script>window.__STATE__={state};(function(w,d){{if(w.a<1&&d){{w.b='<p>'}}}}"
        ")(window,document)</script><!-- rendered in 12 ms --></head>\n"
    )


def _menu(frame: random.Random) -> str:
    items = "".join(
        f'<li class="nav__item nav__item--{i % 4}"><a class="nav__link" '
        f'href="/c/{i}/{frame.randrange(999)}" data-track="nav|{i}">'
        f"<span>{text(frame, 2)}</span></a></li>\n"
        for i in range(60)
    )
    symbols = "".join(
        f'<svg class="icon" viewBox="0 0 24 24" aria-hidden="true"><path d="M'
        f'{" ".join(f"{frame.uniform(0, 24):.2f}" for _ in range(24))}z"/></svg>'
        for _ in range(12)
    )
    return (
        '<header class="header" role="banner"><a class="logo" href="/">Example</a>'
        f'{symbols}<form action="/search" method="get"><input type="search" name="q" '
        f'placeholder="Search"></form><nav><ul class="nav">{items}</ul></nav></header>'
    )


def _footer(frame: random.Random) -> str:
    links = "".join(
        f'<li><a href="/about/{i}" rel="nofollow">{text(frame, 2)}</a></li>'
        for i in range(30)
    )
    return (
        f'<footer class="footer"><ul>{links}</ul><p>&copy; 2026 Example &middot; '
        f"{escape(prose(frame, 40))}</p></footer><script src=/assets/app.9c.js defer>"
        "</script>"
    )


_CLASSES: Final = ("card", "grid", "media", "button", "title", "price", "badge")


# -- things --------------------------------------------------------------------------


def _product(rng: random.Random) -> DescribedThing:
    price = f"{rng.uniform(1, 900):.2f}"
    offer = DescribedThing(
        "Offer",
        {"price": price, "priceCurrency": "EUR"},
        {"availability": "https://schema.org/InStock"},
    )
    rating = DescribedThing(
        "AggregateRating",
        {
            "ratingValue": f"{rng.uniform(1, 5):.1f}",
            "reviewCount": str(rng.randrange(999)),
        },
        {},
    )
    number = rng.randrange(10**7)
    return DescribedThing(
        "Product",
        {
            "name": text(rng, 4).title(),
            "description": prose(rng, 30),
            "sku": f"SKU-{number:07}",
            "brand": DescribedThing("Brand", {"name": text(rng, 1).title()}, {}),
            "offers": offer,
            "aggregateRating": rating,
        },
        {"url": f"/p/{number}", "image": f"/media/{number}.jpg"},
    )


def _posting(rng: random.Random) -> DescribedThing:
    number = rng.randrange(10**7)
    return DescribedThing(
        "BlogPosting",
        {
            "headline": text(rng, 7).capitalize(),
            "datePublished": f"2025-{rng.randint(1, 12):02}-{rng.randint(1, 28):02}",
            "articleBody": prose(rng, 120),
            "author": DescribedThing(
                "Person", {"name": text(rng, 2).title()}, {"url": f"/by/{number % 97}"}
            ),
        },
        {"url": f"/2025/{number}", "image": f"/media/{number}.webp"},
    )


def _dataset(rng: random.Random) -> DescribedThing:
    number = rng.randrange(10**7)
    return DescribedThing(
        "Dataset",
        {
            "name": text(rng, 6).capitalize(),
            "description": prose(rng, 50),
            "dateModified": f"2024-{rng.randint(1, 12):02}-{rng.randint(1, 28):02}",
            "keywords": ", ".join(text(rng, 1) for _ in range(4)),
            "publisher": DescribedThing(
                "Organization", {"name": text(rng, 3).title()}, {}
            ),
            "distribution": DescribedThing(
                "DataDownload",
                {"encodingFormat": "text/csv"},
                {"contentUrl": f"/files/{number}.csv"},
            ),
        },
        {"url": f"/dataset/{number}"},
    )


def _breadcrumb(rng: random.Random) -> DescribedThing:
    item = DescribedThing(
        "ListItem", {"position": "1", "name": text(rng, 1)}, {"item": "/c/1"}
    )
    return DescribedThing("BreadcrumbList", {"itemListElement": item}, {})


_THINGS: Final[dict[str, Callable[[random.Random], DescribedThing]]] = {
    "shop": _product,
    "blog": _posting,
    "portal": _dataset,
}


# -- forms of annotation ---------------------------------------------------------------


def _json_ld(things: list[DescribedThing]) -> str:
    """Return the first thing in a script of its own, and the others in another one."""
    first, *others = ({**_members(thing)} for thing in things)
    values = [first, {"@graph": others}]
    texts = (
        json.dumps({"@context": "https://schema.org", **value}, ensure_ascii=False)
        for value in values
    )
    return "".join(
        f'<script type="application/ld+json">{each}</script>\n'
        for each in (text.replace("</", "<\\/") for text in texts)
    )


def _members(thing: DescribedThing) -> dict[str, Any]:
    values = {
        name: _members(value) if isinstance(value, DescribedThing) else value
        for name, value in thing.values.items()
    }
    return {"@type": thing.kind, **values, **thing.links}


def _plain(thing: DescribedThing, rng: random.Random) -> str:
    return _card(thing, rng, "", lambda _: "")


def _microdata(thing: DescribedThing, rng: random.Random) -> str:
    def scope(kind: str) -> str:
        return f' itemscope itemtype="https://schema.org/{kind}"'

    return _card(
        thing, rng, scope(thing.kind), lambda name: f' itemprop="{name}"', scope
    )


def _rdfa(thing: DescribedThing, rng: random.Random) -> str:
    def scope(kind: str) -> str:
        return f' typeof="{kind}"'

    return _card(
        thing, rng, scope(thing.kind), lambda name: f' property="{name}"', scope
    )


def _card(
    thing: DescribedThing,
    rng: random.Random,
    scope: str,
    marked: Callable[[str], str],
    scope_of: Callable[[str], str] = lambda _: "",
) -> str:
    """Return a thing as a part of a page, with the attributes of a form."""
    number = rng.randrange(10**6)
    parts = [
        f'<article class="card card--{number % 7}" data-id="{number}"{scope}>',
        '<div class="card__inner">\n',
    ]
    for name, value in thing.values.items():
        if isinstance(value, DescribedThing):
            inside = _rows(value, marked)
            parts.append(
                f'<div class="card__{name.lower()} u-flex"{marked(name)}'
                f"{scope_of(value.kind)}>{inside}</div>\n"
            )
        else:
            tag = "h2" if name in ("name", "headline") else "div"
            parts.append(
                f'<{tag} class="card__{name.lower()}"{marked(name)}>{escape(value)}'
                f"</{tag}>\n"
            )
    parts += [_link(name, link, marked) for name, link in thing.links.items()]
    tags = "".join(
        f'<li class="tag"><a href="/tag/{rng.randrange(400)}">{text(rng, 1)}</a></li>'
        for _ in range(4)
    )
    parts.append(f'<ul class="tags">{tags}</ul></div></article>\n')
    return "".join(parts)


def _rows(thing: DescribedThing, marked: Callable[[str], str]) -> str:
    texts = "".join(
        f'<span class="meta meta--{name.lower()}"{marked(name)}>{escape(value)}</span>'
        for name, value in thing.values.items()
        if isinstance(value, str)
    )
    return texts + "".join(_link(name, to, marked) for name, to in thing.links.items())


def _link(name: str, link: str, marked: Callable[[str], str]) -> str:
    if name == "image":
        return (
            f'<img class="media" loading="lazy" src="{link}" alt=""{marked(name)} '
            f'srcset="{link}?w=320 320w, {link}?w=640 640w">'
        )
    if name == "availability":
        return f'<link{marked(name)} href="{link}">'
    return f'<a class="button" href="{link}"{marked(name)}>More</a>'
