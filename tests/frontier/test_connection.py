"""The client that the settings describe, and its behaviour while the server is away."""

from __future__ import annotations

import asyncio
import fcntl
import logging
import os
import signal
import sys
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import redis.asyncio
import uvloop
from redis.exceptions import (
    AuthenticationError,
    BusyLoadingError,
    ClusterDownError,
    DataError,
    NoPermissionError,
    NoScriptError,
    OutOfMemoryError,
    ReadOnlyError,
    RedisError,
    ResponseError,
)
from scrapy.settings import Settings

from rdfcrawl.core.errors import ConfigError
from rdfcrawl.frontier.redis.address import describe
from rdfcrawl.frontier.redis.client import (
    async_client,
    server_facts,
)
from rdfcrawl.frontier.redis.embedded import SERVER_LOCK, EmbeddedServer, ensure_server
from rdfcrawl.frontier.redis.errors import LAST_SECS, RedisRetry, is_outage
from tests.support.processes import is_running

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator, Mapping
    from types import CoroutineType


@pytest.fixture
def server(tmp_path: Path) -> Iterator[EmbeddedServer]:
    """Give a server of this test's own."""
    try:
        server = ensure_server(tmp_path / "frontier")
    except ConfigError as error:
        pytest.skip(str(error))
    with closing(server):
        yield server
    with (tmp_path / "frontier" / SERVER_LOCK).open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # until guardian and server have ended


@pytest.fixture
async def client(server: EmbeddedServer) -> AsyncIterator[redis.asyncio.Redis]:
    """Give a client of that server."""
    client = async_client({}, server.url)
    yield client
    await client.aclose()


async def server_pid(client: redis.asyncio.Redis) -> int:
    """Give the process that answers."""
    return int((await client.info("server"))["process_id"])


def parent(pid: int) -> int:
    """Give the parent of a process; the server's is the guardian."""
    stat = Path(f"/proc/{pid}/stat").read_text("ascii")
    return int(stat.rpartition(")")[2].split()[1])


