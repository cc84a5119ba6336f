"""Start crawls and workers, and write their messages."""
