"""Documents that are equal, or nearly so, under several URLs or at several times.

`fingerprints` computes the hashes and the sketch of a document, `clusters` finds equal
documents, and `canonical` chooses the URL that represents them.
"""