class TestClient:
    """The meaning of the settings."""

    @pytest.mark.parametrize("make", [dict, Settings], ids=["dict", "Settings"])
    def test_settings_of_scrapy_redis(self, make: type[Any]) -> None:
        """If REDIS_HOST, _PORT, _DB and _PARAMS are set, then they hold."""
        settings = make(
            {
                "REDIS_HOST": "cache.example",
                "REDIS_PORT": 6380,
                "REDIS_DB": 3,
                "REDIS_PARAMS": {"password": "x", "socket_timeout": 7},
                "REDIS_DECODE_RESPONSES": True,
            }
        )
        kwargs = async_client(settings).connection_pool.connection_kwargs
        assert (kwargs["host"], kwargs["port"], kwargs["db"]) == (
            "cache.example",
            6380,
            3,
        )
        assert (kwargs["password"], kwargs["socket_timeout"]) == ("x", 7)

    @pytest.mark.parametrize("kind", ["", "+sentinel", "+cluster"])
    def test_number_of_connections(self, kind: str) -> None:
        """If REDIS_PARAMS limits the connections, then so for all servers."""
        path = "/service" if kind == "+sentinel" else ""
        settings = {"REDIS_URL": f"redis{kind}://a.example:7000{path}"}
        assert async_client(settings).connection_pool.max_connections == 10_000
        few = async_client(settings | {"REDIS_PARAMS": {"max_connections": 7}})
        assert few.connection_pool.max_connections == 7

    @pytest.mark.parametrize(
        "settings",
        [
            {"REDIS_HOST": "h", "REDIS_DECODE_RESPONSES": True},
            {"REDIS_HOST": "h", "REDIS_ENCODING": "utf-16"},
            {"REDIS_HOST": "h", "REDIS_PARAMS": {"retry_on_timeout": True}},
            {"REDIS_HOST": "h", "REDIS_PARAMS": {"redis_cls": "redis.Redis"}},
            {"REDIS_URL": "redis://h?decode_responses=True&retry_on_timeout=True"},
            {"REDIS_URL": "redis://h", "REDIS_PARAMS": '{"decode_responses": true}'},
        ],
        ids=["setting", "encoding", "host", "class", "query", "json"],
    )
    def test_bytes_and_no_retries(self, settings: Mapping[str, Any]) -> None:
        """If settings ask for text or retries, then it gives bytes and tries once."""
        pool = async_client(settings).connection_pool
        connection = pool.connection_class(**pool.connection_kwargs)
        assert connection.encoder.decode_responses is False
        assert connection.encoder.encoding == "utf-8"
        assert connection.retry.get_retries() == 0
        assert connection.retry_on_error == []

    def test_given_url_goes_first(self) -> None:
        """If the embedded server's URL is given, then REDIS_URL is not read."""
        client = async_client({"REDIS_URL": "redis://h"}, "unix:///a%20b/redis.sock")
        assert client.connection_pool.connection_kwargs["path"] == "/a b/redis.sock"

    @pytest.mark.parametrize(
        ("settings", "named"),
        [
            ({"REDIS_URL": "redis+cluster://u:s3cret@h/1"}, "REDIS_URL.*database 0"),
            ({"REDIS_URL": "redis+cluster://u:s3cret@h?db=1"}, "REDIS_URL.*database 0"),
            ({"REDIS_URL": "rediss+cluster://u:s3cret@h,:1"}, "REDIS_URL.*':1' is no"),
            ({"REDIS_URL": "redis+sentinel://u:s3cret@h:1"}, "REDIS_URL.*mymaster"),
            ({"REDIS_URL": "http://u:s3cret@h"}, "REDIS_URL.*unix://"),
            ({"REDIS_URL": "localhost"}, "REDIS_URL.*redis://"),
            ({"REDIS_URL": "redis://u:s3cret@h:port"}, "REDIS_URL"),
            ({"REDIS_URL": "redis://h?db=x"}, "REDIS_URL"),
            ({"REDIS_PARAMS": {"pasword": "s3cret"}}, "REDIS_PARAMS.*pasword"),
            ({"REDIS_URL": "redis://h", "REDIS_PARAMS": {"x": 1}}, "REDIS_PARAMS.*x"),
            ({"REDIS_PARAMS": "no json"}, "REDIS_PARAMS"),
        ],
        ids=[
            *("cluster-db", "cluster-query", "cluster-node", "sentinel"),
            *("scheme", "no-url", "port", "db"),
            *("host-params", "url-params", "json"),
        ],
    )
    def test_wrong_settings_are_one_line(
        self, settings: Mapping[str, Any], named: str
    ) -> None:
        """If a setting is wrong, then it is named at start, without the password."""
        with pytest.raises(ConfigError, match=named) as info:
            async_client(settings)
        assert "\n" not in str(info.value)
        assert "s3cret" not in str(info.value)

    @pytest.mark.parametrize(
        ("url", "shown"),
        [
            ("redis://localhost:6379/0", "redis://localhost:6379/0"),
            ("redis://user:s3:c@r@et@h:1/2", "redis://user:***@h:1/2"),
            ("rediss://:s3cret@h", "rediss://:***@h"),
            ("redis://user@h", "redis://***@h"),
            ("unix:///run/redis.sock?password=s3cret", "unix:///run/redis.sock"),
            ("redis://[::1:6379", "redis://***"),
            ("redis+cluster://u:s3cret@a:1,b:2", "redis+cluster://u:***@a:1,b:2"),
        ],
        ids=["plain", "colons", "no-user", "no-password", "query", "broken", "cluster"],
    )
    def test_no_password_in_logs(self, url: str, shown: str) -> None:
        """If a URL is logged, then its password is not."""
        assert describe(url) == shown


