"""Bad input of every kind: usage, job files, data, output folders. Exit 2, and nothing written."""

import re

import lib
from cases import TINY, Table, refuse_data, refuse_job, refused


def usage(table: Table) -> None:
    for name, arguments, pattern in (
        ("no command", [], "train"),
        ("unknown command", ["trian", "job.toml"], "trian"),
        ("no job file", ["train"], "job"),
        ("absent job file", ["train", "absent.toml"], r"absent\.toml"),
        ("zero ranks", ["train", "job.toml", "-n", "0"], r"\b0\b"),
        ("ranks not a number", ["train", "job.toml", "-n", "two"], "two"),
    ):
        place = table.place("usage " + name)
        lib.make_job(place, TINY)
        refused(table, name, lib.run([lib.MUSTER, *arguments], place, timeout_s=30), [pattern], place)


def job_files(table: Table) -> None:
    for name, sections, patterns in (
        ("unknown key", {"training": {"stepz": 5}}, [r"job\.toml:\d+:\d+", "stepz", r"\bsteps\b"]),
        (
            "unknown section",
            {"trainning": {"steps": 5}},
            [r"job\.toml:\d+:\d+", "trainning", r"\btraining\b"],
        ),
        ("wrong type", {"training": {"steps": "ten"}}, [r"job\.toml:\d+:\d+", "steps", "ten|string"]),
        ("negative size", {"model": {"hidden": -64}}, [r"job\.toml:\d+:\d+", "hidden", "-64"]),
        ("zero layers", {"model": {"layers": 0}}, ["layers", r"\b0\b"]),
        ("negative steps", {"training": {"steps": -1}}, ["steps", "-1"]),
        ("heads do not divide", {"model": {"heads": 7}}, ["heads", r"\b7\b", r"\b64\b"]),
        ("absurd hidden size", {"model": {"hidden": 10**12, "heads": 1}}, ["hidden", "1000000000000"]),
        ("no learning rate", {"optimizer": {"lr": -1.0}}, ["lr", "-1"]),
        ("unknown precision", {"training": {"precision": "fp8"}}, ["precision", "fp8", "bf16"]),
        (
            "batch over ranks",
            {"training": {"global_batch_size": 3}},
            ["global_batch_size", r"\b3\b", r"\b2\b"],
        ),
        ("batch over micro-batch", {"training": {"local_batch_size": 3}}, ["local_batch_size", r"\b3\b"]),
    ):
        refuse_job(table, name, sections, patterns)
    both = {"training": {"stepz": 5, "precision": "fp8"}, "model": {"hidden": -64}}
    refuse_job(table, "three mistakes at once", both, ["stepz", "fp8", "-64"])
    place = table.place("not TOML")
    (place / "job.toml").write_text("[training\nsteps = 5\n")
    refused(table, "not TOML", lib.train(place / "job.toml", timeout_s=30), [r"job\.toml:\d"], place)
    refuse_job(table, "--set of an unknown key", {}, ["stepz", r"\bsteps\b"], settings=["training.stepz=5"])


def memory(table: Table) -> None:
    """A model of two TB; the first to be ended if it does take what the machine has."""
    name = "more memory than there is"
    place = table.place(name)
    job = lib.make_job(place, TINY, {"model": {"hidden": 16384, "layers": 40, "heads": 128, "ffn": 49152}})
    command = ["choom", "-n", "1000", "--", *lib.train_command(job, 2)]
    refused(table, name, lib.run(command, place, timeout_s=15), ["TiB|GiB", "memory"], place)


def data_files(table: Table) -> None:
    refuse_data(table, "missing data file", "absent.txt", None, ["absent|exist|No such"])
    refuse_data(table, "empty text", "empty.txt", b"", ["empty"])
    refuse_data(table, "one-sample data", "one.txt", b"a few words\n", [r"\d"])
    place = table.place("data is a folder")
    job = lib.make_job(place, TINY)
    (place / "train.txt").unlink()
    (place / "train.txt").mkdir()
    refused(table, "data is a folder", lib.train(job, timeout_s=30), [r"train\.txt"], place)


