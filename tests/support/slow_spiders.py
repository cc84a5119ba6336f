"""A module of spiders that takes long to import, if the environment says so."""

from __future__ import annotations

import os
import sys
import time

if "SLOW_SPIDERS" in os.environ:
    sys.stderr.write("slow to import\n")
    time.sleep(600)
