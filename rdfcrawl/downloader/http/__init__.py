"""HTTP: one GET or POST within all limits, by our own client or Scrapy's downloader."""
