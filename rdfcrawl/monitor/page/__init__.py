"""The live page of a crawl: what is happening, what was found, and why.

A process of its own that reads Redis, logs and their index, and changes nothing unless
its operator has said `--control`. Each view is a function from the crawl to a value,
and the value is shown as HTML or as JSON.
"""
