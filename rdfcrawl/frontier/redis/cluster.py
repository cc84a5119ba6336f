"""A client of Redis Cluster: each command goes to the primary that has its slot.

The client of redis-py asks for a slot that is being moved on another connection than
it said `ASKING` on, does not look for the primaries again after a pipeline that failed
and is not to be repeated, and repeats commands of a pipeline that were answered with
nothing. Here, the nodes are plain clients of redis-py, and a slot that is being moved
is waited for: half of a partition may be there already, and a script would find the
other half missing.
"""

from __future__ import annotations

import asyncio
import random
from collections import defaultdict
from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Iterable,
    Mapping,
    Sequence,
)
from functools import partial
from itertools import chain
from typing import Any, Final, TypeVar, cast

from redis.asyncio import ConnectionPool, Redis
from redis.asyncio.client import Pipeline
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.crc import REDIS_CLUSTER_HASH_SLOTS, key_slot
from redis.exceptions import (
    AskError,
    AuthenticationError,
    AuthorizationError,
    ClusterDownError,
    ReadOnlyError,
    RedisError,
    ResponseError,
    TryAgainError,
)
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import TimeoutError as RedisTimeoutError

from rdfcrawl.frontier.redis.primaries import (
    ConnectionHooks,
    ManyPrimaries,
    NodeAddress,
)

Answer = TypeVar("Answer")
Command = tuple[tuple[Any, ...], Mapping[str, Any]]
"""Words and options, as a pipeline of redis-py keeps them."""

# A slot is moved within milliseconds, unless there is very much in it.
_MOVE_PAUSES_SECS: Final = (0.01, 0.03, 0.1, 0.2, 0.4)
_ASK_SECS: Final = 2.0  # a node that tells no slots within this is passed over
_HOME: Final = b"rc"  # commands without a key, such as TIME, go where this key is
_KEY_AFTER: Final = {"EVALSHA": 3, "EVAL": 3}  # else the key is the first argument
_KEYLESS: Final = frozenset({"TIME", "INFO", "PING", "CONFIG GET", "CONFIG SET"})
# After these, somebody else may have the slots.
_LOST = RedisConnectionError, RedisTimeoutError, ClusterDownError, ReadOnlyError


