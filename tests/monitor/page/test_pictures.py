"""The pictures of the live page in the docs can be taken, and are shown there."""

from __future__ import annotations

import shutil
import struct
from typing import TYPE_CHECKING

import pytest

from tests.support.page_browser import needs_chromium
from tests.support.page_pictures import FOLDER, take_pictures
from tests.support.pages import read_page

if TYPE_CHECKING:
    from pathlib import Path


def size_of(path: Path) -> tuple[int, int]:
    """Return the width and height of a PNG."""
    head = path.read_bytes()[:24]
    assert head.startswith(b"\x89PNG\r\n\x1a\n")
    width, height = struct.unpack(">II", head[16:])
    return width, height


@pytest.fixture(scope="module")
def taken(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Return the names of pictures that are taken of a small crawl."""
    needs_chromium()
    folder = tmp_path_factory.mktemp("pictures")
    work = tmp_path_factory.mktemp("crawl")
    quick = {"run_secs": 1.0, "delay_secs": 0.05, "patience": 0.05}
    take_pictures(folder, work, n_nodes=14, **quick)
    shutil.rmtree(work)
    found = sorted(folder.glob("*.png"))
    assert {size_of(path) for path in found} == {(1100, 800)}
    return [path.name for path in found]


@pytest.mark.in_turn(3)
def test_each_view_has_a_picture_in_the_docs(taken: list[str]) -> None:
    """If a picture is taken, then the docs have it, and show it with words."""
    text = read_page("page.md")
    for name in taken:
        assert f"](../images/{name})" in text, name
        assert f"![](../images/{name})" not in text
        assert size_of(FOLDER / name) == (1100, 800)
