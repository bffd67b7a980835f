"""What the acceptance lines share: jobs, runs of the program, processes, verdicts.

Environment: MUSTER_BUILD    build folder; default: build/release of this repository
             MUSTER_SHARED   folder with test data; default: shared beside the repository
             MUSTER_ORACLES  virtual environment with PyTorch; default: .venv of this repository
"""

import contextlib
import json
import math
import os
import pathlib
import random
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import traceback
import uuid

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("MUSTER_BUILD", REPOSITORY / "build/release")).resolve()
SHARED = pathlib.Path(os.environ.get("MUSTER_SHARED", REPOSITORY.parent / "shared")).resolve()
ORACLES = pathlib.Path(os.environ.get("MUSTER_ORACLES", REPOSITORY / ".venv")).absolute()
MUSTER = BUILD / "bin/muster"
IS_ROOT = os.geteuid() == 0
CHECKPOINTS = "checkpoints"  # in the output folder

# Every process a line starts carries this in its environment, so that none is missed at the end.
MARK = f"MUSTER_ACCEPTANCE_MARK={uuid.uuid4().hex}"


class Unmeasurable(Exception):
    """The line cannot be measured here; the message says why."""


class Line:
    """One acceptance line: collects what was measured and prints the verdict."""

    def __init__(self, number: str):
        self.number = number
        self.is_good = True
        self.parts: list[str] = []

    def check(self, is_good: bool, measured: str, limit: str) -> None:
        """One measurement against its limit; a failed one is marked, so that it can be found."""
        self.parts.append(f"{measured} ({limit})" if is_good else f"FAILED: {measured} ({limit})")
        self.is_good = self.is_good and is_good

    def note(self, measured: str) -> None:
        """Something the line reports without a limit."""
        self.parts.append(measured)


def run_line(number: str, measure) -> None:
    """Runs measure(line, folder) in a temporary folder and prints `NN PASS|FAIL measured (limit)`."""
    line = Line(number)
    try:
        with tempfile.TemporaryDirectory(prefix=f"line-{number}-") as folder:
            os.chmod(folder, 0o755)
            measure(line, pathlib.Path(folder))
    except Unmeasurable as reason:
        line.check(False, f"not measured: {reason}", "must be measured")
    except Exception as error:  # the top of a process: whatever went wrong is the line's result
        traceback.print_exc()
        line.check(False, f"{type(error).__name__}: {error}", "must run")
    finally:
        end_marked()
    verdict = "PASS" if line.is_good else "FAIL"
    print(f"{number} {verdict} {'; '.join(line.parts)}", flush=True)
    sys.exit(0 if line.is_good else 1)


# Jobs ---------------------------------------------------------------------------------------------

BASE_JOB = {
    "job": {"name": "acceptance", "output_dir": "out", "seed": 7},
    "model": {"layers": 2, "hidden": 64, "heads": 4, "kv_heads": 2, "ffn": 176},
    "data": {"seq_len": 64},
    "training": {"steps": 20, "global_batch_size": 8, "precision": "fp32"},
    "optimizer": {"lr": 1e-3},
    "lr_scheduler": {"type": "constant"},
    "checkpoint": {"resume": "never"},
    "probe": {"budget_seconds": 0.1},
}


def merged(*layers: dict) -> dict:
    """Sections of later dicts change keys of earlier ones."""
    sections: dict = {}
    for layer in layers:
        for section, keys in layer.items():
            sections.setdefault(section, {}).update(keys)
    return sections


def toml(value) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return json.dumps(value)
    if isinstance(value, list):
        return "[" + ", ".join(map(toml, value)) + "]"
    return repr(value)


def write_job(folder: pathlib.Path, sections: dict, train: str = "train.txt") -> pathlib.Path:
    """Writes folder/job.toml from sections and the path of the training text."""
    lines = []
    for section, keys in sections.items():
        lines += [f"[{section}]"] + [f"{key} = {toml(value)}" for key, value in keys.items()] + [""]
    lines += ["[[data.train]]", f"path = {toml(train)}", ""]
    path = folder / "job.toml"
    path.write_text("\n".join(lines))
    return path


