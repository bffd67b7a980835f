"""A table of cases: what was tried, whether it went as it should, and what was seen."""

import pathlib
import re

import lib

TINY = {"training": {"steps": 4}}


class Table:
    """Rows of what was tried; a row that is not as it should be is printed in full."""

    def __init__(self, folder: pathlib.Path):
        self.folder = folder
        self.good: list[str] = []
        self.bad: list[str] = []

    def row(self, name: str, is_good: bool, told: str) -> None:
        (self.good if is_good else self.bad).append(f"{name}: {told}")
        print(f"  {'ok  ' if is_good else 'BAD '} {name}: {told}", flush=True)

    def place(self, name: str) -> pathlib.Path:
        folder = self.folder / re.sub(r"\W+", "_", name)
        folder.mkdir()
        return folder


def files_left(folder: pathlib.Path) -> list[str]:
    out = folder / "out"
    return sorted(str(p.relative_to(folder)) for p in out.rglob("*") if p.is_file()) if out.exists() else []


def last_line(run: lib.Run) -> str:
    """The line a person would read: the first that says error, or the last."""
    lines = [text for text in run.output.splitlines() if text.strip() and "on this host, bound" not in text]
    said = [text for text in lines if re.match(r"muster: (config|i/o|[a-z ]+): ", text) or "error" in text.lower()]
    return (said or lines or ["nothing"])[0].strip()[:220]


def refused(table: Table, name: str, run: lib.Run, patterns: list[str], folder: pathlib.Path) -> None:
    """Exit 2, a message that matches every pattern, nothing written."""
    missing = [p for p in patterns if not re.search(p, run.output)]
    left = files_left(folder)
    is_good = run.code == 2 and not missing and not left and not lib.marked()
    told = f"exit {run.code}, {last_line(run)!r}"
    if missing:
        told += f", message lacks {missing}"
    if left:
        told += f", left {left}"
    table.row(name, is_good, told)
    lib.end_marked()


def refuse_job(table: Table, name: str, sections: dict, patterns: list[str], ranks=2, **options) -> None:
    place = table.place(name)
    job = lib.make_job(place, TINY, sections)
    refused(table, name, lib.train(job, ranks, timeout_s=60, **options), patterns, place)


def refuse_data(table: Table, name: str, file: str, data: bytes | None, patterns: list[str]) -> None:
    place = table.place(name)
    job = lib.write_job(place, lib.merged(lib.BASE_JOB, TINY), file)
    if data is not None:
        (place / file).write_bytes(data)
    refused(table, name, lib.train(job, timeout_s=60), [re.escape(file)] + patterns, place)


def run_groups(table: Table, groups) -> None:
    for group in groups:
        try:
            group(table)
        except Exception as error:  # one group must not hide the others
            table.row(group.__name__, False, f"{type(error).__name__}: {error}")
            lib.end_marked()
