"""SPARQL endpoints: recognized, described, and read to the last triple.

Pure: a `Harvest` says which request a task stands for, and turns the answer into
N-Quads and the tasks that follow from it. Who sends the requests is not its concern.
"""
