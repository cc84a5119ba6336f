"""What a record of the frontier is for, if it is more than its URL says.

`pages` has the tasks of pages and dumps, `source` those of sources, with what each
protocol says in a file of its own; `text` is all of them as one union, with one codec.
"""