class ClusterClient(ManyPrimaries):
    """The client of a whole cluster, with the methods of one for a single server.

    Commands without a key go to one and the same primary. A command has keys of one
    slot only, but for `unlink`. Transactions have one slot as well.

    Args:
        pool: its parameters are those of all connections.
        nodes: some nodes of the cluster, of which one must answer.
    """

    def __init__(
        self,
        pool: ConnectionPool,
        nodes: Sequence[NodeAddress],
        hooks: ConnectionHooks | None = None,
    ) -> None:
        super().__init__(connection_pool=pool)
        self._given = tuple(nodes)
        self._hooks = hooks
        self._retry = Retry(NoBackoff(), 0)
        self._nodes: dict[NodeAddress, Redis] = {}  # primaries
        self._known: list[NodeAddress] = []  # replicas, too
        self._silent: set[NodeAddress] = set()  # that did not answer last time
        self._owners: list[NodeAddress | None] = []  # by slot
        self._told_by: NodeAddress | None = None  # who knows of a slot that was moved
        self._is_stale = True
        self._refreshing = asyncio.Lock()

    # -- as for a single server ----------------------------------------------------

    def set_retry(self, retry: Retry) -> None:
        """Repeat commands in this way while primaries are unreachable or replaced."""
        retry.update_supported_errors([ClusterDownError, ReadOnlyError])
        self._retry = retry

    async def execute_command(self, *args: Any, **options: Any) -> Any:
        """Return the answer to a command."""
        (answer,) = await self.run([(args, options)])
        if isinstance(answer, Exception):
            raise answer
        return answer

    def pipeline(
        self, transaction: bool = True, shard_hint: str | None = None
    ) -> ClusterPipeline:
        """Return a pipeline, whose commands go to their nodes at the same time."""
        del shard_hint
        return ClusterPipeline(self, transaction=transaction)

    async def scan_iter(  # type: ignore[override]
        self, *args: Any, **kwargs: Any
    ) -> AsyncIterator[Any]:
        """Yield the keys of all primaries."""
        for node in (await self.primaries()).values():
            async for name in node.scan_iter(*args, **kwargs):
                yield name

    async def unlink(self, *names: Any) -> int:
        """Delete keys of any slots."""
        pipe = self.pipeline(transaction=False)
        for name in names:
            pipe.execute_command("UNLINK", name)
        return sum(await pipe.execute())

    async def aclose(self, close_connection_pool: bool | None = None) -> None:
        """Disconnect from all nodes."""
        del close_connection_pool  # none of it was used
        for node in self._nodes.values():
            await node.connection_pool.disconnect()

    # -- the nodes -----------------------------------------------------------------

    async def primaries(self) -> dict[str, Redis]:
        """Return a client for each primary, by its name, `host:port`."""
        if self._is_stale:
            await self._retry.call_with_retry(self._refresh, self._pass_over)
        return {str(address): node for address, node in self._nodes.items()}

    async def ask_all(
        self, ask: Callable[[Redis], Awaitable[Answer]]
    ) -> dict[str, Answer]:
        """Return what each primary answers, by its name."""

        async def ask_each() -> dict[str, Answer]:
            if self._is_stale:
                await self._refresh()
            nodes = list(self._nodes.items())
            return {str(address): await ask(node) for address, node in nodes}

        return await self._retry.call_with_retry(ask_each, self._pass_over)

    async def reconnect(self) -> None:
        """Close idle connections, and look for the primaries again."""
        self._is_stale = True
        for node in list(self._nodes.values()):
            await node.connection_pool.disconnect(inuse_connections=False)

    async def run(
        self, commands: Sequence[Command], *, in_transaction: bool = False
    ) -> list[Any]:
        """Return the answers to commands, errors of single commands among them.

        Raises:
            RedisError: a node cannot be asked; others may have done their part.
        """
        return await self._retry.call_with_retry(
            lambda: self._run(commands, in_transaction=in_transaction), self._pass_over
        )

    async def _run(
        self, commands: Sequence[Command], *, in_transaction: bool
    ) -> list[Any]:
        answers: list[Any] = [None] * len(commands)
        waiting: Iterable[int] = range(len(commands))
        for pause_secs in (*_MOVE_PAUSES_SECS, None):
            if self._is_stale:
                await self._refresh()
            await self._send(commands, waiting, answers, in_transaction=in_transaction)
            waiting = [i for i in waiting if _is_elsewhere(answers[i])]
            if not waiting:
                break
            self._is_stale = True
            if pause_secs is not None:
                await asyncio.sleep(pause_secs * random.uniform(0.5, 1.0))
        for i in waiting:
            slot = slot_of(commands[i][0])
            answers[i] = TryAgainError(f"slot {slot} of the cluster is being moved")
        for answer in answers:
            if isinstance(answer, _LOST):  # to be repeated, if anything is
                raise answer
        return answers

    async def _send(
        self,
        commands: Sequence[Command],
        which: Iterable[int],
        answers: list[Any],
        *,
        in_transaction: bool,
    ) -> None:
        groups: defaultdict[NodeAddress, list[int]] = defaultdict(list)
        for i in which:
            groups[self._owner(slot_of(commands[i][0]))].append(i)
        if in_transaction and len(groups) > 1:
            raise ResponseError(
                "a transaction has keys on several nodes of the cluster"
            )
        parts = await asyncio.gather(
            *(
                self._ask_node(node, [commands[i] for i in numbers], in_transaction)
                for node, numbers in groups.items()
            ),
            return_exceptions=True,
        )
        for (node, numbers), part in zip(groups.items(), parts, strict=True):
            if isinstance(part, BaseException):
                if isinstance(part, _LOST):
                    self._is_stale = True
                    self._silent.add(node)
                continue
            for i, answer in zip(numbers, part, strict=True):
                answers[i] = answer
                self._note(answer)
        for part in parts:
            if isinstance(part, BaseException):
                raise part

    async def _ask_node(
        self, node: NodeAddress, commands: Sequence[Command], in_transaction: bool
    ) -> Sequence[Any]:
        pipe = self._nodes[node].pipeline(transaction=in_transaction)
        for args, options in commands:
            pipe.execute_command(*args, **options)
        try:
            return await pipe.execute(raise_on_error=False)
        except (AskError, TryAgainError, ClusterDownError) as error:  # of a transaction
            return [error] * len(commands)

    def _note(self, answer: object) -> None:
        if isinstance(answer, _LOST):
            self._is_stale = True
        elif isinstance(answer, AskError) and answer.host:  # MovedError too
            self._told_by = NodeAddress(answer.host, answer.port)

    def _owner(self, slot: int) -> NodeAddress:
        owner = self._owners[slot]
        if owner is None:
            self._is_stale = True
            raise ClusterDownError(
                f"CLUSTERDOWN no node of the cluster has slot {slot}"
            )
        return owner

    # -- who has which slots -------------------------------------------------------

    async def _pass_over(self, _error: Exception) -> None:
        self._is_stale = True

    async def _refresh(self) -> None:
        """Find out which primary has which slots."""
        async with self._refreshing:
            if not self._is_stale:
                return
            last: RedisError = RedisConnectionError("no node of the cluster is known")
            for address in self._to_ask():
                try:
                    rows = await self._slots_told_by(address)
                except (AuthenticationError, AuthorizationError):
                    raise
                except ResponseError:  # it is no cluster, or we may not ask
                    raise
                except RedisError as error:
                    self._silent.add(address)
                    last = error
                    continue
                self._silent.discard(address)
                await self._take(rows, address)
                return
            raise RedisConnectionError(
                f"no node of the cluster answers: {last}"
            ) from last

    def _to_ask(self) -> list[NodeAddress]:
        """Return all nodes, those that are likely to answer first.

        Among equals, the order is random: one may be cut off from the others, and know
        an old state only.
        """
        nodes = list(dict.fromkeys(chain(self._known, self._given)))
        random.shuffle(nodes)
        nodes.sort(key=lambda node: (node in self._silent, node != self._told_by))
        self._told_by = None
        return nodes

    async def _slots_told_by(self, address: NodeAddress) -> list[Any]:
        pool = self._pool_of(address)
        client = Redis(connection_pool=pool)
        try:
            async with asyncio.timeout(_ASK_SECS):
                found = await cast("Any", client).execute_command("CLUSTER SLOTS")
                return list(found)
        except TimeoutError as error:
            raise RedisTimeoutError(f"{address} does not answer") from error
        finally:
            await pool.disconnect()

    async def _take(self, rows: Sequence[Any], told_by: NodeAddress) -> None:
        owners: list[NodeAddress | None] = [None] * REDIS_CLUSTER_HASH_SLOTS
        known: list[NodeAddress] = []
        for first, last, *nodes in rows:
            places = [_address(node, told_by) for node in nodes]
            known += places
            owners[first : last + 1] = [places[0]] * (last + 1 - first)
        before, primaries = frozenset(self._nodes), {each for each in owners if each}
        self._known = list(dict.fromkeys(known))
        for address in primaries - before:
            self._nodes[address] = Redis(connection_pool=self._pool_of(address, True))
        gone = [self._nodes.pop(address) for address in before - primaries]
        self._owners, self._is_stale = owners, False
        if self._hooks is not None and before != primaries:
            self._hooks.on_primaries(frozenset(map(str, primaries)))
        for node in gone:
            await node.connection_pool.disconnect(inuse_connections=False)

    def _pool_of(self, address: NodeAddress, is_used: bool = False) -> ConnectionPool:
        kwargs = dict(self.connection_pool.connection_kwargs)
        kwargs |= {"host": address.host, "port": address.port}
        if is_used and self._hooks is not None:
            prepare = partial(self._hooks.on_connect, str(address))
            kwargs["redis_connect_func"] = prepare
        kwargs["max_connections"] = self.connection_pool.max_connections
        kind = self.connection_pool.connection_class
        return ConnectionPool(connection_class=kind, **kwargs)


