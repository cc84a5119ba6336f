"""Changes of a node's resources from one generation of the web to the next."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import random
    from collections.abc import Collection

CHANGED, GONE, NEW = 0.10, 0.05, 0.05  # of the resources there are; one at least

Objects = list[list[int | str]]
"""By resource, the resources and IRIs it links to."""

_ENTRANCE: Final = 0  # target of links from other nodes


def pass_generations(objects: Objects, n: int, rng: random.Random) -> frozenset[int]:
    """Let resources change, go and come, `n` times; return those that are gone.

    The entrance stays, and so does every link to another node. All resources can be
    reached from the entrance; links to removed resources remain.

    Args:
        objects: of each resource; changed in place, and new ones are appended.
        n: generations.
        rng: source of all choices.
    """
    gone: set[int] = set()
    for _ in range(n):
        _pass_one(objects, gone, rng)
    return frozenset(gone)


def _pass_one(objects: Objects, gone: set[int], rng: random.Random) -> None:
    there = [k for k in range(len(objects)) if k not in gone]
    lost = rng.sample(there[1:], min(_part(there, GONE), len(there) - 1))
    gone.update(lost)
    left = [k for k in there if k not in gone]
    changed = rng.sample(left, min(_part(there, CHANGED), len(left)))
    for resource in changed:
        _change(objects, resource, left, rng)
    for resource in lost:
        links = [item for item in objects[resource] if isinstance(item, str)]
        objects[resource] = []
        objects[rng.choice(changed)] += links
    for _ in range(_part(there, NEW)):
        objects[rng.choice(changed)].append(len(objects))
        objects.append([rng.choice(left)])
    _reconnect(objects, gone, changed, rng)


def _part(resources: Collection[int], share: float) -> int:
    return max(1, round(share * len(resources)))


def _change(
    objects: Objects, resource: int, left: list[int], rng: random.Random
) -> None:
    """Take a link from a resource, and give it another."""
    items = objects[resource]
    others = [k for k in left if k != resource and k not in items]
    inner = [place for place, item in enumerate(items) if isinstance(item, int)]
    if inner:
        del items[rng.choice(inner)]
    if others:
        items.append(rng.choice(others))


def _reconnect(
    objects: Objects, gone: set[int], changed: list[int], rng: random.Random
) -> None:
    """Link unreachable resources from resources that have changed anyway."""
    reached: set[int] = set()
    _walk(objects, _ENTRANCE, reached, gone)
    for resource in range(len(objects)):
        if resource in reached or resource in gone:
            continue
        sources = [k for k in changed if k in reached] or [_ENTRANCE]
        objects[rng.choice(sources)].append(resource)
        _walk(objects, resource, reached, gone)


def _walk(objects: Objects, start: int, reached: set[int], gone: set[int]) -> None:
    """Add the resources reachable from a resource to `reached`."""
    reached.add(start)
    queue = deque([start])
    while queue:
        for item in objects[queue.popleft()]:
            if isinstance(item, int) and item not in reached and item not in gone:
                reached.add(item)
                queue.append(item)
