"""Tasks of records: one union, one text for each value."""

from __future__ import annotations

import json
from dataclasses import fields, replace
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdfcrawl.core.errors import Reason, SourceFault
from rdfcrawl.core.source_tasks import SourceTask
from rdfcrawl.core.tasks import (
    MAX_TASK_CHARS,
    DumpPart,
    SamplePage,
    Task,
    decode_task,
    describe_task,
    encode_task,
)
from tests.support.task_values import tasks

KINDS = get_args(Task)
MEMBERS: Any = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4),
    max_leaves=8,
)


@given(task=tasks())
def test_task_comes_back_as_it_was(task: Task) -> None:
    """If a task is written and read, then it is equal, and so is its text."""
    text = encode_task(task)
    assert text.isascii()
    assert text.isprintable()
    found = decode_task(text)
    assert (found, type(found)) == (task, type(task))
    assert encode_task(found) == text


@given(one=tasks(), other=tasks())
def test_equal_tasks_have_equal_texts(one: Task, other: Task) -> None:
    """If two tasks are equal, then their texts are, too; else neither are."""
    assert (one == other) == (encode_task(one) == encode_task(other))


@given(tag=st.sampled_from([kind.TAG for kind in KINDS]), members=st.lists(MEMBERS))
def test_damaged_text_is_a_task_or_a_named_fault(tag: str, members: list[Any]) -> None:
    """If the text of a task has any values in it, then no type is wrong afterwards."""
    try:
        found = decode_task(json.dumps([tag, *members]))
    except SourceFault as error:
        assert error.fault.reason is Reason.BAD_RECORD  # noqa: PT017
        return
    assert decode_task(encode_task(found)) == found


@given(text=st.text(max_size=60))
def test_any_other_text_is_a_named_fault(text: str) -> None:
    """If a text is none of a task, then that is a fault with a name."""
    with pytest.raises(SourceFault, match="no task"):
        decode_task(text)


@pytest.mark.parametrize(
    "text",
    [
        '["listed",true,5]',
        '["listed",1,true]',
        '["listed",1.0,5]',
        '["listed",NaN,5]',
        '["listed",Infinity,5]',
        '["listed",1e999,5]',
        '["listed",1]',
        '["listed",1,5,"6"]',
        '["sample","a",null]',
        '["source",0,false,"",["a",1]]',
        '["unheard"]',
        "[[]]",
        "{}",
        "[" * 5_000,
        "9" * 8_000,
        f'["sample","","{"x" * MAX_TASK_CHARS}"]',
    ],
)
def test_value_of_another_type_is_refused(text: str) -> None:
    """If a text has what no field takes, then it is none of a task."""
    with pytest.raises(SourceFault) as caught:
        decode_task(text)
    assert caught.value.fault.reason is Reason.BAD_RECORD


def test_tags_are_unique() -> None:
    """If there are two kinds of tasks, then they have two tags."""
    assert len({kind.TAG for kind in KINDS}) == len(KINDS)


def test_task_that_is_too_long_is_refused() -> None:
    """If a text would be longer than a record holds, then that is a fault."""
    task = SamplePage("", "")
    room = MAX_TASK_CHARS - len(encode_task(task))
    assert decode_task(encode_task(replace(task, uri="x" * room))) is not None
    with pytest.raises(SourceFault) as caught:
        encode_task(replace(task, uri="x" * (room + 1)))
    assert caught.value.fault.reason is Reason.TOO_LARGE


def test_defaults_at_the_end_are_left_out() -> None:
    """If a task is out of the ordinary in little, then its text is short."""
    assert encode_task(SourceTask(3)) == '["source",3]'


@given(task=tasks())
def test_description_names_all_that_is_said(task: Task) -> None:
    """If a task is described, then by its tag and each field that is not default."""
    found = describe_task(task)
    assert found.startswith(f"{task.TAG}(")
    for each in fields(task):
        if getattr(task, each.name) != each.default:
            assert f"{each.name}=" in found


def test_description_reads_like_a_call() -> None:
    """If a task is a part of a dump, then people see which."""
    task = DumpPart("http://a.example/d", 0, 1)
    assert describe_task(task) == ("dump(dataset=http://a.example/d, way=0, part=1)")
