"""The example of `docs/harvesters.md`, as a module that a crawl can import."""

from __future__ import annotations

import re
from pathlib import Path

_PAGE = (Path(__file__).parents[1] / "docs" / "harvesters.md").read_text("utf-8")
_find = re.compile(r"^```python\n# listings.py\n(.*?)^```$", re.DOTALL | re.MULTILINE)
(_EXAMPLE,) = _find.findall(_PAGE)
exec(_EXAMPLE)
