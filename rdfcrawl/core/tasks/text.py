"""All tasks as one union, and the text that stands for a task in the frontier."""

from __future__ import annotations

from dataclasses import MISSING, fields, is_dataclass
from enum import Enum
from functools import lru_cache
from typing import Final, TypeAlias

from rdfcrawl.core.codec import decode, encode
from rdfcrawl.core.errors import Reason, SourceFault
from rdfcrawl.core.tasks.pages import (
    CollectionPage,
    DescribedSample,
    DumpPart,
    ListedPage,
    RefreshedPage,
    RequestTask,
    RevisitedPage,
    SamplePage,
)
from rdfcrawl.core.tasks.source import SourceTask

MAX_TASK_CHARS: Final = 8192
_MOST_KEPT: Final = 256  # the pages of a sitemap have few different tasks

Task: TypeAlias = (
    ListedPage
    | RevisitedPage
    | RefreshedPage
    | CollectionPage
    | DumpPart
    | SamplePage
    | DescribedSample
    | SourceTask
    | RequestTask
)


@lru_cache(_MOST_KEPT)
def encode_task(task: Task) -> str:
    """Return the text of a task: ASCII without control characters.

    Equal tasks have equal texts; with URL and kind, the text of a source's task is the
    identity of its record.

    Raises:
        SourceFault: `TOO_LARGE`: the text is too long for a record.

    >>> encode_task(ListedPage(8000, 1790000000))
    '["listed",8000,1790000000]'
    """
    text = encode(task)
    if len(text) > MAX_TASK_CHARS:
        raise SourceFault(Reason.TOO_LARGE, f"a task: {text[:100]}")
    return text


@lru_cache(_MOST_KEPT)
def decode_task(text: str) -> Task:
    """Return the task of a text.

    Raises:
        SourceFault: `BAD_RECORD`: the text is not a task.

    >>> decode_task('["page",2,7,"http://a.example/"]')
    CollectionPage(run=2, number=7, root='http://a.example/')
    """
    if len(text) > MAX_TASK_CHARS:
        raise SourceFault(Reason.BAD_RECORD, "the text of a task is too long")
    task: Task = decode(text, Task)
    return task


def describe_task(task: object) -> str:
    """Return a task for people, without fields that have their defaults.

    >>> describe_task(DumpPart("http://a.example/d", 0, 1))
    'dump(dataset=http://a.example/d, way=0, part=1)'
    """
    if isinstance(task, tuple):
        return f"[{', '.join(map(describe_task, task))}]"
    if isinstance(task, Enum):
        return str(task.value)
    if not is_dataclass(task):
        return str(task)
    members = (
        f"{each.name}={describe_task(value)}"
        for each in fields(task)
        if (value := getattr(task, each.name)) != each.default
        or each.default is MISSING
    )
    name = getattr(task, "TAG", type(task).__name__)
    return f"{name}({', '.join(members)})"
