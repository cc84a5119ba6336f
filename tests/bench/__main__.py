"""`make bench`: every benchmark, one after another, each in a process of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def main() -> int:
    """Run all `bench_*` modules; return how many failed."""
    failed = 0
    for path in sorted(Path(__file__).parent.glob("bench_*.py")):
        print(f"\n== {path.stem}", flush=True)
        line = [sys.executable, "-m", f"tests.bench.{path.stem}"]
        failed += subprocess.run(line, check=False).returncode != 0
    return failed


if __name__ == "__main__":
    sys.exit(main())
