"""The web in a separate process.

Parent and child talk in lines of JSON. The child writes a line when it accepts
connections, one for each line on its standard input (`log`, or JSON), and a last one
when its standard input ends: it cannot outlive its parent.
"""

from __future__ import annotations

import asyncio
import json
import os
import select
import signal
import subprocess
import sys
import time
from contextlib import contextmanager, suppress
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import uvloop

from rdfcrawl.core.console import close_output
from rdfcrawl.core.errors import ConfigError
from rdfcrawl.core.processes import finish, module_command
from rdfcrawl.dataweb.evolution.clock import CLOCK_NAME, WebClock
from rdfcrawl.dataweb.evolution.truth import HISTORY_NAME
from rdfcrawl.dataweb.nodes.accesslog import LoggedRequest, WebLog, parse_log
from rdfcrawl.dataweb.nodes.site import ChangingSite
from rdfcrawl.dataweb.server import ServedHere, serve

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from rdfcrawl.dataweb.config import WebConfig

NETWORK = "127.0.0.0/8"  # that a crawl of a web must be allowed, as GUARD_ALLOW_NETS
SEEDS_NAME, TRUTH_NAME, LOG_NAME = "seeds.txt", "truth.nq", "log.json"
START_SECS = 60.0  # the largest web of the experiments takes 2
ANSWER_SECS = 30.0


class ServedWeb:
    """A web that another process serves.

    Attributes:
        seeds: URLs to start a crawl from.
        seeds_path: the same in a file, one in a line.
        truth_path: N-Quads that a crawler should find (see `recall`).
        log_path: where the log is after `stop`.
        history_path: history of evolving nodes, in lines of JSON; absent if there are
            none.
        clock: of the evolving nodes; advance it to change them.
        port: TCP port of all hosts.
    """

    def __init__(self, process: subprocess.Popen[bytes], directory: Path) -> None:
        self._process = process
        self._last: WebLog | None = None
        self._buffer = b""
        started = self._read_line(START_SECS)
        self.port: int = started["port"]
        self.seeds: tuple[str, ...] = tuple(started["seeds"])
        self.seeds_path = directory / SEEDS_NAME
        self.truth_path = directory / TRUTH_NAME
        self.history_path = directory / HISTORY_NAME
        self.clock = WebClock(directory / CLOCK_NAME)
        self.log_path = directory / LOG_NAME

    @property
    def pid(self) -> int:
        """Process id of the server."""
        return self._process.pid

    def log(self) -> WebLog:
        """Return the access log of now, or of the end.

        Raises:
            ConfigError: the process has ended by itself.
        """
        if self._last is not None:
            return self._last
        self._write(b"log\n")
        return parse_log(self._read_line(ANSWER_SECS))

    def requests(self, index: int) -> tuple[LoggedRequest, ...]:
        """Return the requests of a node; those of ORCA's kinds are not kept."""
        kept = self._command({"do": "requests", "node": index})
        return tuple(LoggedRequest(**one) for one in kept)

    def change(self, index: int, **arguments: Any) -> Any:
        """Change the content of a node, as its `change` does, and write the truth.

        Raises:
            ConfigError: nodes of this kind do not change, or not so.
        """
        asked = {"do": "change", "node": index, "arguments": arguments}
        return self._command(asked)

    def _command(self, asked: dict[str, Any]) -> Any:
        self._write(json.dumps(asked).encode() + b"\n")
        return self._read_line(ANSWER_SECS)["result"]

    def stop(self) -> WebLog:
        """End the server and return the last log; so does a second call."""
        if self._last is None:
            self._write(b"stop\n")
            self._last = parse_log(self._read_line(ANSWER_SECS))
            self._process.wait(ANSWER_SECS)
        return self._last

    def _write(self, line: bytes) -> None:
        stdin = self._process.stdin
        try:
            if stdin is not None:
                stdin.write(line)
        except BrokenPipeError as error:
            raise ConfigError("the web's process has ended") from error

    def _read_line(self, timeout_secs: float) -> Any:
        stdout = self._process.stdout
        if stdout is None:
            raise ConfigError("the web's process has no output")
        deadline = time.monotonic() + timeout_secs
        while b"\n" not in self._buffer:
            left = max(deadline - time.monotonic(), 0)
            if not select.select([stdout], [], [], left)[0]:
                raise ConfigError(f"the web did not respond within {timeout_secs:g} s")
            chunk = os.read(stdout.fileno(), 1 << 16)
            if not chunk:
                with suppress(subprocess.TimeoutExpired):
                    self._process.wait(ANSWER_SECS)
                raise ConfigError("the web's process has ended; see its error output")
            self._buffer += chunk
        line, _, self._buffer = self._buffer.partition(b"\n")
        value = json.loads(line)
        if "error" in value:
            raise ConfigError(value["error"])
        return value


