"""HTTP: one GET or POST within every limit, by aiohttp or Scrapy's downloader."""
