"""The start of crawls and workers, their messages, and the program `rdfcrawl`."""
