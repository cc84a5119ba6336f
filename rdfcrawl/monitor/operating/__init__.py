"""Read and change a frontier, with or without running workers.

The reading side returns typed values. Each change is a Lua script in one partition,
hence atomic.
"""
