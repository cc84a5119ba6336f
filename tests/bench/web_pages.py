"""Pages of 50 to 150 KB as shops, blogs and portals publish them, with fixed seeds.

All of them have a head with styles and scripts, a menu of many links, items in nested
elements with several classes, pictures in several sizes, icons in SVG, and text in
English and German with entities. The kinds differ in their annotations.
"""

from __future__ import annotations

import json
import random
import re
from html import escape
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

KINDS: Final = ("plain", "JSON-LD", "Microdata", "RDFa", "mixed")
_N_ITEMS: Final = 24
_MIN_BYTES, _MAX_BYTES = 50_000, 150_000
_WORDS: Final = re.findall(
    r"\w+",
    "the a of and for with new our your more from best price quality light garden "
    "house kitchen travel report season stories guide how review city water summer "
    "für und der die das mit über schön Größe Küche Straße Möbel neu günstig Bücher "
    "Lieferung heute Angebot Bewertung Geschäft natürlich früher Übersicht",
)
_ICON: Final = (
    '<svg class="icon icon--{0}" width="24" height="24" viewBox="0 0 24 24" '
    'aria-hidden="true"><path d="M12 21.35l-1.45-1.32C5.4 15.36 2 12.28 2 8.5 2 5.42 '
    '4.42 3 7.5 3c1.74 0 3.41.81 4.5 2.09"/></svg>'
)


def make_page(kind: str, number: int) -> bytes:
    """Return a page; equal arguments give equal pages.

    Args:
        kind: one of `KINDS`.
        number: of the page; its length is between 50 and 150 KB.
    """
    rng = random.Random(f"{kind} {number}")
    n_bytes = rng.triangular(_MIN_BYTES, _MAX_BYTES, _MIN_BYTES)  # 83 KB on average
    body = [*_begin(rng, kind), *_items(rng, kind)]
    end = "".join(_end(rng))
    length = sum(map(len, body)) + len(end)
    while length < n_bytes:
        body.append(_comment(rng) if number % 2 else _teaser(rng))
        length += len(body[-1])
    return "".join((*body, end)).encode()


def _text(rng: random.Random, n_words: int) -> str:
    return " ".join(rng.choices(_WORDS, k=n_words))


def _marked(rng: random.Random, n_words: int) -> str:
    """Return text with entities, links and emphasis."""
    half = n_words // 2
    return (
        f"{_text(rng, half)} &amp; <em>{_text(rng, 2)}</em>&nbsp;&ndash; "
        f'<a href="/{rng.choice(_WORDS)}/{rng.randrange(999)}" class="link">'
        f"{_text(rng, 3)}</a> {_text(rng, half)}."
    )


def _begin(rng: random.Random, kind: str) -> Iterator[str]:
    prefix = ' prefix="og: http://ogp.me/ns#"' if kind == "RDFa" else ""
    yield (
        f'<!DOCTYPE html>\n<html lang="de" dir="ltr"{prefix} class="no-js">\n<head>\n'
        '<meta charset="utf-8">\n<meta name="viewport" content="width=device-width">\n'
        f"<title>{_text(rng, 6)} | Shop</title>\n"
        f'<meta name="description" content="{_text(rng, 24)}">\n'
        '<meta name="robots" content="index, follow, max-image-preview:large">\n'
        f'<link rel="canonical" href="/items/{rng.randrange(10**6)}">\n'
        '<link rel="preconnect" href="https://cdn.example" crossorigin>\n'
        '<link rel="stylesheet" href="/assets/main.css?v=5">\n'
    )
    if kind == "mixed":
        yield _open_graph(rng)
    if kind in {"JSON-LD", "mixed"}:
        yield _json_ld(rng)
    yield from _styles_and_scripts(rng)
    yield '</head>\n<body class="page page--list" data-page=\'{"id": 7}\'>\n'
    yield from _menu(rng)
    yield '<main id="content" class="l-main" role="none"><div class="l-grid">\n'


def _styles_and_scripts(rng: random.Random) -> Iterator[str]:
    yield "<style>"
    for number in range(90):
        color = f"{rng.randrange(1 << 24):06x}"
        yield f".c-{number}__element--wide{{color:#{color};padding:{number}px 1rem}}\n"
    yield "</style>\n<script>window.dataLayer=window.dataLayer||[];\n"
    for number in range(60):
        yield f'dataLayer.push({{"event":"view","item":{number},"a":"<b>x</b>"}});\n'
    state = {f"k{n}": {"id": n, "t": _text(rng, 4)} for n in range(60)}
    yield f'</script>\n<script id="state" type="application/json">{json.dumps(state)}'
    yield "</script>\n"


