"""What a crawl has stored as files: one or several, in one format, for other programs.

`plan` checks what the operator wants, `selection` chooses documents and graphs,
`exporting` writes them to a file or to the `shards` of a folder, `loaders` names the
commands that load them.
"""
