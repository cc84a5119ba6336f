"""Changes since a run or a time: compares two states of a log.

`comparing` finds the earlier state, and compares it with the current state of the log;
`report` and `patch` write the result.
"""
