"""Export a crawl to one or several files of a format, for other programs.

`plan` checks the options of the operator, `selection` selects documents and graphs,
`exporting` writes them to a file or to the `shards` of a folder, `loaders` names the
commands that load them.
"""
