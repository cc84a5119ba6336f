"""Signals of our own, beside Scrapy's."""

# Sent and awaited before visits are acknowledged: whoever stores documents makes
# durable, before it returns, what was given to it so far. A handler that raises keeps
# the visits unacknowledged; the signal comes again. Arguments: none.
flush_stores = object()

# Sent once when the spider begins to close: visits end after the request that is under
# way. Arguments: none.
stop_visits = object()

# Sent and awaited when all of a worker's visits are committed, before it leaves the
# frontier. Arguments: none.
before_leaving = object()
