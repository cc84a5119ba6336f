"""A shop, a portal and a blog, of whose pages a few kinds have the wanted data.

The other pages are those that software of such sites makes: pictures, previews, lists
in any order, feeds, pages of users. All of it is fixed by the size of the site.
"""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from tests.otherweb.site import NOT_FOUND, Answer, Request, Site

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_SITEMAP = (
    '<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">'
)
_INDEX = _SITEMAP.replace("urlset", "sitemapindex")
_PICTURE = Answer(200, "image/jpeg", b"\xff\xd8\xff" + bytes(500))


def _page(title: str, links: Iterable[str], *, said: object = None) -> Answer:
    anchors = "".join(f'<li><a href="{link}">{link}</a>' for link in links)
    script = ""
    if said is not None:
        script = f'<script type="application/ld+json">{json.dumps(said)}</script>'
    text = (
        f"<!doctype html><html lang=en><head><meta charset=utf-8><title>{title}</title>"
        f"{script}</head><body><h1>{title}</h1><ul>{anchors}</ul></body></html>"
    )
    return Answer(200, "text/html", text.encode())


def _urlset(urls: Iterable[str]) -> Answer:
    entries = "".join(f"<url><loc>{url}</loc></url>" for url in urls)
    return Answer(200, "application/xml", f"{_SITEMAP}{entries}</urlset>".encode())


class WantedSite(Site):
    """A site whose pages are made when they are requested.

    Attributes:
        wanted: the class of its data.
        pages: by their targets.
    """

    wanted: ClassVar[str]

    def __init__(self, host: str, n: int = 0) -> None:
        del n  # of subclasses
        super().__init__(host)
        self.pages: dict[str, Callable[[], Answer]] = {}

    def answer(self, request: Request) -> Answer:
        """Serve the page of a target."""
        page = self.pages.get(request.target)
        return page() if page else NOT_FOUND

    def add(self, target: str, *links: str, said: object = None) -> None:
        """Add a page with hyperlinks, and with JSON-LD if it says anything."""
        self.pages[target] = partial(_page, target, links, said=said)


