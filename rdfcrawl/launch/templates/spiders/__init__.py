"""Templates of spiders, for `scrapy genspider`."""
