"""The start of crawls and workers, and their messages."""
