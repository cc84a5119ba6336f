"""What operators see of a frontier and do to it, while its workers run or not.

The reading side returns typed values for whoever shows them. Each change is a Lua
operation in one partition, atomic beside all others.
"""
