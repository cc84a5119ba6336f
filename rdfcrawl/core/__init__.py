"""Values that every room shares: records, tasks, options, errors, formats, clock."""

__version__ = "0.1.0"
"""The version of the package."""
