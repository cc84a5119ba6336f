"""What operators see and change of a frontier, beside running workers or none.

The reading side returns typed values for whoever shows them. Each change is a Lua
operation in one partition, atomic beside all others.
"""
