"""Refresh of a crawl: plan per epoch what to fetch again, and queue that.

The policies are in `refresh`; what they choose from is read from the URL database. A
plan is on disk before anything of it is queued, so whoever begins anew queues the rest.
"""