def output_folders(table: Table) -> None:
    place = table.place("read-only output")
    muster = lib.copy_programs(place / "programs")
    job = lib.make_job(place / "job", TINY)
    job.parent.chmod(0o555)
    command = lib.plain_user() + [muster, "train", job, "-n", "2"]
    run = lib.run(command, job.parent, timeout_s=60)
    job.parent.chmod(0o755)
    refused(table, "read-only output", run, ["out", "ermission|read-only|writ"], job.parent)

    if not lib.IS_ROOT:
        table.row("63 no space", False, "not measured: mounting a small file system needs root")
        return
    place = table.place("63 no space")
    job = lib.make_job(place, TINY, {"model": {"hidden": 256, "ffn": 704}})
    (place / "out").mkdir()
    script = f"mount -t tmpfs -o size=1M tmpfs out && exec {lib.MUSTER} train job.toml -n 2; ls -A out"
    run = lib.run(["unshare", "--mount", "bash", "-c", script], place, timeout_s=60)
    refused(table, "63 no space at the start", run, ["out", r"MiB|bytes", "space|free|available"], place)


# Field cases, section D ----------------------------------------------------------------------------


def rows_of_text(count: int) -> bytes:
    return b"".join(b'{"text": "row %d of some text to read and to learn from"}\n' % i for i in range(count))


def case_45(table: Table) -> None:
    good = rows_of_text(300)
    for name, row, where in (
        ("invalid UTF-8", b'{"text":"\xff"}\n', r"byte 10\b"),
        ("raw TAB", b'{"text":"a\tb"}\n', "byte"),
        ("lone surrogate", b'{"text":"\\ud800"}\n', "byte"),
        ("cut row", b'{"text":"a\n', "."),
    ):
        lines = good.splitlines(keepends=True)
        data = lines[0] + row + b"".join(lines[1:])
        refuse_data(table, f"45 {name}", "data.jsonl", data, [r"data\.jsonl:2\b", where])
    place = table.place("45 skip")
    job = lib.write_job(place, lib.merged(lib.BASE_JOB, TINY, {"data": {"on_bad_row": "skip"}}), "data.jsonl")
    (place / "data.jsonl").write_bytes(good + b'{"text":"\xff"}\n')
    run = lib.train(job, timeout_s=60)
    counted = re.search(r"[^\n]*\b1\b[^\n]*skip[^\n]*|[^\n]*skip[^\n]*\b1\b[^\n]*", run.output)
    table.row(
        "45 skip",
        run.code == 0 and counted is not None,
        f"exit {run.code}, {counted[0].strip() if counted else 'count not told'!r}",
    )


def case_47(table: Table) -> None:
    batch = {"training": {"steps": 3, "global_batch_size": 2}, "data": {"seq_len": 16}}
    for rows in (5, 1, 0):
        place = table.place(f"47 {rows} rows")
        job = lib.write_job(place, lib.merged(lib.BASE_JOB, batch), "data.jsonl")
        (place / "data.jsonl").write_bytes(rows_of_text(rows))
        run = lib.train(job, timeout_s=60)
        if rows > 0:
            done = lib.steps_done(place / "out")
            table.row(
                f"47 {rows} rows on 2 ranks", run.code == 0 and done == 3, f"exit {run.code}, {done} steps"
            )
        else:
            refused(table, f"47 {rows} rows on 2 ranks", run, [r"data\.jsonl"], place)


def case_51(table: Table) -> None:
    refuse_job(
        table, "51 vocabulary below the ids", {"model": {"vocab": 200}}, ["vocab", r"\b200\b", r"\b25[0-9]\b"]
    )


GROUPS = (usage, job_files, memory, data_files, output_folders, case_45, case_47, case_51)
