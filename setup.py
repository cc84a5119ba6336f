from setuptools import setup; setup(entry_points={"scrapy": ["settings = rdfcrawl.settings"]})
