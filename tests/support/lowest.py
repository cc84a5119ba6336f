"""Print the oldest versions of libraries that may be installed, for pip to keep to.

They are the lower bounds in `pyproject.toml`, except for the development tools, and for
Spark, which is large: its own bounds are printed only if that extra is named.
"""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
_BOUND = re.compile(r"([\w.-]+)(?:\[[\w,-]+\])?>=([\w.]+)[^;]*(;.*)?").fullmatch


_LARGE = "spark"


def lower_bounds(pyproject: str, only: str = "") -> list[str]:
    """Return a constraint for each library that has a lower bound.

    Args:
        pyproject: the content of the file.
        only: libraries of this extra.

    >>> lower_bounds('project = {dependencies = ["a[b]>=1.2,<4; a == 1", "c"]}')
    ['a==1.2; a == 1']
    """
    project = tomllib.loads(pyproject)["project"]
    extras = project.get("optional-dependencies", {})
    named = [] if only else [*project["dependencies"]]
    for extra in [only] if only else extras.keys() - {"dev", _LARGE}:
        named += extras[extra]
    found = [match.groups("") for each in named if (match := _BOUND(each))]
    return sorted({f"{name}=={version}{marker}" for name, version, marker in found})


if __name__ == "__main__":
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    print("\n".join(lower_bounds(text, *sys.argv[1:])))
