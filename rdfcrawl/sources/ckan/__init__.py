"""CKAN portals: recognition, paging, and mapping to DCAT.

`portal` recognizes a portal by a page, `api` builds requests, `envelope` reads
responses, `plan` goes from task to task and finds deletions, `mapping` writes a dataset
as DCAT-AP, and `targets` classifies its distributions.
"""
