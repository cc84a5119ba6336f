"""Web archives: responses of servers in WARC files."""