def _menu(rng: random.Random) -> Iterator[str]:
    yield '<header class="header"><nav class="menu" aria-label="Menu"><ul>\n'
    for group in range(8):
        yield f'<li class="menu__item"><a class="menu__link" href="/c/{group}">'
        yield f"{_ICON.format(group)}<span>{_text(rng, 2)}</span></a><ul>\n"
        for each in range(10):
            yield f'<li class="menu__sub"><a href="/c/{group}/{each}?ref=menu" '
            yield f'data-track="menu-{each}">{_text(rng, 2)}</a></li>\n'
        yield "</ul></li>\n"
    yield "</ul></nav></header>\n"


def _end(rng: random.Random) -> Iterator[str]:
    yield '</div></main>\n<footer class="footer"><div class="footer__columns">'
    for group in range(5):
        yield f"<section><h3>{_text(rng, 2)}</h3><ul>"
        for each in range(8):
            yield f'<li><a href="/info/{group}/{each}">{_text(rng, 3)}</a></li>'
        yield "</ul></section>\n"
    yield "</div></footer><script src='/assets/main.js' defer></script></body></html>"


def _picture(number: int, more: str = "") -> str:
    sources = ", ".join(f"/img/{number}-{w}.webp {w}w" for w in (320, 640, 1280))
    return (
        f'<picture class="media"><source type="image/webp" srcset="{sources}">'
        f'<img{more} loading="lazy" src="/img/{number}.jpg" alt="" width="320">'
        "</picture>"
    )


def _teaser(rng: random.Random) -> str:
    number = rng.randrange(10**6)
    return (
        '<div class="l-cell l-cell--4"><article class="teaser teaser--small">'
        f'<div class="teaser__media">{_picture(number)}</div><div class="teaser__body">'
        f'<h3 class="teaser__title"><a href="/news/{number}.html">{_text(rng, 7)}</a>'
        f'</h3><p class="teaser__text">{_marked(rng, 26)}</p><ul class="tags">'
        f'<li><a href="/tag/{number % 40}">{_text(rng, 1)}</a></li></ul></div>'
        "</article></div>\n"
    )


def _comment(rng: random.Random) -> str:
    number = rng.randrange(10**6)
    return (
        f'<div class="comment depth-{number % 3}" id="comment-{number}"><div '
        f'class="comment__head"><b>{_text(rng, 2)}</b> <span class="date">seit '
        f'{number % 23} Stunden</span></div><div class="comment__body"><p>'
        f"{_marked(rng, 40)}</p><p>{_text(rng, 25)}</p></div></div>\n"
    )


def _items(rng: random.Random, kind: str) -> Iterator[str]:
    has_microdata = kind in {"Microdata", "mixed"}
    if has_microdata:
        yield _microdata_trail(rng)
    if kind == "RDFa":
        yield _rdfa_trail(rng)
    for number in range(_N_ITEMS):
        if kind == "Microdata" or (has_microdata and number < 6):
            yield _microdata_item(rng, number)
        elif kind == "RDFa":
            yield _rdfa_item(rng, number)
        else:
            yield _plain_item(rng, number)


def _plain_item(rng: random.Random, number: int) -> str:
    price = rng.randrange(100, 99_999) / 100
    return (
        f'<div class="l-cell product" data-sku="{number}"><div class="product__box">'
        f'<h2 class="product__name"><a href="/p/{number}">{_text(rng, 5)}</a></h2>'
        f'{_picture(number)}<p class="product__text">{_marked(rng, 30)}</p><div '
        f'class="rating">{_ICON.format("star")}<span>4.5</span> (<span>{number}</span>)'
        f'</div><div class="price"><span>{price}</span> EUR</div><button type="button" '
        f'class="button" data-id="{number}">{_text(rng, 2)}</button></div></div>\n'
    )


def _microdata_trail(rng: random.Random) -> str:
    return (
        '<ol class="trail" itemscope itemtype="https://schema.org/BreadcrumbList">'
        + "".join(
            '<li itemprop="itemListElement" itemscope itemtype="https://schema.org/'
            f'ListItem"><a itemprop="item" href="/c/{n}"><span itemprop="name">'
            f'{_text(rng, 2)}</span></a><meta itemprop="position" content="{n}"></li>'
            for n in range(1, 5)
        )
        + "</ol>\n"
    )


