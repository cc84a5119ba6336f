"""Catalogues of datasets, read as RDF: requests, and the meaning of responses.

Everything here is pure: a task becomes a request; a task and a response become
statements, further tasks and facts to remember.
"""
