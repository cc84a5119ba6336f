"""Refresh a crawl: plan per epoch which pages to fetch again, and queue them.

The policies are in `refresh`; they choose from the URL database. A plan is on disk
before any of it is queued, so an interrupted refresh can be resumed.
"""
