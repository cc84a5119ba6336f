"""A client of Redis Cluster: each command goes to the primary of its slot.

The cluster client of redis-py sends `ASKING` and the following command on different
connections, does not refresh its slot table after a failed pipeline that must not be
repeated, and repeats pipeline commands whose reply is empty. Here, the nodes are plain
clients of redis-py. Commands for a migrating slot wait: it may hold half of a
partition, and a script would miss the other half.
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

from rdfcrawl.frontier.redis.address import NodeAddress
from rdfcrawl.frontier.redis.operations import ConnectionHooks, ManyPrimaries

Reply = TypeVar("Reply")
Command = tuple[tuple[Any, ...], Mapping[str, Any]]
"""Command words and options, as in a pipeline of redis-py."""

# A slot migrates within milliseconds unless it is very large.
_MOVE_PAUSES_SECS: Final = (0.01, 0.03, 0.1, 0.2, 0.4)
_ASK_SECS: Final = 2.0  # a node that does not report slots within this is skipped
_HOME: Final = b"rc"  # commands without a key, such as TIME, use this key
_KEY_AFTER: Final = {"EVALSHA": 3, "EVAL": 3}  # else the first argument is the key
_KEYLESS: Final = frozenset({"TIME", "INFO", "PING", "CONFIG GET", "CONFIG SET"})
# Wrong login, not a cluster, or no permission: no other node would help.
_OF_OPERATOR = AuthenticationError, AuthorizationError, ResponseError
_ELSEWHERE = AskError, TryAgainError  # redirected: the slot is at another node
# After these errors, the slots may have moved.
_LOST = RedisConnectionError, RedisTimeoutError, ClusterDownError, ReadOnlyError


class ClusterClient(ManyPrimaries):
    """A client of a cluster, with the methods of a single-server client.

    Commands without a key all go to the same primary. Commands and transactions use
    keys of one slot, except `unlink`.

    Args:
        pool: has the parameters of all connections.
        nodes: some nodes of the cluster; one must respond.
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
        self._known: list[NodeAddress] = []  # including replicas
        self._silent: set[NodeAddress] = set()  # did not respond last time
        self._owners: list[NodeAddress | None] = []  # by slot
        # node that reported a moved slot
        self._move_reporter: NodeAddress | None = None
        self._is_stale = True
        self._refreshing = asyncio.Lock()

    # -- as for a single server ----------------------------------------------------

    def set_retry(self, retry: Retry) -> None:
        """Set how commands are retried while primaries are unreachable."""
        retry.update_supported_errors([ClusterDownError, ReadOnlyError])
        self._retry = retry

    async def execute_command(self, *args: Any, **options: Any) -> Any:
        """Return the reply to a command."""
        (reply,) = await self.run([(args, options)])
        if isinstance(reply, Exception):
            raise reply
        return reply

    def pipeline(
        self, transaction: bool = True, shard_hint: str | None = None
    ) -> ClusterPipeline:
        """Return a pipeline, which sends its commands to all nodes in parallel."""
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
        del close_connection_pool  # unused
        for node in self._nodes.values():
            await node.connection_pool.disconnect()

    # -- the nodes -----------------------------------------------------------------

    async def primaries(self) -> dict[str, Redis]:
        """Return a client for each primary, by its name, `host:port`."""
        if self._is_stale:
            await self._retry.call_with_retry(self._refresh, self._pass_over)
        return {str(address): node for address, node in self._nodes.items()}

    async def query_all(
        self, query: Callable[[Redis], Awaitable[Reply]]
    ) -> dict[str, Reply]:
        """Return the reply of each primary, by its name."""

        async def query_each() -> dict[str, Reply]:
            if self._is_stale:
                await self._refresh()
            nodes = list(self._nodes.items())
            return {str(address): await query(node) for address, node in nodes}

        return await self._retry.call_with_retry(query_each, self._pass_over)

    async def reconnect(self) -> None:
        """Close idle connections, and refresh the primaries."""
        self._is_stale = True
        for node in list(self._nodes.values()):
            await node.connection_pool.disconnect(inuse_connections=False)

    async def run(
        self, commands: Sequence[Command], *, in_transaction: bool = False
    ) -> list[Any]:
        """Return the replies to commands, including errors of single commands.

        Raises:
            RedisError: a node does not respond; others may have run their commands.
        """
        return await self._retry.call_with_retry(
            lambda: self._run(commands, in_transaction=in_transaction), self._pass_over
        )

    async def _run(
        self, commands: Sequence[Command], *, in_transaction: bool
    ) -> list[Any]:
        replies: list[Any] = [None] * len(commands)
        waiting: Iterable[int] = range(len(commands))
        for pause_secs in (*_MOVE_PAUSES_SECS, None):
            if self._is_stale:
                await self._refresh()
            await self._send(commands, waiting, replies, in_transaction=in_transaction)
            waiting = [i for i in waiting if isinstance(replies[i], _ELSEWHERE)]
            if not waiting:
                break
            self._is_stale = True
            if pause_secs is not None:
                await asyncio.sleep(pause_secs * random.uniform(0.5, 1.0))
        for i in waiting:
            slot = slot_of(commands[i][0])
            replies[i] = TryAgainError(f"slot {slot} of the cluster is being moved")
        for reply in replies:
            if isinstance(reply, _LOST):  # the caller may retry
                raise reply
        return replies

    async def _send(
        self,
        commands: Sequence[Command],
        which: Iterable[int],
        replies: list[Any],
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
                self._query_node(node, [commands[i] for i in numbers], in_transaction)
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
            for i, reply in zip(numbers, part, strict=True):
                replies[i] = reply
                self._note(reply)
        for part in parts:
            if isinstance(part, BaseException):
                raise part

    async def _query_node(
        self, node: NodeAddress, commands: Sequence[Command], in_transaction: bool
    ) -> Sequence[Any]:
        pipe = self._nodes[node].pipeline(transaction=in_transaction)
        for args, options in commands:
            pipe.execute_command(*args, **options)
        try:
            return await pipe.execute(raise_on_error=False)
        except (AskError, TryAgainError, ClusterDownError) as error:  # in a transaction
            return [error] * len(commands)

    def _note(self, reply: object) -> None:
        if isinstance(reply, _LOST):
            self._is_stale = True
        elif isinstance(reply, AskError) and reply.host:  # or MovedError
            self._move_reporter = NodeAddress(reply.host, reply.port)

    def _owner(self, slot: int) -> NodeAddress:
        owner = self._owners[slot]
        if owner is None:
            self._is_stale = True
            raise ClusterDownError(
                f"CLUSTERDOWN no node of the cluster has slot {slot}"
            )
        return owner

    # -- slots ---------------------------------------------------------------------

    async def _pass_over(self, _error: Exception) -> None:
        self._is_stale = True

    async def _refresh(self) -> None:
        """Refresh the slot table."""
        async with self._refreshing:
            if not self._is_stale:
                return
            last: RedisError = RedisConnectionError("no node of the cluster is known")
            for address in self._query_order():
                try:
                    rows = await self._fetch_slots(address)
                except _OF_OPERATOR:
                    raise
                except RedisError as error:
                    self._silent.add(address)
                    last = error
                    continue
                self._silent.discard(address)
                await self._take(rows, address)
                return
            raise RedisConnectionError(
                f"no node of the cluster responds: {last}"
            ) from last

    def _query_order(self) -> list[NodeAddress]:
        """Return all nodes, those likely to respond first.

        Ties are broken at random: an isolated node may have an outdated state.
        """
        nodes = list(dict.fromkeys(chain(self._known, self._given)))
        random.shuffle(nodes)
        nodes.sort(key=lambda node: (node in self._silent, node != self._move_reporter))
        self._move_reporter = None
        return nodes

    async def _fetch_slots(self, address: NodeAddress) -> list[Any]:
        pool = self._pool_of(address)
        client = Redis(connection_pool=pool)
        try:
            async with asyncio.timeout(_ASK_SECS):
                found = await cast("Any", client).execute_command("CLUSTER SLOTS")
                return list(found)
        except TimeoutError as error:
            raise RedisTimeoutError(f"{address} does not respond") from error
        finally:
            await pool.disconnect()

    async def _take(self, rows: Sequence[Any], reporter: NodeAddress) -> None:
        owners: list[NodeAddress | None] = [None] * REDIS_CLUSTER_HASH_SLOTS
        known: list[NodeAddress] = []
        for first, last, *nodes in rows:
            places = [_address(node, reporter) for node in nodes]
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
    """Commands that are sent together, grouped by node."""

    def __init__(self, client: ClusterClient, *, transaction: bool) -> None:
        super().__init__(
            client.connection_pool, client.response_callbacks, transaction, None
        )
        self._client = client

    async def execute(self, raise_on_error: bool = True) -> list[Any]:
        """Return the replies in the order of the commands."""
        commands, self.command_stack = self.command_stack, []
        if not commands:
            return []
        send = partial(self._client.run, in_transaction=self.is_transaction)
        replies = await send(commands)
        if raise_on_error:
            for reply in replies:
                if isinstance(reply, Exception):
                    raise reply
        return replies


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


def _address(node: Sequence[Any], reporter: NodeAddress) -> NodeAddress:
    """Return the address of a node in a reply; without a name, the sender's."""
    host = node[0].decode() if isinstance(node[0], bytes) else node[0]
    return NodeAddress(reporter.host if host in {None, "", "?"} else host, int(node[1]))