def _microdata_item(rng: random.Random, number: int) -> str:
    price = rng.randrange(100, 99_999) / 100
    image = ' itemprop="image"'
    return (
        f'<div class="l-cell product" data-sku="{number}" itemscope itemtype="https://'
        f'schema.org/Product"><div class="product__box"><h2 class="product__name">'
        f'<a itemprop="url" href="/p/{number}"><span itemprop="name">{_text(rng, 5)}'
        f"</span></a></h2>{_picture(number, image)}<p class='text' "
        f'itemprop="description">{_marked(rng, 30)}</p><div class="rating" '
        f'itemprop="aggregateRating" itemscope itemtype="https://schema.org/'
        f'AggregateRating">{_ICON.format("star")}<span itemprop="ratingValue">4.5'
        f'</span> (<span itemprop="reviewCount">{number}</span>)</div><div class="m" '
        f'itemprop="offers" itemscope itemtype="https://schema.org/Offer"><span '
        f'itemprop="price" content="{price}">{price}</span> <meta itemprop='
        f'"priceCurrency" content="EUR"><link itemprop="availability" href="https://'
        f'schema.org/InStock"></div><button type="button" class="button">'
        f"{_text(rng, 2)}</button></div></div>\n"
    )


def _rdfa_trail(rng: random.Random) -> str:
    return (
        '<ol class="trail" vocab="https://schema.org/" typeof="BreadcrumbList">'
        + "".join(
            '<li property="itemListElement" typeof="ListItem"><a property="item" '
            f'typeof="WebPage" href="/c/{n}"><span property="name">{_text(rng, 2)}'
            f'</span></a><meta property="position" content="{n}"></li>'
            for n in range(1, 5)
        )
        + "</ol>\n"
    )


def _rdfa_item(rng: random.Random, number: int) -> str:
    price = rng.randrange(100, 99_999) / 100
    image = ' property="image"'
    return (
        f'<div class="l-cell product" vocab="https://schema.org/" typeof="Product" '
        f'resource="#p{number}"><div class="product__box"><h2 class="product__name">'
        f'<a property="url" href="/p/{number}"><span property="name">{_text(rng, 5)}'
        f"</span></a></h2>{_picture(number, image)}<p class='text' "
        f'property="description">{_marked(rng, 30)}</p><div class="rating" '
        f'property="aggregateRating" typeof="AggregateRating">{_ICON.format("star")}'
        '<span property="ratingValue">4.5</span> (<span property="reviewCount">'
        f'{number}</span>)</div><div property="offers" typeof="Offer"><span '
        f'property="price" content="{price}">{price}</span> <meta property='
        f'"priceCurrency" content="EUR"><link property="availability" href="https://'
        f'schema.org/InStock"></div><button type="button" class="button">'
        f"{_text(rng, 2)}</button></div></div>\n"
    )


def _open_graph(rng: random.Random) -> str:
    stated = {
        "og:type": "product",
        "og:title": _text(rng, 6),
        "og:url": "/items/1",
        "og:image": "/img/1.jpg",
        "og:locale": "de_DE",
        "og:description": _text(rng, 20),
    }
    return "".join(
        f'<meta property="{name}" content="{escape(value)}">\n'
        for name, value in stated.items()
    )


def _json_ld(rng: random.Random) -> str:
    trail = [
        {"@type": "ListItem", "position": n, "item": f"/c/{n}", "name": _text(rng, 2)}
        for n in range(1, 5)
    ]
    items = [
        {
            "@type": "Product",
            "@id": f"#p{number}",
            "name": _text(rng, 5),
            "description": _text(rng, 30),
            "image": [f"/img/{number}.jpg", f"/img/{number}-640.webp"],
            "aggregateRating": {
                "@type": "AggregateRating",
                "ratingValue": 4.5,
                "reviewCount": number,
            },
            "offers": {
                "@type": "Offer",
                "price": rng.randrange(100, 99_999) / 100,
                "priceCurrency": "EUR",
                "availability": "https://schema.org/InStock",
            },
        }
        for number in range(_N_ITEMS)
    ]
    page = {"@type": "CollectionPage", "@id": "#page", "inLanguage": "de-DE"}
    site = {"@type": "WebSite", "@id": "/#site", "url": "/", "name": _text(rng, 3)}
    graph = [
        page | {"isPartOf": {"@id": "/#site"}, "breadcrumb": {"@id": "#trail"}},
        site | {"publisher": {"@type": "Organization", "name": _text(rng, 2)}},
        {"@type": "BreadcrumbList", "@id": "#trail", "itemListElement": trail},
        *items,
    ]
    value = {"@context": "https://schema.org", "@graph": graph}
    script = json.dumps(value, ensure_ascii=False)
    return f'<script type="application/ld+json">{script}</script>\n'
