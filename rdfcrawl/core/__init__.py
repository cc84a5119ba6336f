"""Values that every room shares: records, tasks, options, errors, formats, clock."""
