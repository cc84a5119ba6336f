"""What has changed since a run or a time: two states of a log, compared.

`start` finds the earlier state, `comparing` compares it with what the log stands for
now, `report` and `patch` write the result.
"""
