"""Middlewares for the spiders of any Scrapy project; visits use them, too."""
