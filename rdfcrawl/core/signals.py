"""Scrapy signals of rdfcrawl."""

# Sent and awaited before visits are acknowledged: handlers make everything durable that
# they have received. If a handler raises, the visits stay unacknowledged, and the
# signal is sent again. Arguments: none.
flush_stores = object()

# Sent once when the spider begins to close: each visit ends after its current request.
# Arguments: none.
stop_visits = object()

# Sent and awaited when all of a worker's visits are committed, before it leaves the
# frontier. Arguments: none.
before_leaving = object()
