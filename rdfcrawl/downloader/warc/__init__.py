"""Web archives: what WARC files hold of the responses of servers."""
