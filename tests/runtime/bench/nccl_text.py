"""Reads the text output of nccl-tests 2.x, as scripts in the field do: by words and columns."""

import dataclasses
import re

AVERAGE = re.compile(r"^# Avg bus bandwidth\s*:\s*(\S+)\s*(OK|FAILED)?\s*$", re.MULTILINE)
OUT_OF_BOUNDS = re.compile(r"^# Out of bounds values\s*:\s*(\d+)\s+(OK|FAILED)\s*$", re.MULTILINE)
DEVICE = re.compile(
    r"^#\s+Rank\s+(\d+)\s+Group\s+(\d+)\s+Pid\s+(\d+)\s+on\s+(\S+)\s+device\s+(\d+)\s+\[([^\]]*)\]\s+(.+)$",
    re.MULTILINE,
)
OPTIONS = re.compile(
    r"^# nThread (\d+) nGpus (\d+) minBytes (\d+) maxBytes (\d+) step: (\d+)\((factor|bytes)\) "
    r"warmup iters: (\d+) iters: (\d+) agg iters: (\d+) validation: (\d+) graph: (\d+)",
    re.MULTILINE,
)
NAMES = "size count type redop root time algbw busbw #wrong time algbw busbw #wrong".split()


@dataclasses.dataclass
class Half:
    time_us: float
    algbw: float
    busbw: float
    wrong: int | None


@dataclasses.dataclass
class Row:
    size: int
    count: int
    type: str
    redop: str
    root: int
    out_of_place: Half
    in_place: Half


@dataclasses.dataclass
class Run:
    options: tuple[str, ...]
    devices: list[tuple[str, ...]]
    rows: list[Row]
    out_of_bounds: int
    average: float


def read_half(words: list[str]) -> Half:
    time, algbw, busbw, wrong = words
    return Half(float(time), float(algbw), float(busbw), None if wrong == "N/A" else int(float(wrong)))


def read_row(line: str) -> Row:
    """Columns 1 to 13; what stands right of them is not ours to know."""
    words = line.split()
    return Row(
        int(words[0]), int(words[1]), words[2], words[3], int(words[4]),
        read_half(words[5:9]), read_half(words[9:13]),
    )  # fmt: skip


def read(text: str) -> Run:
    """Raises ValueError where a part is missing or malformed."""
    options, average, bounds = OPTIONS.search(text), AVERAGE.search(text), OUT_OF_BOUNDS.search(text)
    titles = [line.lstrip("#").split() for line in text.splitlines() if line.startswith("#")]
    if not (options and average and bounds) or not any(t[: len(NAMES)] == NAMES for t in titles):
        raise ValueError("no options, titles, average or check in the output")
    rows = [read_row(line) for line in text.splitlines() if re.match(r"\s*\d", line)]
    return Run(options.groups(), DEVICE.findall(text), rows, int(bounds[1]), float(average[1]))
