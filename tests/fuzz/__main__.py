"""Try damaged inputs for long: `python -m tests.fuzz SECS [DOOR ...]`.

Of each defect, a small input is written to the corpus, where the tests try it from then
on. A seed is the time, so that no two runs are the same.
"""

from __future__ import annotations

import sys
import time
from hashlib import blake2b

from tests.fuzz.doors import DOORS
from tests.fuzz.running import CORPUS, Defect, iter_defects, smallest

MOST_OF_A_KIND = 3


def main() -> int:
    """Run it; return the exit code."""
    secs = float(sys.argv[1])
    names = sys.argv[2:] or list(DOORS)
    seed = int(time.time())
    print(f"seed {seed}")
    kinds: dict[str, int] = {}
    for name in names:
        n_inputs = 0
        for found in iter_defects(name, secs=secs / len(names), seed=seed):
            n_inputs += 1
            if found is not None:
                kind = f"{name}: {found.what[:60]}"
                kinds[kind] = kinds.get(kind, 0) + 1
                if kinds[kind] <= MOST_OF_A_KIND:
                    keep(smallest(found))
        print(f"{name:20} {n_inputs:8} inputs")
        sys.stdout.flush()
    print(*(f"{n} times {kind}" for kind, n in kinds.items()), sep="\n")
    return 1 if kinds else 0


def keep(defect: Defect) -> None:
    """Write an input to the corpus."""
    name = blake2b(defect.data, digest_size=6).hexdigest()
    path = CORPUS / defect.door.removesuffix(" inline") / name
    path.write_bytes(defect.data)
    print(f"{defect.door}: {defect.what}\n    {path}: {defect.data[:200]!r}")


if __name__ == "__main__":
    sys.exit(main())
