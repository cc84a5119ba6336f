"""Show the progress and the summary of a crawl to an operator."""
