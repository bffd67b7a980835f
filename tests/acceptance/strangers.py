"""What the program writes into a pipe, and who may talk to a running job."""

import contextlib
import os
import pathlib
import re
import signal
import socket
import time

import lib
from cases import TINY, Table, files_left, last_line


def piped_output(table: Table) -> None:
    place = table.place("piped")
    lib.make_job(place, TINY)
    run = lib.run(["bash", "-c", f"{lib.MUSTER} train job.toml -n 2 2>&1 | cat -v"], place, timeout_s=60)
    found = re.findall(r"\^M|\^\[", run.output)
    table.row(
        "train | cat",
        run.code == 0 and not found and len(run.output) > 100,
        f"{len(found)} returns or escape codes in {len(run.output)} bytes",
    )


def listening_ports(pid: int) -> list[int]:
    inodes = set()
    for fd in pathlib.Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(OSError):
            found = re.fullmatch(r"socket:\[(\d+)\]", os.readlink(fd))
            inodes |= {found[1]} if found else set()
    rows = [text.split() for text in pathlib.Path(f"/proc/{pid}/net/tcp").read_text().splitlines()[1:]]
    return [int(row[1].split(":")[1], 16) for row in rows if row[3] == "0A" and row[9] in inodes]


def strangers(table: Table) -> None:
    """Programs that do not know the secret, at the store of a running job."""
    place = table.place("secret")
    job = lib.make_job(place, {"training": {"steps": 100000}})
    process = lib.start(lib.train_command(job, 2), place)
    started = time.monotonic()
    lib.wait_for(lambda: lib.steps_done(place / "out") >= 2, 30, process)
    ports = listening_ports(process.pid)
    if not ports:
        table.row("wrong or missing secret", False, "the launcher listens nowhere")
        return
    port = ports[0]
    with socket.create_connection(("127.0.0.1", port), 5) as stranger:
        stranger.settimeout(20)
        with contextlib.suppress(ConnectionError):
            stranger.sendall(b"GET / HTTP/1.0\r\n\r\n" + bytes(256))
        with contextlib.suppress(ConnectionError):
            answer = stranger.recv(4096)
            while answer and stranger.recv(4096):
                pass
    table.row("a stranger at the store", True, "is cut off")

    wrong = place / "wrong-secret"
    wrong.write_text("0" * 64 + "\n")
    wrong.chmod(0o600)
    identity = {"RANK": "1", "WORLD_SIZE": "2", "LOCAL_RANK": "1", "LOCAL_WORLD_SIZE": "2"}
    identity |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    for name, extra in (("wrong secret", {"MUSTER_SECRET_FILE": str(wrong)}), ("missing secret", {})):
        other = lib.make_job(table.place(name), TINY)
        run = lib.train(other, None, env={**identity, **extra}, timeout_s=60)
        is_good = run.code != 0 and "secret" in run.output.lower() and not files_left(other.parent)
        table.row(name, is_good, f"exit {run.code}, {last_line(run)!r}")
    still_up = process.poll() is None
    if still_up:
        os.killpg(process.pid, signal.SIGINT)
    run = lib.finish(process, started, 60)
    table.row(
        "the job itself",
        still_up and run.code == 75,
        "was not disturbed" if still_up else f"ended with {run.code}",
    )


GROUPS = (piped_output, strangers)
