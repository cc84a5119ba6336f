"""Files are replaced atomically, also by several processes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from rdfcrawl.stores.files import replacing_file

if TYPE_CHECKING:
    from pathlib import Path


def test_two_writers_of_a_file_do_not_mix(tmp_path: Path) -> None:
    """If two write a file at once, then it has what one of them has written."""
    path = tmp_path / "a.txt"
    with replacing_file(path) as one:
        one.write("1" * 10_000)
        with replacing_file(path) as other:
            other.write("2" * 20_000)
        assert path.read_text() == "2" * 20_000
    assert path.read_text() == "1" * 10_000
    assert list(tmp_path.iterdir()) == [path]


def test_what_a_killed_writer_has_left_is_removed(tmp_path: Path) -> None:
    """If a writer was killed, then the next one of that file removes its draft."""
    path, others = tmp_path / "[a].txt", tmp_path / ".b.txt.0.draft"
    (tmp_path / ".[a].txt.0.draft").write_text("half")
    others.write_text("of another file")
    with replacing_file(path) as file:
        file.write("x")
    assert sorted(tmp_path.iterdir()) == sorted([path, others])


def test_writer_that_fails_changes_nothing(tmp_path: Path) -> None:
    """If writing fails, then the file is unchanged, and no draft is left."""
    path = tmp_path / "a.txt"
    path.write_text("before")

    def fail() -> None:
        with replacing_file(path) as file:
            file.write("half")
            raise ValueError("reason")

    with pytest.raises(ValueError, match="reason"):
        fail()
    assert path.read_text() == "before"
    assert list(tmp_path.iterdir()) == [path]