@pytest.mark.service
class TestFacts:
    """The facts of the server."""

    async def test_embedded_server(self, client: redis.asyncio.Redis) -> None:
        """If the server is ours, then its facts are its options at the start."""
        facts = await server_facts(client)
        assert facts.version >= (6, 2)
        assert facts.set_max_intset_entries == 4096

    @pytest.mark.parametrize(
        ("before", "after"), [(512, 4096), (9000, 9000)], ids=["raised", "kept"]
    )
    async def test_intset_limit(
        self, client: redis.asyncio.Redis, before: int, after: int
    ) -> None:
        """If the limit is low, then it is raised; it is never lowered."""
        await client.config_set("set-max-intset-entries", before)
        assert (await server_facts(client)).set_max_intset_entries == after
        found = await client.config_get("set-max-intset-entries")
        assert found["set-max-intset-entries"] == str(after)

    async def test_refused_config(
        self, server: EmbeddedServer, client: redis.asyncio.Redis
    ) -> None:
        """If an ACL refuses CONFIG, then the default limit of 512 is assumed."""
        await client.acl_setuser(
            "crawler",
            enabled=True,
            passwords=["+pw"],
            keys=["*"],
            commands=["+@all", "-config"],
        )
        params = {"username": "crawler", "password": "pw"}
        limited = async_client({"REDIS_PARAMS": params}, server.url)
        assert (await server_facts(limited)).set_max_intset_entries == 512
        await limited.aclose()


@pytest.mark.service
@pytest.mark.skipif(sys.platform != "linux", reason="finds the guardian in /proc")
class TestKilledServer:
    """Failures that a worker survives."""

    @pytest.mark.parametrize(
        "new_loop",
        [asyncio.new_event_loop, uvloop.new_event_loop],
        ids=["asyncio", "uvloop"],
    )
    def test_killed_server_is_borne(
        self, server: EmbeddedServer, caplog: pytest.LogCaptureFixture, new_loop: Any
    ) -> None:
        """If the server is killed, then all goes on, and the log has two lines."""
        caplog.set_level(logging.INFO, "rdfcrawl.frontier.redis.errors")

        async def crawl() -> int:
            client = async_client({}, server.url)
            outage = RedisRetry()

            async def add(worker: int) -> None:
                for n in range(60):
                    await outage.persistent("add", client.sadd, "seen", f"{worker} {n}")
                    await asyncio.sleep(0.005)

            tasks = [asyncio.create_task(add(worker)) for worker in range(10)]
            await asyncio.sleep(0.1)
            pid = await server_pid(client)
            guardian = parent(pid)
            os.kill(guardian, signal.SIGSTOP)  # else it may be back before it is missed
            os.kill(pid, signal.SIGKILL)
            while not outage._n_waiting:  # noqa: ASYNC110 (it has no event)
                await asyncio.sleep(0.01)
            os.kill(guardian, signal.SIGCONT)
            await asyncio.gather(*tasks)
            assert not outage._n_waiting
            n_seen = await client.scard("seen")
            await client.aclose()
            return n_seen

        with asyncio.Runner(loop_factory=new_loop) as runner:
            assert runner.run(crawl()) == 600
        told = [(r.levelname, r.getMessage()) for r in caplog.records]
        assert [level for level, _ in told] == ["WARNING", "INFO"], told
        assert "cannot add" in told[0][1]

    async def test_revived_server(
        self, server: EmbeddedServer, client: redis.asyncio.Redis
    ) -> None:
        """If the guardian is killed too, then the next attempt starts another."""
        await client.set("a", "1")
        pid = await server_pid(client)
        os.kill(parent(pid), signal.SIGKILL)
        outage = RedisRetry(revive=server.revive)
        while is_running(pid):  # noqa: ASYNC110 (it gets a SIGTERM)
            await asyncio.sleep(0.01)
        assert await outage.persistent("ask", server_pid, client) != pid
        assert await client.get("a") == b"1"

    async def test_script_on_a_replica(self, client: redis.asyncio.Redis) -> None:
        """If a script meets a replica, then it is sent on new connections."""
        n_reconnected = 0

        async def reconnect() -> None:
            nonlocal n_reconnected
            n_reconnected += 1
            await client.replicaof("NO", "ONE")

        await client.replicaof("127.0.0.1", "9")
        script = "return redis.call('set', KEYS[1], 'x')"
        outage = RedisRetry(reconnect=reconnect)
        assert await outage.persistent("set", client.eval, script, 1, "a") == b"OK"
        assert n_reconnected == 1

    @pytest.mark.service
    async def test_many_commands_at_once(self, client: redis.asyncio.Redis) -> None:
        """If more hosts are visited than redis-py has connections, then none waits."""
        asked = [client.blpop(["nothing"], timeout=1) for _ in range(150)]
        assert await asyncio.gather(*asked) == [None] * 150


