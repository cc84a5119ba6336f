"""What `scrapyd-deploy` runs to build an egg; all else is in `pyproject.toml`."""

from setuptools import setup

setup()
