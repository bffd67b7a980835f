#!/usr/bin/env python3
"""Collectives of muster beside Open MPI, MPICH and Gloo on this machine, in turns, as ratios.

    tests/bench/collectives_vs_peers.py build/release/bin [--pairs 7] [--ranks 2 4] [--json FILE]
                                        [--torch PYTHON]

Each pair runs muster and then every peer, over shared memory and over TCP on loopback. A ratio is
the peer's time over muster's, the median over pairs: above 1, muster is faster. Ratios are taken
within near and far pairs (the cores of a small machine may move between sharing a cache and not).

Shared memory: Open MPI (the better of its two copy modes) and MPICH. TCP: Open MPI's tcp transport
and Gloo through PyTorch; Debian's MPICH takes shared memory on one host whatever it is told. MPICH
and Gloo are left out, and named, where they are not installed. With more ranks than cores Open MPI
runs with --oversubscribe, and MPICH is left out: it polls without giving its core away, and a call
then takes as long as the scheduler likes.
"""

import argparse
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile

from allreduce_vs_mpi import mode_of, probe_ns

SOURCE = pathlib.Path(__file__).resolve().parents[2]
SIZES = [8, 4 << 10, 64 << 10, 1 << 20, 16 << 20, 64 << 20]
KINDS = ["all_reduce", "all_gather", "reduce_scatter", "broadcast", "send_recv"]
RUN_LIMIT_S = 300
OMPI = ["mpirun.openmpi", "--allow-run-as-root", "--bind-to", "none"]
OMPI_MODES = {
    ("Open MPI", "shm"): [["--mca", "btl", "vader,self"],
                          ["--mca", "btl", "vader,self", "--mca", "btl_vader_single_copy_mechanism", "none"]],
    ("Open MPI", "tcp"): [["--mca", "btl", "tcp,self", "--mca", "pml", "ob1"]],
}
Times = dict[tuple[str, int], float]


def run(command: list[str]) -> str:
    """The output of a command that must end in time; mpirun has been seen to hang."""
    guarded = ["timeout", "-k", "5", str(RUN_LIMIT_S), *command]
    done = subprocess.run(guarded, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}: exit code {done.returncode}\n{done.stderr[-2000:]}")
    return done.stdout


def times(output: str) -> Times:
    lines = [line.split() for line in output.splitlines()]
    return {(words[0], int(words[1])): float(words[2]) for words in lines if len(words) == 4}


def better(one: Times, other: Times) -> Times:
    return {key: min(one.get(key, float("inf")), other.get(key, float("inf"))) for key in one | other}


class Peers:
    """The programs to compare with: what is installed, compiled into `folder`."""

    def __init__(self, folder: pathlib.Path, torch: pathlib.Path):
        self.folder, self.torch, self.absent = folder, torch, []
        self.has_mpich = shutil.which("mpicxx.mpich") is not None
        for name in ["openmpi"] + (["mpich"] if self.has_mpich else []):
            compiler = [f"mpicxx.{name}", "-std=c++20", "-O3", f"-I{SOURCE}"]
            run([*compiler, str(SOURCE / "tests/bench/collectives_mpi.cpp"), "-o", str(folder / name)])
        if not self.has_mpich:
            self.absent.append("MPICH (no mpicxx.mpich: scripts/setup --peers)")
        self.has_gloo = torch.exists()
        if not self.has_gloo:
            self.absent.append(f"Gloo (no {torch}: scripts/setup --oracles)")

    def measure(self, backend: str, ranks: int) -> dict[str, Times]:
        n = ["-n", str(ranks)]
        is_crowded = ranks > os.cpu_count()
        crowded = ["--oversubscribe"] if is_crowded else []
        result: dict[str, Times] = {"Open MPI": {}}
        for mode in OMPI_MODES["Open MPI", backend]:
            output = run([*OMPI, *crowded, *mode, *n, str(self.folder / "openmpi")])
            result["Open MPI"] = better(result["Open MPI"], times(output))
        if self.has_mpich and backend == "shm" and not is_crowded:
            command = ["mpirun.mpich", *n, str(self.folder / "mpich")]
            result["MPICH"] = times(run(command))
        if self.has_gloo and backend == "tcp":
            script = SOURCE / "tests/bench/collectives_gloo.py"
            result["Gloo"] = times(run([str(self.torch), str(script), str(ranks)]))
        return result


def measure_pair(binaries: pathlib.Path, peers: Peers, backend: str, ranks: int) -> dict:
    probe = [str(binaries / "allreduce_bench"), "--probe"]
    before = mode_of(probe_ns(run(probe)))
    ours = times(run([str(binaries / "collectives_bench"), backend, str(ranks)]))
    theirs = peers.measure(backend, ranks)
    after = mode_of(probe_ns(run(probe)))
    return {"mode": before if before == after else "mixed", "muster": ours, "peers": theirs}


def ratio_rows(pairs: list[dict]):
    """(what, bytes, peer, muster's us, the peer's us, ratio), medians."""
    for what in ["symmetric", *KINDS]:
        theirs = "all_reduce" if what == "symmetric" else what
        for size in SIZES:
            for peer in pairs[0]["peers"]:
                both = [(p["muster"].get((what, size)), p["peers"][peer].get((theirs, size))) for p in pairs]
                both = [(ours, other) for ours, other in both if ours and other]
                if both:
                    ratio = statistics.median(other / ours for ours, other in both)
                    yield what, size, peer, *(statistics.median(side) for side in zip(*both)), ratio


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path, help="where collectives_bench is")
    parser.add_argument("--pairs", type=int, default=7)
    parser.add_argument("--ranks", type=int, nargs="+", default=[2, 4])
    parser.add_argument("--backends", nargs="+", default=["shm", "tcp"])
    parser.add_argument("--json", type=pathlib.Path, help="write every ratio there")
    parser.add_argument("--torch", type=pathlib.Path, default=SOURCE / ".venv/bin/python")
    options = parser.parse_args()

    rows = []
    with tempfile.TemporaryDirectory() as folder:
        peers = Peers(pathlib.Path(folder), options.torch)
        for backend in options.backends:
            for ranks in options.ranks:
                pairs = [measure_pair(options.folder, peers, backend, ranks) for _ in range(options.pairs)]
                for mode in ("near", "far"):
                    seen = [pair for pair in pairs if pair["mode"] == mode]
                    print(f"\n{backend}, {ranks} ranks, {mode}: {len(seen) or 'not seen; 0'} of {len(pairs)} pairs")
                    for what, size, peer, our_us, their_us, ratio in ratio_rows(seen) if seen else ():
                        print(f"{what:>14} {size:>9} {our_us:>11.2f} us, {peer:>8} {their_us:>11.2f} us: {ratio:6.2f}x")
                        rows.append({"backend": backend, "ranks": ranks, "mode": mode, "what": what, "bytes": size,
                                     "peer": peer, "ratio": ratio})  # fmt: skip
    for name in peers.absent:
        print(f"not compared with {name}")
    if options.json:
        options.json.write_text(json.dumps({"rows": rows, "absent": peers.absent}, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
