"""CKAN portals: recognized, read page by page, said in DCAT.

`portal` tells a portal by a page of it, `api` makes requests, `envelope` reads
answers, `plan` goes from task to task, `deletions` compares identifiers, `mapping`
writes a dataset as DCAT-AP, `targets` tells what its distributions are, and `native`
reads the pages of the DCAT that a portal offers itself.
"""
