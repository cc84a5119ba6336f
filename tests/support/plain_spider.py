"""A spider as in Scrapy's tutorial, in a file of its own, and a small document."""

GOOD = b"<> <urn:x:p> <other>, [] ."
SPIDER = """
import scrapy


class PlainSpider(scrapy.Spider):
    name = "plain"

    def __init__(self, url, **kwargs):
        super().__init__(**kwargs)
        self.start_urls = [url]

    def parse(self, response):
        yield {"title": response.css("title::text").get(), "url": response.url}
        for link in response.css("a::attr(href)"):
            yield response.follow(link, self.parse_linked, cb_kwargs={"n": 1})

    def parse_linked(self, response, n):
        yield {"title": response.css("title::text").get(), "url": response.url}
"""