class WantedShop(WantedSite):
    """Products with pictures, in categories; three of four are in the sitemap.

    It makes 2 n + n / 40 + 4 documents: as many pictures as products.
    """

    robots = "User-agent: *\nDisallow: /cart/\nSitemap: {root}/sitemap.xml\n"
    wanted = "schema:Product"

    def __init__(self, host: str, n: int = 2000) -> None:
        super().__init__(host)
        n_categories = -(-n // 40)
        self.add("/", "/c/0", "/cart/1", "/about.ttl")
        turtle = f"<{self.url()}#shop> a <http://schema.org/Store> .".encode()
        self.pages["/about.ttl"] = lambda: Answer(200, "text/turtle", turtle)
        for i in range(n_categories):
            products = (f"/p/{j}" for j in range(40 * i, min(n, 40 * i + 40)))
            more = [f"/c/{i + 1}"] if i + 1 < n_categories else []
            self.add(f"/c/{i}", *products, *more)
        for i in range(n):
            product = {
                "@context": f"http{'s' * (i % 2)}://schema.org/",
                "@type": "Product",
                "@id": f"/p/{i}#it",
                "name": f"Lamp {i}",
                "image": self.url(f"/picture/{i}"),
            }
            self.add(f"/p/{i}", f"/p/{(i + 7) % n}", f"/c/{i // 40}", said=product)
            self.pages[f"/picture/{i}"] = lambda: _PICTURE
        listed = [*range(n * 3 // 4), *range(n, n + n // 100)]  # the last ones are gone
        urls = [self.url(f"/p/{i}") for i in listed]
        self.pages["/sitemap.xml"] = partial(_urlset, urls)


class WantedPortal(WantedSite):
    """Datasets, found by lists alone, and the pages around each of them.

    It makes about 9 n + 160 documents, of which 2 n describe datasets.
    """

    wanted = "dcat:Dataset"

    def __init__(self, host: str, n: int = 400) -> None:
        super().__init__(host)
        lists = -(-n // 20)
        self.add("/", "/datasets?page=1", "/organizations", "/login", "/news/1")
        for i in range(1, lists + 1):
            own = (f"/dataset/{_slug(j)}" for j in range(20 * i - 20, min(n, 20 * i)))
            self.add(f"/datasets?page={i}", *own, f"/datasets?page={i + 1}")
        self.add("/organizations", *(f"/organization/office-{i}" for i in range(20)))
        for i in range(20):
            own = (f"/dataset/{_slug(j)}" for j in range(i, n, 20))
            self.add(f"/organization/office-{i}", *own, f"/organization/{i}/activity")
        for i in range(n):
            self._add_dataset(i, n)
        for word in map(_word, range(40)):
            tag = f"/datasets?tags={word}"
            tagged = [f"/dataset/{_slug(i)}" for i in range(n) if _word(i % 40) == word]
            orders = [f"{tag}&sort={order}" for order in ("title", "date", "size")]
            for target in (tag, *orders):
                self.add(target, *tagged, *orders)
        for i in range(max(1, n // 4)):
            self.add(f"/news/{i + 1}", f"/news/{i + 2}")
            self.add(f"/user/member-{i}", f"/user/member-{i}/follows")

    def _add_dataset(self, i: int, n: int) -> None:
        slug = _slug(i)
        own, tag = f"/dataset/{slug}", f"/datasets?tags={_word(i % 40)}"
        resources = [f"{own}/resource/{k}f{i:07x}" for k in range(2)]
        around = [f"/dataset/activity/{slug}", f"/dataset/groups/{slug}"]
        data = {
            "@context": {"@vocab": "http://www.w3.org/ns/dcat#"},
            "@type": "Dataset",
            "@id": f"{self.url(own)}#it",
            "keyword": [_word(i % 40), f"subject {i}"],
        }
        office = f"/organization/office-{i % 20}"
        self.add(own, *resources, *around, tag, office, f"{own}.ttl", said=data)
        turtle = (
            f"<{self.url(own)}#it> a <http://www.w3.org/ns/dcat#Dataset> ;"
            f' <http://purl.org/dc/terms/title> "Dataset {i}" .'
        ).encode()
        self.pages[f"{own}.ttl"] = lambda: Answer(200, "text/turtle", turtle)
        for resource in resources:
            self.add(resource, own, f"{resource}/view?mode={_word(i % 3)}")
            self.add(f"{resource}/view?mode={_word(i % 3)}")
        self.add(around[0], own, f"/user/member-{i % max(1, n // 4)}")
        self.add(around[1], own)


class WantedBlog(WantedSite):
    """Posts by year and month, most of them in a sitemap, and lists of many kinds.

    It makes about 5 n documents. One post in 200 is only found by its tag.
    """

    robots = "User-agent: *\nAllow: /\nSitemap: {root}/sitemap_index.xml\n"
    wanted = "schema:BlogPosting"

    def __init__(self, host: str, n: int = 600) -> None:
        super().__init__(host)
        posts = [_post(i) for i in range(n)]
        shown = [post for i, post in enumerate(posts) if i % 200 != 199]
        lists = -(-len(shown) // 10)
        for i in range(1, lists + 1):
            links = [*shown[10 * i - 10 : 10 * i], f"/page/{i + 1}/"]
            self.add(f"/page/{i}/" if i > 1 else "/", *links, "/about/", "/wp-login")
        self.add("/about/", "/author/ann/", "/author/bob/")
        for i, post in enumerate(posts):
            self._add_post(i, post, posts)
        tags = {_tag(i) for i in range(n)}
        for tag in tags:
            own = [post for i, post in enumerate(posts) if _tag(i) == tag]
            self.add(tag, *own, f"{tag}feed/")
            self.add(f"{tag}feed/")
        for name in ("ann", "bob"):
            self.add(f"/author/{name}/", *shown[:10])
        index = "".join(
            f"<sitemap><loc>{self.url(f'/sitemap-{each}.xml')}</loc></sitemap>"
            for each in ("tags", "posts")
        )
        index = f"{_INDEX}{index}</sitemapindex>"
        self.pages["/sitemap_index.xml"] = lambda: Answer(
            200, "application/xml", index.encode()
        )
        urls = [self.url(post) for post in shown[: len(shown) * 3 // 4]]
        self.pages["/sitemap-posts.xml"] = partial(_urlset, urls)
        self.pages["/sitemap-tags.xml"] = partial(_urlset, map(self.url, sorted(tags)))

    def _add_post(self, i: int, post: str, posts: list[str]) -> None:
        data = {
            "@context": "https://schema.org/",
            "@type": "BlogPosting",
            "@id": f"{self.url(post)}#it",
            "headline": f"Post {i}",
        }
        day = f"/{post.split('/')[1]}/{post.split('/')[2]}/{i % 28 + 1:02d}/"
        around = [f"{post}feed/", f"{post}attachment-{i}/", f"{post}print/"]
        near = [posts[i - 1]] if i % 200 != 0 else []
        links = [*around, *near, _tag(i), day, f"/share?post={i}&by=mail"]
        self.add(post, *links, said=data)
        for each in around:
            self.add(each, post)
        self.add(f"/share?post={i}&by=mail", post)
        if i % 200 != 199:
            self.add(day, post)


def _slug(i: int) -> str:
    return f"{_word(i % 40)}-of-{_word(i // 40)}-{i}"


def _word(i: int) -> str:
    names = "air bus car dam elm fen gas hut ice jam kin law map net oil park quay road"
    known = names.split()
    return known[i % len(known)] + "s" * (i // len(known))


def _post(i: int) -> str:
    return f"/{2019 + i % 6}/{i % 12 + 1:02d}/{_word(i % 30)}-and-{_word(i // 30)}-{i}/"


def _tag(i: int) -> str:
    return f"/tag/{_word(i % 60)}/"
