"""Draws the rooms of the package from its imports.

`python -m tests.support.room_picture` writes the picture into
docs/explanation/architecture.md, as Mermaid.
"""

from __future__ import annotations

from typing import Final

from tests.support.import_graph import arrows_in, below
from tests.support.pages import ROOT

PAGE: Final = ROOT / "docs" / "explanation" / "architecture.md"
BEGIN: Final = "<!-- rooms -->\n"
END: Final = "<!-- end of rooms -->\n"


def drawn(page: str) -> str:
    """Return the page with the picture of today's imports."""
    before, _, rest = page.partition(BEGIN)
    return before + BEGIN + _picture() + END + rest.partition(END)[2]


def _picture() -> str:
    """Return the graph, without arrows that follow from others."""
    graph = {room: set(others) for room, others in arrows_in("").items()}
    lines = [
        f"    {room} --> {other}"
        for room in sorted(graph)
        for other in sorted(graph[room])
        if not any(other in below(each, graph) for each in graph[room] - {other})
    ]
    return "\n".join(["```mermaid", "graph TD", *lines, "```", ""])


def main() -> None:
    """Write the picture."""
    PAGE.write_text(drawn(PAGE.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
