"""Network namespaces as hosts: each has an address, a name and limits of its own. Needs root."""

import os
import pathlib
import secrets
import shutil
import signal
import subprocess
import time

import lib

SLOW_BUCKETS = {"1gbit": "256kb", "100mbit": "32kb"}  # as shared/kit/README found them to work


def ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True, capture_output=True, text=True)


class Hosts:
    """`count` hosts h1, h2 … at 10.77.0.1 … on a switch of their own, gone at the end.

    version: of IP; with 6 they are at fd77::1 … and have no address of version 4 but loopback.
    """

    def __init__(self, folder: pathlib.Path, count: int, rate: str | None = "1gbit", version: int = 4):
        if not lib.IS_ROOT:
            raise lib.Unmeasurable("network namespaces need root")
        self.folder = folder
        self.count = count
        self.rate = rate
        self.version = version
        self.tag = f"m{os.getpid()}"
        self.secret = folder / "secret"
        self.processes: list[subprocess.Popen] = []

    def name(self, number: int) -> str:
        return f"{self.tag}h{number}"

    def address(self, number: int) -> str:
        return f"10.77.0.{number}" if self.version == 4 else f"fd77::{number}"

    def __enter__(self) -> "Hosts":
        self.secret.write_text(secrets.token_hex(32))
        self.secret.chmod(0o600)
        try:
            self._build()
        except subprocess.CalledProcessError as error:
            self.__exit__()
            raise lib.Unmeasurable(f"no network namespaces here: {error.stderr.strip()}") from error
        return self

    def _build(self) -> None:
        switch = self.tag + "sw"
        ip("netns", "add", switch)
        ip("-n", switch, "link", "add", "br0", "type", "bridge")
        ip("-n", switch, "link", "set", "br0", "up")
        for number in range(1, self.count + 1):
            host, port = self.name(number), f"p{number}"
            ip("netns", "add", host)
            ip("link", "add", "eth0", "netns", host, "type", "veth", "peer", "name", port, "netns", switch)
            ip("-n", switch, "link", "set", port, "master", "br0", "up")
            ip("-n", host, "link", "set", "lo", "up")
            bits = ["24"] if self.version == 4 else ["64", "nodad"]
            ip("-n", host, "addr", "add", f"{self.address(number)}/{bits[0]}", *bits[1:], "dev", "eth0")
            ip("-n", host, "link", "set", "eth0", "up")
            if self.rate:
                self.limit(number, self.rate)

    def limit(self, number: int, rate: str) -> None:
        """Both directions of a host's link."""
        limit = ["root", "tbf", "rate", rate, "burst", SLOW_BUCKETS[rate], "latency", "50ms"]
        for namespace, device in ((self.name(number), "eth0"), (self.tag + "sw", f"p{number}")):
            command = ["tc", "-n", namespace, "qdisc", "replace", "dev", device, *limit]
            subprocess.run(command, check=True, capture_output=True, text=True)

    def bridge(self, number: int, name: str, address: str) -> None:
        """A bridge to which nothing is attached, as container programs leave behind."""
        host = self.name(number)
        ip("-n", host, "link", "add", name, "type", "bridge")
        ip("-n", host, "addr", "add", address, "dev", name)
        ip("-n", host, "link", "set", name, "up")

    def names(self, number: int, text: str) -> None:
        """Replaces /etc/hosts of a host."""
        folder = pathlib.Path("/etc/netns") / self.name(number)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "hosts").write_text(text)

    def connections(self, number: int) -> list[str]:
        """Both ends of the established TCP connections of a host."""
        command = ["ip", "netns", "exec", self.name(number), "ss", "-Htn", "state", "established"]
        rows = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
        return [end.rpartition(":")[0].strip("[]") for row in rows for end in row.split()[-2:]]

    def start(self, number: int, command: list, environment: dict, output=subprocess.PIPE) -> subprocess.Popen:
        """Runs a command on a host, which has its own name and /dev/shm."""
        inside = f'hostname h{number}; mount -t tmpfs tmpfs /dev/shm; exec "$@"'
        wrapped = ["ip", "netns", "exec", self.name(number)]
        wrapped += ["unshare", "-m", "-u", "--propagation", "private", "sh", "-c", inside, "sh"]
        key, _, value = lib.MARK.partition("=")
        process = subprocess.Popen(
            [*wrapped, *map(str, command)],
            cwd=self.folder,
            env={**os.environ, key: value, **environment},
            stdout=output,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        self.processes.append(process)
        return process

    def start_ranks(self, command: list, ranks_per_host: int | list[int] = 1, extra: dict | None = None) -> list:
        """Ranks as a person would start them by hand, host by host; returns their processes."""
        counts = [ranks_per_host] * self.count if isinstance(ranks_per_host, int) else ranks_per_host
        where = {
            "WORLD_SIZE": str(sum(counts)),
            "MASTER_ADDR": self.address(1),
            "MASTER_PORT": str(29500 + os.getpid() % 1000),
            "MUSTER_SECRET_FILE": str(self.secret),
            **(extra or {}),
        }
        started, rank = [], 0
        for number, count in enumerate(counts, start=1):
            for _ in range(count):
                started.append(self.start(number, command, {**where, "RANK": str(rank)}))
                rank += 1
        return started

    def run_ranks(self, command: list, ranks_per_host=1, timeout_s: float = 60, extra: dict | None = None):
        """Runs ranks to their end; returns (exit codes, outputs)."""
        started = self.start_ranks(command, ranks_per_host, extra)
        ends = time.monotonic() + timeout_s
        outputs = []
        for process in started:
            try:
                outputs.append(process.communicate(timeout=max(0.1, ends - time.monotonic()))[0])
            except subprocess.TimeoutExpired:
                for late in started:
                    kill(late)
                outputs.append(process.communicate()[0] + "\n(killed: it ran too long)")
        return [process.returncode for process in started], outputs

    def __exit__(self, *_) -> None:
        for process in self.processes:
            kill(process)
        for name in [*(self.name(n) for n in range(1, self.count + 1)), self.tag + "sw"]:
            subprocess.run(["ip", "netns", "del", name], capture_output=True)
            shutil.rmtree(pathlib.Path("/etc/netns") / name, ignore_errors=True)


def kill(process: subprocess.Popen) -> None:
    if process.poll() is None:
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        process.wait()