def make_text(path: pathlib.Path, documents: int = 400, seed: int = 5) -> None:
    """Documents of made-up sentences, one a paragraph: learnable, and the same on every machine."""
    source = random.Random(seed)
    syllables = [a + b for a in "bdfgklmnprst" for b in "aeiou"]
    words = ["".join(source.choices(syllables, k=source.randint(1, 3))) for _ in range(150)]
    paragraphs = []
    for _ in range(documents):
        sentences = [" ".join(source.choices(words, k=source.randint(3, 9))) for _ in range(4)]
        paragraphs.append(". ".join(sentences) + ".\n")
    path.write_text("\n".join(paragraphs))


def make_job(folder: pathlib.Path, *layers: dict) -> pathlib.Path:
    """A small job on made-up text in a folder of its own."""
    folder.mkdir(parents=True, exist_ok=True)
    make_text(folder / "train.txt")
    return write_job(folder, merged(BASE_JOB, *layers))


def shared_file(name: str) -> pathlib.Path:
    path = SHARED / name
    if not path.exists():
        raise Unmeasurable(f"{name} is not in the shared folder; set MUSTER_SHARED")
    return path


# Runs ---------------------------------------------------------------------------------------------


class Run:
    """A finished run of a program."""

    def __init__(self, code: int, output: str, seconds: float):
        self.code, self.output, self.seconds = code, output, seconds

    def tail(self, lines: int = 3) -> str:
        return " | ".join(self.output.strip().splitlines()[-lines:])


def environment(extra: dict | None = None) -> dict:
    name, value = MARK.split("=")
    return {**os.environ, name: value, **(extra or {})}


def start(command, folder, env=None, **options) -> subprocess.Popen:
    """Starts a program in a session of its own, standard output and error in one pipe."""
    return subprocess.Popen(
        list(map(str, command)),
        cwd=folder,
        env=environment(env),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
        **options,
    )


def finish(process: subprocess.Popen, started: float, timeout_s: float) -> Run:
    try:
        output, _ = process.communicate(timeout=timeout_s)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        output, _ = process.communicate()
        raise RuntimeError(f"no end after {timeout_s:.0f} s: {output[-400:]}") from None
    return Run(process.returncode, output, time.monotonic() - started)


def run(command, folder, env=None, timeout_s: float = 600) -> Run:
    started = time.monotonic()
    return finish(start(command, folder, env), started, timeout_s)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def job_by_hand(folder: pathlib.Path, ranks: int) -> dict[str, str]:
    """Variables by which ranks of this host find each other without a launcher, but RANK."""
    secret = folder / "secret"
    if not secret.exists():
        secret.write_text(secrets.token_hex(32))
        secret.chmod(0o600)
    return {
        "WORLD_SIZE": str(ranks),
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(free_port()),
        "MUSTER_SECRET_FILE": str(secret),
    }


def run_by_hand(command, folder: pathlib.Path, ranks: int, extra: dict, timeout_s: float) -> list[Run]:
    """Every rank's run, started by itself, so that each one's exit and words are seen."""
    where = {**job_by_hand(folder, ranks), **extra}
    started = time.monotonic()
    processes = [start(command, folder, {**where, "RANK": str(rank)}) for rank in range(ranks)]
    return [finish(process, started, timeout_s) for process in processes]


def train_command(job: pathlib.Path, ranks: int | None = None, settings=()) -> list:
    command = [MUSTER, "train", job]
    if ranks is not None:
        command += ["-n", ranks]
    for setting in settings:
        command += ["--set", setting]
    return command


def train(job: pathlib.Path, ranks: int | None = 2, settings=(), env=None, timeout_s=600) -> Run:
    """`muster train` in the job's folder; the caller looks at code and output."""
    return run(train_command(job, ranks, settings), job.parent, env, timeout_s)


def train_well(job: pathlib.Path, ranks: int | None = 2, settings=(), env=None, timeout_s=600) -> Run:
    done = train(job, ranks, settings, env, timeout_s)
    if done.code != 0:
        raise RuntimeError(f"muster train returned {done.code}: {done.tail(5)}")
    return done


# Results ------------------------------------------------------------------------------------------


def metrics(folder: pathlib.Path) -> dict[int, dict]:
    """metrics.jsonl by step, a step's own line and that of its validation in one."""
    rows: dict[int, dict] = {}
    for text in (folder / "metrics.jsonl").read_text().splitlines():
        row = json.loads(text)
        rows.setdefault(row["step"], {}).update(row)
    return rows


