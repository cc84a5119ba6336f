"""Commands of `scrapy`, beside its own."""
