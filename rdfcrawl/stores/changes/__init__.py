"""Changes since a run or a time: compares two states of a log.

`start` finds the earlier state, `comparing` compares it with the current state of the
log, `report` and `patch` write the result.
"""
