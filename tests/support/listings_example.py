"""The example of `docs/how-to/own-harvesters.md`, as a module to import."""

from __future__ import annotations

import re

from tests.support.pages import read_page

_find = re.compile(r"^```python\n# listings.py\n(.*?)^```$", re.DOTALL | re.MULTILINE)
(_EXAMPLE,) = _find.findall(read_page("own-harvesters.md"))
exec(_EXAMPLE)