class ClusterPipeline(Pipeline):
    """Commands that are sent together, to each node its part."""

    def __init__(self, client: ClusterClient, *, transaction: bool) -> None:
        super().__init__(
            client.connection_pool, client.response_callbacks, transaction, None
        )
        self._client = client

    async def execute(self, raise_on_error: bool = True) -> list[Any]:
        """Return the answers in the order of the commands."""
        commands, self.command_stack = self.command_stack, []
        if not commands:
            return []
        send = partial(self._client.run, in_transaction=self.is_transaction)
        answers = await send(commands)
        if raise_on_error:
            for answer in answers:
                if isinstance(answer, Exception):
                    raise answer
        return answers


def slot_of(words: Sequence[Any]) -> int:
    """Return the slot of a command.

    >>> slot_of(["GET", "{rc}:x"]) == slot_of(["TIME"])
    True
    """
    name = words[0]
    if name in _KEYLESS:
        return key_slot(_HOME)
    key = words[_KEY_AFTER.get(name, 1)]
    return key_slot(key.encode() if isinstance(key, str) else bytes(key))


def _is_elsewhere(answer: object) -> bool:
    """Return whether a command was not done, as its slot is, or goes, elsewhere."""
    return isinstance(answer, (AskError, TryAgainError))


def _address(node: Sequence[Any], told_by: NodeAddress) -> NodeAddress:
    """Return the address of a node in an answer; unnamed is the one that answers."""
    host = node[0].decode() if isinstance(node[0], bytes) else node[0]
    return NodeAddress(told_by.host if host in {None, "", "?"} else host, int(node[1]))
