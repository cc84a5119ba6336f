"""Catalogues of datasets, read as RDF: what to ask for, and what an answer says.

Everything here is pure: a task becomes a request, a task and an answer become
statements, further tasks and facts to remember. Who asks, waits and remembers is
elsewhere.
"""
