"""SPARQL endpoints: recognized, described, and read to the last triple.

Pure: an `EndpointPlan` turns a task into a request, and the response into N-Quads and
further tasks.
"""
