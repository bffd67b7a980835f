"""Field cases of sections B and C: collectives and transport; probe, planner, benchmark."""

import json
import os
import pathlib
import re
import subprocess
import time

import hosts
import lib
from cases import TINY, Table, last_line, refuse_job

FIELD = lib.BUILD / "bin/muster_field_rank"
PLANT = lib.BUILD / "bin/muster_plant_rank"
BENCH = [lib.MUSTER, "bench"]
MIB = 1 << 20


def field(table: Table, case: str, backend: str, ranks: int = 3, extra: dict | None = None) -> list[lib.Run]:
    settings = {"MUSTER_FIELD_CASE": case, "MUSTER_FIELD_BACKEND": backend, **(extra or {})}
    return lib.run_by_hand([FIELD], table.folder, ranks, settings, 60)


def are_right(runs: list[lib.Run]) -> bool:
    return all(run.code == 0 and re.fullmatch(r"\d+ calls right.*", run.output.strip()) for run in runs)


def told(runs: list[lib.Run]) -> str:
    return " / ".join(sorted({f"exit {run.code}, {run.output.strip()[:240]}" for run in runs}))


def bench(table: Table, *arguments, env: dict | None = None, timeout_s: float = 300) -> lib.Run:
    return lib.run([*BENCH, *map(str, arguments)], table.folder, env, timeout_s)


def case_21(table: Table) -> None:
    for backend in ("shm", "tcp"):
        runs = field(table, "zeros", backend)
        table.row(f"21 no elements, lists with none, over {backend}", are_right(runs), told(runs))
        run = bench(table, "all", "--ranks", 3, "--backend", backend, "-b", 0, "-e", 0, "-n", 2)
        is_good = run.code == 0 and run.output.count("Out of bounds values : 0 OK") == 10
        table.row(f"21 bench of 0 B over {backend}", is_good, f"exit {run.code}, {run.output.count('concluded')} operations")


def case_23(table: Table) -> None:
    for backend in ("shm", "tcp"):
        settings = {"MUSTER_PLANT": "1:12:order", "MUSTER_PLANT_BACKEND": backend, "MUSTER_PLANT_BYTES": "256"}
        runs = lib.run_by_hand([PLANT], table.folder, 2, settings, 60)
        pattern = r"seq 12: rank 0 .*all_reduce f32\[64\].* rank 1 .*all_gather f32\[64\]"
        is_good = all(run.code == 3 and re.search(pattern, run.output) for run in runs)
        table.row(f"23 other order over {backend}, on both ranks", is_good, told(runs))


def case_25(table: Table) -> None:
    for backend in ("auto", "self", "shm", "tcp"):
        runs = field(table, "average", backend, ranks=1)
        table.row(f"25 average of one rank, back end {backend}", are_right(runs), told(runs))


def case_27(table: Table) -> None:
    """Every algorithm of all_reduce, twice: the bits of all ranks' sums are those of each other."""
    run = bench(table, "all_reduce", "--ranks", 2, "--backend", "tcp", "--algo", "all_reduce=none")
    found = re.search(r"(?:it has|there are) ([\w, ]+)", run.output)
    names = found[1].split(", ") if found else []
    kinds = [("shm", {})] + [("tcp", {"MUSTER_ALGO": f"all_reduce={name}"}) for name in names]
    for backend, choice in kinds:
        said = {run.output.strip() for _ in range(2) for run in field(table, "hash", backend, 3, choice)}
        is_good = len(said) == 1 and re.fullmatch(r"6 calls right, hash [0-9a-f]{16}", next(iter(said))) is not None
        table.row(f"27 {backend} {choice.get('MUSTER_ALGO', '')}: bits of 3 ranks, twice", is_good, " / ".join(sorted(said))[:300])
    table.row("27 algorithms tried", len(names) >= 4, f"{names}")