def losses(folder: pathlib.Path) -> list[float]:
    rows = metrics(folder)
    return [rows[step]["loss"] for step in sorted(rows)]


def largest_difference(a: list[float], b: list[float]) -> float:
    """Relative, over two equally long lists."""
    if len(a) != len(b) or not a:
        raise RuntimeError(f"{len(a)} losses against {len(b)}")
    if not all(map(math.isfinite, a + b)):
        return math.inf
    return max(abs(x - y) / max(abs(y), 1e-30) for x, y in zip(a, b))


def validation_losses(folder: pathlib.Path) -> list[float]:
    rows = metrics(folder)
    return [rows[s]["val_loss"] for s in sorted(rows) if rows[s].get("val_loss") is not None]


def last_checkpoint(folder: pathlib.Path) -> pathlib.Path | None:
    """The newest complete one: step-N with its completion mark."""
    found = [p for p in (folder / CHECKPOINTS).glob("step-*") if (p / "DONE").exists()]
    return max(found, key=lambda p: int(p.name.split("-")[1])) if found else None


def differing_files(a: pathlib.Path, b: pathlib.Path) -> list[str]:
    """Names of weight and optimiser files that differ between two checkpoints, by bytes."""
    names = sorted({p.name for p in a.glob("*.safetensors")} | {p.name for p in b.glob("*.safetensors")})
    if not names:
        raise RuntimeError(f"no safetensors file in {a}")
    same = (
        lambda name: (a / name).exists()
        and (b / name).exists()
        and ((a / name).read_bytes() == (b / name).read_bytes())
    )
    return [name for name in names if not same(name)]


def wait_for(condition, timeout_s: float, process: subprocess.Popen | None = None) -> bool:
    """Polls until true, the time is up, or the process has ended."""
    end = time.monotonic() + timeout_s
    while time.monotonic() < end:
        if condition():
            return True
        if process is not None and process.poll() is not None:
            return bool(condition())
        time.sleep(0.005)
    return False


def steps_done(folder: pathlib.Path) -> int:
    """Steps in metrics.jsonl."""
    with contextlib.suppress(FileNotFoundError):
        return (folder / "metrics.jsonl").read_bytes().count(b'"loss":')
    return 0


# Processes ----------------------------------------------------------------------------------------


def marked() -> dict[int, dict[str, str]]:
    """Living processes that this line started, at any depth: pid to environment."""
    found = {}
    for entry in pathlib.Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        with contextlib.suppress(OSError):
            raw = (entry / "environ").read_bytes().split(b"\0")
            state = (entry / "stat").read_text().rsplit(")", 1)[1].split()[0]
            if MARK.encode() in raw and state not in "ZX":
                pairs = (item.decode(errors="replace").partition("=") for item in raw if item)
                found[int(entry.name)] = {name: value for name, _, value in pairs}
    return found


def program_of(pid: int) -> str:
    with contextlib.suppress(OSError):
        return pathlib.Path(os.readlink(f"/proc/{pid}/exe")).name
    return ""


def rank_processes() -> dict[int, int]:
    """Rank to pid, of the ranks that run now."""
    found = {}
    for pid, env in marked().items():
        if program_of(pid) == "muster-rank" and "MUSTER_RANK" in env:
            found[int(env["MUSTER_RANK"])] = pid
    return found


def end_marked() -> None:
    for pid in marked():
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def shared_memory() -> set[str]:
    """Named shared-memory objects of the machine; ours have no name and end with their processes."""
    return set(os.listdir("/dev/shm")) if os.path.isdir("/dev/shm") else set()


def plain_user() -> list[str]:
    """A prefix that runs a command as an ordinary user, when this is root."""
    return ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"] if IS_ROOT else []


def copy_programs(folder: pathlib.Path) -> pathlib.Path:
    """The build's programs and libraries where an ordinary user can reach them; returns muster."""
    for name in ("bin", "lib"):
        if (BUILD / name).exists():
            shutil.copytree(BUILD / name, folder / name, symlinks=True, dirs_exist_ok=True)
    return folder / "bin/muster"