class TestOutage:
    """Errors that are retried."""

    @pytest.mark.parametrize(
        ("error", "passes"),
        [
            (redis.exceptions.ConnectionError("refused"), True),
            (redis.exceptions.TimeoutError("no answer"), True),
            (BusyLoadingError("loading the dataset"), True),
            (ReadOnlyError("You can't write against a read only replica."), True),
            (OutOfMemoryError("command not allowed"), True),
            (ClusterDownError("CLUSTERDOWN The cluster is down"), True),
            (ResponseError("MISCONF Errors writing to the AOF file: No space"), True),
            (ResponseError("BUSY Redis is busy running a script."), True),
            (ResponseError("Error running script: @user_script: 1: -OOM no"), True),
            (ResponseError("ERR unknown command"), False),
            (ResponseError("BUSYGROUP Consumer Group name already exists"), False),
            (AuthenticationError("invalid password"), False),
            (NoPermissionError("no permissions"), False),
            (NoScriptError("No matching script"), False),
        ],
        ids=lambda value: str(value)[:12] if isinstance(value, RedisError) else "",
    )
    def test_which_errors_pass(self, error: RedisError, passes: bool) -> None:
        """If waiting can help, then it is an outage; a wrong command is none."""
        assert is_outage(error) is passes

    async def test_pauses_grow(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """If nothing answers, then the attempts become rarer until it stops."""
        client = async_client({}, f"unix://{tmp_path}/none.sock")
        stopping = asyncio.Event()
        pauses: list[float] = []
        n_calls, wait_for = 0, asyncio.wait_for

        async def ping() -> object:
            nonlocal n_calls
            n_calls += 1
            if n_calls == 6:
                stopping.set()
            return await client.echo("x")

        async def noted(waiting: CoroutineType[Any, Any, Any], secs: float) -> object:
            if waiting.__qualname__ == "Event.wait":
                pauses.append(secs)
            return await wait_for(waiting, secs)

        monkeypatch.setattr(asyncio, "wait_for", noted)
        with pytest.raises(redis.exceptions.ConnectionError):
            await RedisRetry(stopping=stopping).persistent("ping", ping)
        for secs, longest in zip(pauses, [0.05, 0.1, 0.2, 0.4, 0.8], strict=True):
            assert longest / 2 <= secs <= longest
        # Then 300 ms each; a timer may fire a tick early.
        assert 6 < n_calls <= 6 + LAST_SECS / 0.3 + 1

    @pytest.mark.service
    async def test_full_server_is_waited_for(
        self, client: redis.asyncio.Redis, caplog: pytest.LogCaptureFixture
    ) -> None:
        """If memory is full, then adding waits, reading goes on, one line says so."""
        await client.config_set("maxmemory", 1)
        script = "return redis.call('SADD', KEYS[1], '1')"
        outage = RedisRetry()
        task = asyncio.create_task(
            outage.persistent("add", client.eval, script, 1, "s")
        )
        for _ in range(4):
            await asyncio.sleep(0.1)
            assert await outage.persistent("count", client.scard, "s") == 0
        assert outage._n_waiting
        assert not task.done()
        assert len(caplog.records) == 1
        await client.config_set("maxmemory", 0)
        assert await task == 1
        assert not outage._n_waiting

    @pytest.mark.service
    @pytest.mark.parametrize(
        "params",
        [{}, {"password": "wrong"}, {"username": "nobody", "password": "s3cret"}],
        ids=["none", "wrong", "user"],
    )
    async def test_refused_password_is_not_tried_again(
        self,
        server: EmbeddedServer,
        client: redis.asyncio.Redis,
        params: dict[str, str],
    ) -> None:
        """If the server wants another password, then that is an error at once."""
        await client.config_set("requirepass", "s3cret")
        other = async_client({"REDIS_PARAMS": params}, server.url)
        with pytest.raises(
            redis.exceptions.ConnectionError, match=r"(?i)password|auth"
        ):
            await asyncio.wait_for(RedisRetry().persistent("get", other.get, "a"), 30)
        await other.aclose()

    @pytest.mark.service
    async def test_unknown_script_is_for_the_caller(
        self, client: redis.asyncio.Redis
    ) -> None:
        """If the server does not know a script, then the caller has to load it."""
        with pytest.raises(NoScriptError):
            await RedisRetry().persistent("run", client.evalsha, "0" * 40, 0)


class TestPacking:
    """Commands on their way to the server."""

    def test_commands_are_written_as_redis_py_writes_them(self) -> None:
        """If a command has arguments of any kind, then the bytes are redis-py's."""
        url = "redis://localhost"
        pool = async_client({}, url).connection_pool
        ours = pool.connection_class(**pool.connection_kwargs)
        plain = redis.asyncio.Connection()
        arguments = (b"\x00\xff\r\n", "é", "", -(2**63), 0.25, bytearray(b"x"))
        for command in ("SET", "SCRIPT LOAD", b"CONFIG GET"):
            packed = ours.pack_commands([(command, *arguments)])
            expected = plain.pack_commands([(command, *arguments)])
            assert b"".join(packed) == b"".join(expected)

    def test_what_cannot_be_sent_is_refused(self) -> None:
        """If an argument is no text, bytes or number, then it is an error."""
        pool = async_client({}, "redis://localhost").connection_pool
        connection = pool.connection_class(**pool.connection_kwargs)
        nothing: Any = None
        with pytest.raises(DataError):
            connection.pack_command("SET", "a", nothing)


class TestEchoes:
    """Messages about outages in quick succession."""

    @staticmethod
    def failing(n_times: int) -> Any:
        """Return a call that fails so often, and succeeds then."""
        left = [n_times]

        async def call() -> str:
            if left[0]:
                left[0] -= 1
                raise redis.exceptions.ConnectionError("gone")
            return "done"

        return call

    async def test_dead_idle_connection_is_no_second_outage(
        self, caplog: pytest.LogCaptureFixture
    ) -> None:
        """If an idle connection is dead after an outage, then nothing is logged."""
        caplog.set_level(logging.INFO, "rdfcrawl.frontier.redis.errors")
        outage = RedisRetry()
        for n_times in (2, 1, 1):
            assert await outage.persistent("add", self.failing(n_times)) == "done"
        assert [r.levelname for r in caplog.records] == ["WARNING", "INFO"]

    async def test_second_outage_is_told(
        self, caplog: pytest.LogCaptureFixture
    ) -> None:
        """If Redis is away again soon after an outage, then that is logged, too."""
        caplog.set_level(logging.INFO, "rdfcrawl.frontier.redis.errors")
        outage = RedisRetry()
        for _ in range(2):
            assert await outage.persistent("add", self.failing(2)) == "done"
        assert [r.levelname for r in caplog.records] == ["WARNING", "INFO"] * 2
