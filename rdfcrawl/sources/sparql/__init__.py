"""SPARQL endpoints: recognition, description, and complete reading.

Pure: an `EndpointPlan` turns a task into a request, and the response into N-Quads and
further tasks.
"""
