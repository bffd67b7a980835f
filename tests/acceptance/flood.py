"""Strangers at the doors of a job: garbage, wrong secrets, and connections that say nothing.

As a program: flood.py COUNT PORT...  connects that often, to the ports in turn, and prints
`made N failed M`. A process of its own, so that it takes no time of the one that measures.
"""

import collections
import random
import socket
import sys
import threading

THREADS, HALF_OPEN, TIMEOUT_S = 8, 40, 5.0  # half-open ones that a thread keeps at a time
MAGIC = b"MUSTER\0\1"
GARBAGE = (b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", b"\xff" * 4096, b"\0" * 48, MAGIC[:4] + b"x" * 60, b"\x16\x03\x01\x02\x00")


def speak_wrongly(stranger: socket.socket, source: random.Random) -> None:
    """A whole handshake by someone who does not know the secret."""
    stranger.sendall(MAGIC + source.randbytes(32))
    challenge = b""
    while len(challenge) < 64 and (part := stranger.recv(64 - len(challenge))):
        challenge += part
    stranger.sendall(b"\1" + source.randbytes(32))
    stranger.recv(1)


class Counts:
    def __init__(self):
        self.lock = threading.Lock()
        self.made = self.failed = 0

    def add(self, is_made: bool) -> None:
        with self.lock:
            self.made += is_made
            self.failed += not is_made


def flood(number: int, count: int, ports: list[int], counts: Counts) -> None:
    source = random.Random(number)
    silent: collections.deque[socket.socket] = collections.deque()
    for i in range(count):
        try:
            stranger = socket.create_connection(("127.0.0.1", ports[i % len(ports)]), TIMEOUT_S)
        except OSError:
            counts.add(False)
            continue
        counts.add(True)
        stranger.settimeout(TIMEOUT_S)
        kind = source.randrange(3)
        try:
            if kind == 0:
                stranger.sendall(source.choice(GARBAGE))
            elif kind == 1:
                speak_wrongly(stranger, source)
            else:
                stranger.sendall(MAGIC[: source.randrange(9)])
                silent.append(stranger)
                stranger = silent.popleft() if len(silent) > HALF_OPEN else None
        except OSError:
            pass  # cut off, which is what a stranger deserves
        if stranger is not None:
            stranger.close()


def main() -> None:
    count, ports = int(sys.argv[1]), list(map(int, sys.argv[2:]))
    counts = Counts()
    threads = [
        threading.Thread(target=flood, args=(number, count // THREADS, ports, counts)) for number in range(THREADS)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(f"made {counts.made} failed {counts.failed}")


if __name__ == "__main__":
    main()
