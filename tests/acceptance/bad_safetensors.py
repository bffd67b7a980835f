"""Broken safetensors files, each in one way only, from a good one."""

import json
import struct


def split(good: bytes) -> tuple[dict, bytes]:
    (length,) = struct.unpack("<Q", good[:8])
    return json.loads(good[8 : 8 + length]), good[8 + length :]


def joined(header: dict | str, data: bytes) -> bytes:
    text = header if isinstance(header, str) else json.dumps(header, separators=(",", ":"))
    raw = text.encode()
    raw += b" " * (-len(raw) % 8)
    return struct.pack("<Q", len(raw)) + raw + data


def variants(good: bytes) -> dict[str, tuple[bytes, str]]:
    """Name to contents and a pattern that its message must match."""
    header, data = split(good)
    names = sorted((n for n in header if n != "__metadata__"), key=lambda n: header[n]["data_offsets"][0])
    first, second, last = names[0], names[1], names[-1]

    def changed(name: str, **fields) -> dict:
        copy = json.loads(json.dumps(header))
        copy[name].update(fields)
        return copy

    begin, end = header[second]["data_offsets"]
    last_begin, last_end = header[last]["data_offsets"]
    huge = [2**31, 2**31, 2**31]
    duplicate = json.dumps(header)[:-1] + ", " + json.dumps({first: header[first]})[1:]
    hole = json.loads(json.dumps(header))
    hole[last]["data_offsets"] = [last_begin + 8, last_end + 8]
    header_end = 8 + struct.unpack("<Q", good[:8])[0]
    return {
        "0 bytes": (b"", r"\b0\b"),
        "7 bytes": (good[:7], r"\b7\b"),
        "header of 2^63 bytes": (struct.pack("<Q", 2**63) + good[8:], r"9223372036854775808|header"),
        "header longer than the file": (struct.pack("<Q", len(good)) + good[8:], str(len(good))),
        "header cut": (good[: header_end // 2], r"header"),
        "header of 100,000,001 bytes": (struct.pack("<Q", 100_000_001) + good[8:], r"100[,_]?000[,_]?00[01]"),
        "overlap": (joined(changed(second, data_offsets=[begin - 8, end - 8]), data), second),
        "hole": (joined(hole, data + b"\0" * 8), last),
        "trailing byte": (good + b"\0", r"\b1\b|trailing|" + str(len(good) + 1)),
        "cut data": (good[:-1], "cut off"),
        "duplicate name": (joined(duplicate, data), first),
        "unknown dtype": (joined(changed(second, dtype="F12"), data), "F12"),
        "shape overflows": (joined(changed(second, shape=huge), data), second),
        "shape against range": (joined(changed(second, shape=[1]), data), second),
    }
