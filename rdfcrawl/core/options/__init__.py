"""The settings: the default of each, how they are read, and what has no effect.

`defaults` has the values, `values` checks numbers, switches and classes, `merging` adds
the defaults to the settings of a project, `conflicts` refuses or reports those that
visits cannot keep to. `spider` has all that a spider reads, each part by the
`options.py` of its room.
"""
