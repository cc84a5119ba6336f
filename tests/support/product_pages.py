"""Pages that say the same about a product, in several syntaxes."""

from __future__ import annotations

import json

DATA = {
    "@context": "https://schema.org/",
    "@type": "Product",
    "@id": "#it",
    "name": "Lamp \u00e9clair",
    "image": ["/b.jpg", "/a.jpg"],
    "brand": {"@type": "Brand", "name": "Bright"},
    "offers": {
        "@type": "Offer",
        "availability": "https://schema.org/InStock",
        "price": "19.50",
    },
}
JSON_LD = f'<script type="application/ld+json">{json.dumps(DATA)}</script>'
DAMAGED = JSON_LD.replace("}</script>", ",}</script>")
RDFA = """<div vocab="http://schema.org/" typeof="Product" resource="#it">
<h1 property="name">Lamp \u00e9clair </h1><img property="image" src="/b.jpg">
<img property="image" src="/a.jpg">
<div property="brand" typeof="Brand"><span property="name">Bright</span></div>
<div property="offers" typeof="Offer"><span property="price" content="19.50">20</span>
<link property="availability" href="http://schema.org/InStock"></div></div>"""
MICRODATA = """<div itemscope itemtype="https://schema.org/Product" itemid="#it">
<h1 itemprop="name">Lamp \u00e9clair</h1><img itemprop="image" src="/b.jpg">
<img itemprop="image" src="/a.jpg"><div itemprop="brand" itemscope
itemtype="https://schema.org/Brand"><span itemprop="name">Bright</span></div>
<div itemprop="offers" itemscope itemtype="https://schema.org/Offer">
<meta itemprop="price" content="19.50">
<link itemprop="availability" href="https://schema.org/InStock"></div></div>"""
TURTLE = """@prefix : <http://schema.org/> . <#it> a :Product ;
:name "Lamp \u00e9clair"@fr ; :image </b.jpg>, </a.jpg> ;
:brand [ a :Brand ; :name "Bright" ] ;
:offers [ a :Offer ; :availability :InStock ; :price "19.50" ] ."""
PAGE = '<html lang="en"><head><meta property="og:title" content="Lamp">{}</head></html>'
NAIL = JSON_LD.replace("#it", "#nail").replace("19.50", "0.05")
