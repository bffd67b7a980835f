"""Field cases of sections E, F and H: numerics, checkpoints and shutdown, operations."""

import os
import re
import shutil
import signal
import time

import bad_safetensors
import lib
from cases import TINY, Table, last_line, refused

FIXTURE = lib.REPOSITORY / "tests/fixtures/parity/tiny-llama"


def case_55(table: Table) -> None:
    place = table.place("55")
    scale = {"init": 1e30, "min": 1e30, "max_skips_at_min": 5}
    job = lib.make_job(place, {"training": {"steps": 50, "precision": "fp16"}, "loss_scale": scale})
    run = lib.train(job, timeout_s=60)
    done = lib.steps_done(place / "out")
    names = re.search(r"(model\.\S+|lm_head\S*)", run.output)
    advice = re.search("bf16", run.output)
    is_good = run.code not in (0, 2) and done <= 6 and names is not None and advice is not None
    table.row(
        "55 scale at its minimum for ever", is_good, f"exit {run.code} after {done} steps, {last_line(run)!r}"
    )


def case_57_59(table: Table) -> None:
    """Documents of lengths 1 and 63 by turns; whatever the split, the same loss and gradient norm."""
    rows = {}
    for ranks, micro_batch in ((1, 8), (1, 1), (2, 2), (4, 1)):
        place = table.place(f"57 {ranks} {micro_batch}")
        sizes = {"training": {"steps": 3, "local_batch_size": micro_batch}}
        job = lib.write_job(place, lib.merged(lib.BASE_JOB, sizes), "data.jsonl")
        document = lambda i: "abcdefghijklmnopqrstuvwxyz"[i % 26] * (1 if i % 2 else 63)
        (place / "data.jsonl").write_text("".join(f'{{"text": "{document(i)}"}}\n' for i in range(600)))
        lib.train_well(job, ranks)
        rows[ranks, micro_batch] = lib.metrics(place / "out")[1]
    first = rows[1, 8]
    for number, field, limit in ((57, "loss", 1e-6), (59, "grad_norm", 1e-5)):
        error = max(abs(row[field] / first[field] - 1) for row in rows.values())
        table.row(
            f"{number} {field} over ranks and accumulation", error <= limit, f"{error:.1e} (<= {limit:.0e})"
        )


# F: checkpoint, resume, shutdown ------------------------------------------------------------------


def case_63(table: Table) -> None:
    """The disk fills while the job runs: the save fails on all ranks, the old checkpoint stays."""
    if not lib.IS_ROOT:
        table.row("63 disk fills at a save", False, "not measured: mounting a small file system needs root")
        return
    place = table.place("63 fills")
    job = lib.make_job(
        place, {"training": {"steps": 400}, "checkpoint": {"interval": 100, "keep_latest_k": 2}}
    )
    (place / "out").mkdir()
    script = (
        f"mount -t tmpfs -o size=32M tmpfs out && {{ {lib.MUSTER} train job.toml -n 2 & }} && "
        "until [ -e out/checkpoints/step-100/DONE ] || ! kill -0 $!; do sleep 0.01; done;"
        "dd if=/dev/zero of=out/ballast bs=64k 2>/dev/null; wait $!; code=$?;"
        "rm out/ballast; echo kept: $(ls -d out/checkpoints/step-*/DONE); exit $code"
    )
    run = lib.run(["unshare", "--mount", "bash", "-c", script], place, timeout_s=120)
    kept = re.search(r"kept: (.*)", run.output)
    says = re.search(r"[^\n]*(No space|no space|ENOSPC|disk is full)[^\n]*", run.output)
    is_good = says is not None and kept is not None and "step-100/DONE" in kept[1]
    table.row(
        "63 disk fills at a save",
        is_good,
        f"exit {run.code}, {says[0].strip()[:160] if says else last_line(run)!r}, {kept[0] if kept else 'nothing kept'}",
    )


def case_65(table: Table) -> None:
    sizes = {"training": {"steps": 10, "global_batch_size": 12}}
    straight = lib.make_job(table.place("65 straight"), sizes)
    lib.train_well(straight, 2)
    expected = lib.losses(straight.parent / "out")
    for ranks in (1, 3, 4):
        job = lib.make_job(table.place(f"65 {ranks}"), sizes, {"checkpoint": {"resume": "auto"}})
        # The schedule is constant, so stopping at 5 and going on to 10 is the same run.
        lib.train_well(job, 2, ["training.steps=5"])
        lib.train_well(job, ranks)
        error = lib.largest_difference(lib.losses(job.parent / "out"), expected)
        table.row(f"65 saved on 2, loaded on {ranks}", error <= 1e-6, f"{error:.1e} (<= 1e-06)")


