#!/usr/bin/env python3
"""Messages and all_reduce over TCP beside Open MPI's: two ranks on loopback, in turns, as ratios.

    tests/bench/tcp_vs_mpi.py build/release/bin [--pairs 5] [--json FILE]

Each pair runs muster, then Open MPI with nothing but its tcp transport. Ratios are Open MPI's time
over muster's, the median over pairs: above 1, muster is faster.
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import sys

SIZES = [8, 4 << 10, 64 << 10, 1 << 20, 16 << 20, 64 << 20]
KINDS = ["send_recv", "all_reduce"]
# What the ratios must reach.
GOALS = {size: 0.95 for size in SIZES} | {8: 1.5, 64 << 20: 1.5}
MPIRUN = ["mpirun", "--allow-run-as-root", "--bind-to", "none", "-n", "2"]
TCP_ALONE = ["--mca", "btl", "tcp,self", "--mca", "pml", "ob1"]
RUN_LIMIT_S = 300


def run(command: list[str]) -> dict[tuple[str, int], float]:
    """{(what, bytes): median in us} of a command that must end in time."""
    guarded = ["timeout", "-k", "5", str(RUN_LIMIT_S), *command]
    done = subprocess.run(guarded, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: exit code {done.returncode}\n{done.stderr}")
    lines = [line.split() for line in done.stdout.splitlines()]
    return {(words[0], int(words[1])): float(words[2]) for words in lines if len(words) == 4}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path, help="where tcp_bench and tcp_mpi are")
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--json", type=pathlib.Path, help="write every number there")
    options = parser.parse_args()

    pairs = []
    for _ in range(options.pairs):
        ours = run([str(options.folder / "tcp_bench")])
        theirs = run([*MPIRUN, *TCP_ALONE, str(options.folder / "tcp_mpi")])
        pairs.append((ours, theirs))
    if options.json:
        rows = [[{f"{kind} {size}": us for (kind, size), us in side.items()} for side in pair] for pair in pairs]
        options.json.write_text(json.dumps(rows, indent=1))

    passed = True
    print(f"{'what':>10} {'bytes':>9} {'mpi us':>10} {'muster us':>10} {'ratio':>7}   ({options.pairs} pairs)")
    for kind in KINDS:
        for size in SIZES:
            key = (kind, size)
            ratio = statistics.median(theirs[key] / ours[key] for ours, theirs in pairs)
            our_us = statistics.median(ours[key] for ours, _ in pairs)
            their_us = statistics.median(theirs[key] for _, theirs in pairs)
            is_reached = ratio >= GOALS[size]
            passed = passed and is_reached
            verdict = f"{'PASS' if is_reached else 'FAIL'} (>= {GOALS[size]:g})"
            print(f"{kind:>10} {size:>9} {their_us:>10.1f} {our_us:>10.1f} {ratio:>7.2f}   {verdict}")
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