@contextmanager
def run_dataweb(config: WebConfig, directory: Path) -> Iterator[ServedWeb]:
    """Serve a web in a separate process while the context is open.

    Args:
        config: of the web.
        directory: gets seeds, truth and at the end the log; made if absent.

    Raises:
        ConfigError: the web cannot be served, for example because the port is in
            use, or does not accept connections within `START_SECS`.
    """
    # Unbuffered: bytes that a dead server did not read would be written again on close.
    with subprocess.Popen(
        module_command("rdfcrawl.dataweb", config.to_json(), str(directory)),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        bufsize=0,
    ) as process:
        try:
            served = ServedWeb(process, directory)
            yield served
            if process.poll() is None:
                served.stop()
        finally:
            if process.poll() is None:
                process.terminate()
                finish(process, patience_secs=ANSWER_SECS)


def serve_until_stopped(
    config: WebConfig,
    directory: Path,
    *,
    on_start: Callable[[ServedHere], None],
    read_commands: bool = False,
) -> WebLog:
    """Serve a web here until SIGINT or SIGTERM; write its files.

    Args:
        config: of the web.
        directory: gets `seeds.txt`, `truth.nq`, `clock.jsonl`, `history.jsonl` if there
            are evolving nodes, and at the end `log.json`.
        on_start: called once, when all hosts accept connections.
        read_commands: obey the lines of standard input (`log`, `stop`, its end).

    Raises:
        ConfigError: the web cannot be served.
    """
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(_serve(config, directory, on_start, read_commands))


async def _serve(
    config: WebConfig,
    directory: Path,
    on_start: Callable[[ServedHere], None],
    read_commands: bool,
) -> WebLog:
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stopped.set)
    clock = _start_clock(directory, config.speed)
    async with serve(config, clock) as served:
        try:
            served.web.write_seeds(directory / SEEDS_NAME)
            served.web.write_truth(directory / TRUTH_NAME)
            served.web.write_history(directory / HISTORY_NAME, now=clock.now())
        except OSError as error:
            raise ConfigError(f"cannot write to {directory}: {error}") from error
        on_start(served)
        if read_commands:
            truth = directory / TRUTH_NAME
            await loop.connect_read_pipe(
                lambda: _Commands(served, stopped, truth), sys.stdin
            )
        await stopped.wait()
        log = served.log()
        path = directory / LOG_NAME
        path.write_text(json.dumps(log.to_json(), indent=1) + "\n")
        served.web.write_history(directory / HISTORY_NAME, now=clock.now())
        return log


def _start_clock(directory: Path, speed: float) -> WebClock:
    """Make the directory; begin the clock in it, or go on with it."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(f"cannot write to {directory}: {error}") from error
    return WebClock(directory / CLOCK_NAME, speed=speed)


class _Commands(asyncio.Protocol):
    """Obeys the lines that the parent process writes."""

    def __init__(self, served: ServedHere, stopped: asyncio.Event, truth: Path) -> None:
        self._served, self._stopped, self._truth = served, stopped, truth
        self._rest = b""

    def data_received(self, data: bytes) -> None:
        """Respond to each line."""
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            if line == b"log":
                write_line(self._served.log().to_json())
            elif line == b"stop":
                self._stopped.set()
            elif line:
                write_line(self._obey(json.loads(line)))

    def _obey(self, asked: dict[str, Any]) -> dict[str, Any]:
        """Execute a line of JSON; the reply to a wrong one is an `error`."""
        index = asked["node"]
        if not 0 <= index < len(self._served.web.nodes):
            return {"error": f"there is no node {index}"}
        if asked["do"] == "requests":
            kept = self._served.requests(index)
            return {"result": [asdict(one) for one in kept]}
        node = self._served.web.nodes[index]
        if not isinstance(node, ChangingSite):
            return {"error": f"{node.plan.kind} nodes do not change"}
        try:
            result = node.change(**asked["arguments"])
        except (NotImplementedError, TypeError, ValueError) as error:
            return {"error": str(error)}
        self._served.web.write_truth(self._truth)
        return {"result": result}

    def eof_received(self) -> None:
        """Stop: the parent is gone."""
        self._stopped.set()


def write_line(value: object) -> None:
    """Write one line of JSON to standard output for the parent process."""
    try:
        sys.stdout.write(json.dumps(value) + "\n")
        sys.stdout.flush()
    except BrokenPipeError:
        close_output()
