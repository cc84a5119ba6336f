"""Statements as columns, for Parquet: one row for each statement of each document.

`rows` converts lines of N-Quads to batches of `pyarrow`, and back. The columns are
described in `docs/reference/stores.md`. Needs the extra `[parquet]`.
"""
