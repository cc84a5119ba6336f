"""Documents that are equal, or nearly so, under several URLs or at several times.

`fingerprints` gives the hashes and the sketch of one document, `clusters` finds which
documents are equal, and `canonical` chooses the URL that represents them.
"""
