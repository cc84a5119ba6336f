"""What an operator sees while a crawl runs, and at its end."""
