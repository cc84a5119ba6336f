"""Copies of the checkout, in which files are changed."""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PARTS = ("rdfcrawl", "tests", "docs", "deploy", "changes")
FILES = ("*.toml", "*.cfg", "*.py", "*.md", "Makefile", "LICENSE")


def copied(tree: Path) -> Path:
    """Return a copy of the checkout, without files outside of version control."""
    ignored = shutil.ignore_patterns("__pycache__", ".*")
    for part in PARTS:
        shutil.copytree(ROOT / part, tree / part, ignore=ignored)
    for pattern in FILES:
        for path in ROOT.glob(pattern):
            shutil.copy(path, tree)
    return tree


def replace(path: Path, text: str) -> None:
    """Write a file so that no bytecode of its former text is taken for its own."""
    later = max(time.time(), path.stat().st_mtime + 2)
    path.write_text(text, encoding="utf-8")
    os.utime(path, (later, later))
