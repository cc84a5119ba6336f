"""The profiles of examples: steady ones, and those of `make soak`.

Not in `conftest.py`, which crawls import with the classes of a test that they name: to
import hypothesis is as much CPU as all else of a small crawl.
"""

from __future__ import annotations

from hypothesis import HealthCheck, settings

# The same examples in each run, however slow the machine is; `make soak` looks for new
# ones.
_EASY = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile(
    "steady", _EASY, derandomize=True, database=None, max_examples=30
)
settings.register_profile("soak", _EASY)
settings.load_profile("steady")
