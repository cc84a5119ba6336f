"""Export a crawl to one or several files of a format, for other programs.

`plan` checks the options of the operator, `selection` selects documents and graphs,
`exporting` writes them to a file or to several in a folder, in the formats of
`output` and `items`, and `loaders` names the commands that load them.
"""
