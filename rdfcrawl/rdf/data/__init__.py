"""Vocabularies and contexts that come with the package."""