def case_29(table: Table) -> None:
    """v0 and v0.5 both lead somewhere, docker0 nowhere, v1 is down."""
    with hosts.Hosts(table.folder, 2, None) as cluster:
        for number in (1, 2):
            name = cluster.name(number)
            cluster.bridge(number, "docker0", "172.17.0.1/16")
            hosts.ip("-n", name, "link", "set", "eth0", "down")
            hosts.ip("-n", name, "link", "set", "eth0", "name", "v0")
            hosts.ip("-n", name, "link", "set", "v0", "up")
            hosts.ip("-n", name, "link", "add", "v1", "type", "bridge")
            hosts.ip("-n", name, "addr", "add", f"10.99.0.{number}/24", "dev", "v1")
        first, second = cluster.name(1), cluster.name(2)
        hosts.ip("-n", first, "link", "add", "v0.5", "type", "veth", "peer", "name", "v0.5", "netns", second)
        for number, name in enumerate((first, second), start=1):
            hosts.ip("-n", name, "addr", "add", f"10.88.0.{number}/24", "dev", "v0.5")
            hosts.ip("-n", name, "link", "set", "v0.5", "up")
        expected = {"v0": "10.77.0", "v0.5": "10.88.0", "10.88.0.0/16": "10.88.0", "^docker0,v0": "10.88.0", "^docker0,v0.5": "10.77.0"}
        for choice, network in expected.items():
            codes, output, used = over(cluster, choice)
            table.row(f"29 MUSTER_INTERFACE={choice}", codes == [0, 0] and used == {network}, f"exit {codes}, data over {sorted(used)}")
        codes, output, used = over(cluster, None)
        table.row("29 left to itself", codes == [0, 0] and "172.17.0" not in used, f"exit {codes}, data over {sorted(used)}")
        codes, output, _ = over(cluster, "v")
        is_good = all(codes) and all(re.search(rf"\b{name} \(", output) for name in ("v0", "v0.5", "docker0"))
        table.row("29 unknown name lists what exists", is_good, f"exit {codes}, {last_text(output)}")
        codes, output, _ = over(cluster, "v1")
        is_good = all(codes) and re.search(r'down or has no address is "v1"', output) is not None
        table.row("29 an interface that is down", is_good, f"exit {codes}, {last_text(output)}")


def last_text(output: str) -> str:
    return output.strip().splitlines()[-1][:300] if output.strip() else "(nothing)"


def over(cluster: hosts.Hosts, choice: str | None) -> tuple[list[int], str, set[str]]:
    """A short bench between two hosts: exit codes, words of rank 0, networks of the data connections."""
    extra = {"MUSTER_INTERFACE": choice} if choice else {}
    command = [*BENCH, "all_reduce", "--backend", "tcp", "-b", "8", "-e", "1M", "-f", "8", "-n", "1500"]
    ranks = cluster.start_ranks(command, extra=extra)
    store = f"{cluster.address(1)}:{29500 + os.getpid() % 1000}"
    used: set[str] = set()
    ends = time.monotonic() + 60
    while any(rank.poll() is None for rank in ranks) and time.monotonic() < ends:
        used |= networks(cluster, store)
        time.sleep(0.05)
    for rank in ranks:
        hosts.kill(rank)
    return [rank.returncode for rank in ranks], "\n".join(rank.stdout.read() for rank in ranks), used


def networks(cluster: hosts.Hosts, store: str) -> set[str]:
    """Of the connections of host 2 but that to the store, whose address is given to the ranks."""
    command = ["ip", "netns", "exec", cluster.name(2), "ss", "-Htn", "state", "established"]
    rows = subprocess.run(command, capture_output=True, text=True).stdout.splitlines()
    ends = [row.split()[-2:] for row in rows]
    return {local.rpartition(".")[0] for local, peer in ends if peer != store and not local.startswith("127.")}


def case_31(table: Table) -> None:
    """Rank 0 is 5 s late, the limit is 2 s."""
    for backend in ("shm", "tcp"):
        runs = field(table, "busy", backend)
        table.row(f"31 late with signs of life over {backend}", are_right(runs), told(runs))
        runs = field(table, "silent", backend)
        seconds = [float(found[1]) for run in runs if (found := re.search(r"failed after ([\d.]+) s: .*rank 0", run.output))]
        is_good = len(seconds) >= 2 and max(seconds[:2], default=9) <= 6 and min(seconds) <= 2.5
        table.row(f"31 late without, over {backend}", is_good, f"failed after {seconds} s; {told(runs)[:200]}")


