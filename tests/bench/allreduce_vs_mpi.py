#!/usr/bin/env python3
"""all_reduce of muster beside that of Open MPI: two ranks on two cores, in turns, as ratios.

    tests/bench/allreduce_vs_mpi.py build/release/bin [--pairs 7] [--in-place] [--json FILE]

Each pair runs muster, then Open MPI with its default and with copies through shared memory
(`btl_vader_single_copy_mechanism none`); the better of the two counts, size by size. The cores of a
small machine may move between sharing a cache and not, so each pair is tagged near or far by a
probe before it and one after it, and ratios are taken within a mode; a pair whose probes disagree
is left out. Ratios are Open MPI's time over muster's: above 1, muster is faster.
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import sys

NEAR_BELOW_NS = 100.0
SIZES = [8, 4 << 10, 64 << 10, 1 << 20, 16 << 20, 64 << 20]
MPI_MODES = {"default": [], "copy": ["--mca", "btl_vader_single_copy_mechanism", "none"]}
# What the ratios must reach: {mode: {size: ratio}}.
SYMMETRIC_GOALS = {
    "near": {s: 3.0 for s in SIZES if s >= 64 << 10},
    "far": {s: 3.0 if s > 64 << 10 else 2.5 for s in SIZES if s >= 64 << 10},
}
PRIVATE_GOALS = {"near": 0.95, "far": 0.85}
TINY_GOAL = 0.95
FLOOR_GOALS = {16 << 20: None, 64 << 20: 0.85}
RUN_LIMIT_S = 120


def run(command: list[str]) -> str:
    """The output of a command that must end in time; mpirun has been seen to hang."""
    guarded = ["timeout", "-k", "5", str(RUN_LIMIT_S), *command]
    done = subprocess.run(guarded, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: exit code {done.returncode}\n{done.stderr}")
    return done.stdout


def times(output: str) -> dict[tuple[str, int], float]:
    """{(what, bytes): the least of the medians in us} of lines `WHAT BYTES MEDIAN BEST`."""
    result: dict[tuple[str, int], float] = {}
    for line in output.splitlines():
        words = line.split()
        if len(words) != 4:
            continue
        key = (words[0], int(words[1]))
        result[key] = min(float(words[2]), result.get(key, float("inf")))
    return result


def probe_ns(output: str) -> float:
    (line,) = [line for line in output.splitlines() if line.startswith("probe ")]
    return float(line.split()[1])


def mode_of(latency_ns: float) -> str:
    return "near" if latency_ns < NEAR_BELOW_NS else "far"


def measure_pair(folder: pathlib.Path, flags: list[str]) -> dict:
    subject = run([str(folder / "allreduce_bench"), *flags])
    mpirun = ["mpirun", "--allow-run-as-root", "--bind-to", "none", "-n", "2"]
    program = [str(folder / "allreduce_mpi"), *flags]
    peers = [times(run([*mpirun, *options, *program])) for options in MPI_MODES.values()]
    after = run([str(folder / "allreduce_bench"), "--probe"])
    before_ns, after_ns = probe_ns(subject), probe_ns(after)
    modes = {mode_of(before_ns), mode_of(after_ns)}
    ours = times(subject)
    best = {size: min(peer["mpi", size] for peer in peers) for size in SIZES}
    return {
        "mode": modes.pop() if len(modes) == 1 else "mixed",
        "latency_ns": [before_ns, after_ns],
        "mpi_us": best,
        "symmetric_us": {size: ours["symmetric", size] for size in SIZES},
        "private_us": {size: ours["private", size] for size in SIZES},
        "copy_us": {size: ours["copy", size] for size in FLOOR_GOALS},
    }


def verdict(ratio: float, goal: float | None) -> str:
    if goal is None:
        return ""
    return f"{'PASS' if ratio >= goal else 'FAIL'} (>= {goal:g})"


def print_mode(mode: str, pairs: list[dict]) -> bool:
    print(f"\n{mode}: {len(pairs)} pairs, medians; ratio = Open MPI / muster")
    print(f"{'bytes':>9} {'mpi us':>10} {'symm us':>10} {'ratio':>7} {'':14} {'private us':>10} {'ratio':>7}")
    passed = True
    for size in SIZES:

        def median(what: str) -> float:
            return statistics.median(pair[what][size] for pair in pairs)

        def ratio(what: str) -> float:
            return statistics.median(pair["mpi_us"][size] / pair[what][size] for pair in pairs)

        tiny = size == SIZES[0]
        symmetric_goal = TINY_GOAL if tiny else SYMMETRIC_GOALS[mode].get(size)
        verdicts = [
            verdict(ratio("symmetric_us"), symmetric_goal),
            verdict(ratio("private_us"), TINY_GOAL if tiny else PRIVATE_GOALS[mode]),
        ]
        passed = passed and not any(text.startswith("FAIL") for text in verdicts)
        print(
            f"{size:>9} {median('mpi_us'):>10.2f} {median('symmetric_us'):>10.2f} "
            f"{ratio('symmetric_us'):>7.2f} {verdicts[0]:14} {median('private_us'):>10.2f} "
            f"{ratio('private_us'):>7.2f} {verdicts[1]}"
        )
    for size, goal in FLOOR_GOALS.items():
        floor = statistics.median(pair["copy_us"][size] / pair["symmetric_us"][size] for pair in pairs)
        print(f"memory floor / symmetric at {size} bytes: {floor:.2f} {verdict(floor, goal)}")
        passed = passed and (goal is None or floor >= goal)
    return passed


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path, help="where allreduce_bench and allreduce_mpi are")
    parser.add_argument("--pairs", type=int, default=7)
    parser.add_argument("--in-place", action="store_true", help="all_reduce into the input, on both sides")
    parser.add_argument("--json", type=pathlib.Path, help="write every number there")
    options = parser.parse_args()

    pairs = []
    for number in range(options.pairs):
        pairs.append(measure_pair(options.folder, ["--in-place"] if options.in_place else []))
        latencies = "/".join(f"{ns:.0f}" for ns in pairs[-1]["latency_ns"])
        print(f"pair {number + 1}: {pairs[-1]['mode']} ({latencies} ns)", flush=True)
    if options.json:
        options.json.write_text(json.dumps(pairs, indent=1))
    passed = True
    for mode in ("near", "far"):
        seen = [pair for pair in pairs if pair["mode"] == mode]
        if seen:
            passed = print_mode(mode, seen) and passed
        else:
            print(f"\n{mode}: not seen")
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