def case_67(table: Table) -> None:
    good = (FIXTURE / "model.safetensors").read_bytes()
    messages = set()
    cases = bad_safetensors.variants(good)
    for name, (data, pattern) in cases.items():
        place = table.place(f"67 {name}")
        shutil.copytree(FIXTURE, place / "model", ignore=shutil.ignore_patterns("expected*"))
        (place / "model/model.safetensors").write_bytes(data)
        sections = lib.merged(lib.BASE_JOB, TINY)
        sections["model"] = {"path": "model"}
        lib.make_text(place / "train.txt")
        job = lib.write_job(place, sections)
        run = lib.train(job, timeout_s=60)
        refused(table, f"67 {name}", run, [r"model\.safetensors", pattern], place)
        messages.add(last_line(run).rpartition("a safetensors file: ")[2])
    table.row("67 distinct messages", len(messages) == len(cases), f"{len(messages)} of {len(cases)}")


def term_one_rank(table: Table, moment: str, is_reached, sections: dict) -> None:
    place = table.place(f"69 {moment}")
    job = lib.make_job(place, {"training": {"steps": 100000}}, sections)
    process = lib.start(lib.train_command(job, 2), place)
    started = time.monotonic()
    if not lib.wait_for(lambda: len(lib.rank_processes()) == 2 and is_reached(place / "out"), 30, process):
        table.row(f"69 SIGTERM to rank 1, {moment}", False, "the moment was not reached")
        lib.end_marked()
        lib.finish(process, started, 10)
        return
    started = time.monotonic()
    os.kill(lib.rank_processes()[1], signal.SIGTERM)
    run = lib.finish(process, started, 60)
    saved = lib.last_checkpoint(place / "out")
    is_good = run.code == 75 and run.seconds <= 10 and (saved is not None or moment == "start")
    table.row(
        f"69 SIGTERM to rank 1, {moment}",
        is_good,
        f"exit {run.code} in {run.seconds:.1f} s, {saved.name if saved else 'no checkpoint'}",
    )


def case_69(table: Table) -> None:
    slow_probe = {"probe": {"budget_seconds": 1.0}}
    term_one_rank(table, "start", lambda out: True, slow_probe)
    term_one_rank(table, "probe", lambda out: time.sleep(0.3) is None, slow_probe)
    term_one_rank(table, "step", lambda out: lib.steps_done(out) >= 3, {})
    evaluation = {"validation": {"split": 0.3, "interval": 1}}
    term_one_rank(table, "validation", lambda out: lib.steps_done(out) >= 2, evaluation)
    save = {"checkpoint": {"interval": 1}}
    term_one_rank(table, "save", lambda out: any((out / lib.CHECKPOINTS).glob("step-*")), save)


def second_signal(table: Table) -> None:
    """Steps so long that the first signal cannot be honoured soon; the second ends it at once."""
    place = table.place("69 second signal")
    big = {"model": {"hidden": 512, "layers": 8, "ffn": 1408}, "data": {"seq_len": 256}}
    job = lib.make_job(
        place, big, {"training": {"steps": 1000, "global_batch_size": 256, "local_batch_size": 1}}
    )
    lib.make_text(place / "train.txt", documents=3000)
    process = lib.start(lib.train_command(job, 2), place)
    lib.wait_for(lambda: len(lib.rank_processes()) == 2, 30, process)
    time.sleep(3)
    started = time.monotonic()
    process.send_signal(signal.SIGTERM)
    time.sleep(0.5)
    process.send_signal(signal.SIGTERM)
    run = lib.finish(process, started, 60)
    left = lib.marked()
    table.row(
        "69 second signal",
        run.seconds <= 2.5 and run.code != 0 and not left,
        f"exit {run.code} after {run.seconds:.1f} s, {len(left)} processes left",
    )


# H: operations ------------------------------------------------------------------------------------


def case_79(table: Table) -> None:
    """The newest checkpoint is the one of the highest step, whatever the clock said."""
    place = table.place("79")
    checkpoint = {"checkpoint": {"interval": 2, "keep_latest_k": 5, "resume": "auto"}}
    job = lib.make_job(place, {"training": {"steps": 6}}, checkpoint)
    lib.train_well(job, 2)
    hour = 3600
    for ahead, name in ((2 * hour, "step-2"), (-2 * hour, "step-6")):
        for path in [
            place / "out" / lib.CHECKPOINTS / name,
            *(place / "out" / lib.CHECKPOINTS / name).iterdir(),
        ]:
            os.utime(path, (time.time() + ahead,) * 2)
    run = lib.train_well(job, 2, ["training.steps=8"])
    resumed = re.search(r"step[- ]6\b", run.output)
    steps = sorted(lib.metrics(place / "out"))
    table.row(
        "79 clock went backwards",
        resumed is not None and steps[-1] == 8,
        f"resumes from {resumed[0] if resumed else last_line(run)!r}, reaches step {steps[-1]}",
    )


GROUPS = (case_55, case_57_59, case_63, case_65, case_67, case_69, second_signal, case_79)
