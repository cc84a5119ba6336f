"""Cost of starting: CPU of commands beyond that of `import scrapy`.

Of each the least of several rounds counts, after one that leaves the bytecode behind,
as an installation does, in a folder of the benchmark. Child processes are included.

Run: `python -m tests.bench.bench_start [ROUNDS]`.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

from tests.bench.budgets import line
from tests.bench.figures import Figure, judge

_PROJECT = Path(__file__).parents[2]
_ANSWER = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
_TICKS = os.sysconf("SC_CLK_TCK")


def main(arguments: list[str] | None = None) -> list[Figure]:
    """Return seconds of CPU beyond `import scrapy`."""
    given = sys.argv[1:] if arguments is None else arguments
    n_rounds = int(given[0]) if given else 3
    with tempfile.TemporaryDirectory() as name:
        environment = os.environ | {"PYTHONPYCACHEPREFIX": str(Path(name, "bytecode"))}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        path = Path(name, "one.nt")
        path.write_text('<http://e/s> <http://e/p> "o" .\n')
        commands = {
            "import scrapy": ["-c", "import scrapy"],
            "scrapy list": ["-m", "scrapy", "list"],
            "scrapy rdf FILE": ["-m", "scrapy", "rdf", str(path)],
        }
        least: dict[str, float] = {}
        for number in range(1 + n_rounds):
            secs = {x: _cpu_of(words, environment) for x, words in commands.items()}
            secs["first request"] = _cpu_to_request(Path(name, "crawl"), environment)
            if number:
                least = {x: min(n, least.get(x, n)) for x, n in secs.items()}
    base = least.pop("import scrapy")
    scrapy = f"import scrapy: {base:.2f} s"
    return [
        line(name, secs - base, f"{secs:.2f} s", scrapy) for name, secs in least.items()
    ]


def _cpu_of(words: list[str], environment: dict[str, str]) -> float:
    process = subprocess.Popen(
        [sys.executable, *words],
        cwd=_PROJECT,
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"{words} exited with {process.returncode}")
    return usage.ru_utime + usage.ru_stime


def _cpu_to_request(folder: Path, environment: dict[str, str]) -> float:
    """Return the CPU of a crawl up to its first request, that of Redis left out."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        url = f"http://127.0.0.1:{server.getsockname()[1]}/"
        crawl = [
            *("scrapy", "crawl", "linkeddata", "-a", f"seeds={url}", "-a", "fresh=1"),
            *("-s", f"CRAWL_DIR={folder}", "-s", "PROGRESS=off"),
            *("-s", "GUARD_ALLOW_NETS=127.0.0.1"),
        ]
        process = subprocess.Popen(
            [sys.executable, "-m", *crawl],
            cwd=_PROJECT,
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        server.settimeout(60)
        connection, _ = server.accept()
        fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2]
        # utime, stime, cutime, cstime (proc_pid_stat(5)), counted after the name
        ticks = sum(map(int, fields.split()[11:15]))
        threading.Thread(target=_answer, args=(server, connection), daemon=True).start()
        process.wait()
    return ticks / _TICKS


def _answer(server: socket.socket, connection: socket.socket) -> None:
    """Say to every request that there is nothing."""
    while True:
        with connection:
            connection.recv(1 << 16)
            connection.sendall(_ANSWER)
        try:
            connection, _ = server.accept()
        except OSError:
            return


if __name__ == "__main__":
    sys.exit(judge(main()))
