"""Items: the statements of a document as nested dicts, in one shape for all syntaxes.

`names` shortens IRIs, `values` converts literals, `description` gathers statements by
their subjects, `roots` chooses the nodes that become items, `building` nests the others
in them, and `table` flattens items into the rows of a table.
"""