def case_33(table: Table) -> None:
    """Every power of two, and around what the back ends cut data into."""
    for backend in ("shm", "tcp"):
        sweep = bench(table, "all_reduce", "--ranks", 2, "--backend", backend, "-b", 1, "-e", "64M", "-f", 2, "-d", "int8", "-n", 1, "-w", 0)
        wrong = None if sweep.code else "Out of bounds values : 0 OK" in sweep.output
        bad = [] if wrong else [f"sweep: exit {sweep.code} {last_line(sweep)}"]
        pieces = [2048, 4096, 8192, 32 << 10, 64 << 10, 128 << 10, 256 << 10, 512 << 10, MIB, 4 * MIB]
        for operation in ("all_reduce", "all_gather", "reduce_scatter", "broadcast"):
            for piece in pieces:
                run = bench(table, operation, "--ranks", 2, "--backend", backend, "-b", piece - 2, "-e", piece + 2, "-i", 1, "-d", "int8", "-n", 1, "-w", 0)
                if run.code != 0 or "Out of bounds values : 0 OK" not in run.output:
                    bad.append(f"{operation} around {piece}: exit {run.code} {last_line(run)}")
        table.row(f"33 1 B to 64 MiB and +-2 B around {len(pieces)} sizes of pieces over {backend}", not bad, "; ".join(bad[:3]) or "0 wrong")


def later_parallelism(table: Table) -> None:
    """35, 37 and 39 need tensor, pipeline and sharded parallelism: asking for them is refused."""
    for number, key in ((35, "tensor_parallel_degree"), (37, "pipeline_parallel_degree"), (39, "zero_stage")):
        refuse_job(table, f"{number} [parallelism] {key} = 2 before there is one", {"parallelism": {key: 2}}, ["parallelism"])


def case_41(table: Table) -> None:
    run = bench(table, "all_reduce", "--ranks", 2, "-b", 8, "-e", 8, "--fit")
    table.row("41 a fit of 8 B alone", run.code != 0 and "sizes" in run.output, f"exit {run.code}, {last_line(run)}")
    report = table.folder / "fit.json"
    run = bench(table, "all_reduce", "--ranks", 2, "--backend", "tcp", "-b", 4, "-e", 64, "-f", 2, "-n", 200, "--fit", "--json", report)
    fits = json.loads(report.read_text())["muster"]["fits"] if run.code == 0 else [{}]
    line = re.search(r"# Fit .*", run.output)
    is_good = run.code == 0 and line is not None and "latency alone" in line[0] and "beta_ns_per_kib" not in fits[0]
    table.row("41 a fit of sizes that are latency", is_good, f"exit {run.code}, {line[0] if line else last_line(run)}")
    run = bench(table, "all_reduce", "--ranks", 2, "--backend", "tcp", "-b", 8, "-e", "16M", "-f", 8, "--fit")
    line = re.search(r"# Fit .*", run.output)
    table.row("41 a fit of small and large sizes", line is not None and "GB/s" in line[0], line[0] if line else last_line(run))


def decided(run: lib.Run) -> str:
    found = re.search(r"^.*data parallel.*$", run.output, re.MULTILINE)
    return re.sub(r"[\d.]+ (s|ms|us|tokens/s)\b", "T", found[0]) if found else ""


def case_43(table: Table) -> None:
    """A slow link and a busy processor: the link is named, the plan stays.

    There is one plan so far, data parallel; what could flip is how the batch is cut.
    """
    job = lib.make_job(table.place("43 plan"), TINY)
    plans = set()
    for is_busy in (False, True, False, True):
        busy = [lib.start(["sh", "-c", "while :; do :; done"], job.parent)] if is_busy else []
        run = lib.run([lib.MUSTER, "plan", job, "-n", "2"], job.parent, timeout_s=60)
        for process in busy:
            hosts.kill(process)
        plans.add(decided(run) if run.code == 0 else f"exit {run.code}")
    table.row("43 plan with and without a busy processor", len(plans) == 1 and "" not in plans, " | ".join(sorted(plans))[:300])
    with hosts.Hosts(table.folder, 4) as cluster:
        cluster.limit(3, "100mbit")
        named = []
        for _ in range(5):
            noise = cluster.start(2, ["timeout", "0.5", "sh", "-c", "while :; do :; done"], {})
            codes, outputs = cluster.run_ranks([lib.MUSTER, "probe", "--fresh", "--out", table.folder / "cluster.toml"])
            findings = re.findall(r"^slow \w+: .*", outputs[0], re.MULTILINE)
            named.append({name.split(": ")[1] for name in findings})
            if named[-1] != {"h3"}:
                print(f"  named: {findings}, exit {codes}")
            hosts.kill(noise)
        has_table = re.search(r"latency.*bandwidth", outputs[0], re.DOTALL) is not None
    table.row("43 slow host beside a busy processor, 5 probes", named == [{"h3"}] * 5 and has_table, f"named {named}")


GROUPS = [case_21, case_23, case_25, case_27, case_29, case_31, case_33, later_parallelism, case_41, case_43]
