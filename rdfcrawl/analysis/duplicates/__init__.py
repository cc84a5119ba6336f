"""Documents that are equal, or nearly so, under several URLs or at several times.

`clusters` finds equal documents by their hashes and sketches, and chooses the URL that
represents them; `spilled_clusters` does so for any number, mostly on disk. `copies`
judges a document while it is crawled.
"""
