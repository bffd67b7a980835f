"""Reads the JSON output of nccl-tests, version 3, and says where a document departs from it."""

from typing import Any

NUMBER = (int, float)
BOOLEAN = ("true", "false")
PER_ITERATION = {
    "skipped_iterations": int, "min_us": NUMBER, "max_us": NUMBER, "avg_us": NUMBER, "p50_us": NUMBER,
    "p95_us": NUMBER, "p99_us": NUMBER, "stdev_us": NUMBER, "cv_pct": NUMBER, "times_us": list,
}  # fmt: skip
DEVICE = {
    "rank": int, "group": int, "pid": int, "hostname": str, "device": int, "device_hex": str,
    "device_info": str,
}  # fmt: skip
CONFIG = {
    "nthreads": int, "ngpus": int, "minimum_bytes": int, "maximum_bytes": int, "warmup_iters": int,
    "iterations": int, "aggregated_iterations": int, "validation": int, "graph": int,
    "blocking_collectives": BOOLEAN, "per_iter_timing": BOOLEAN, "per_iter_skip": int,
    "parallel_init": BOOLEAN, "devices": list,
}  # fmt: skip
ROW = {
    "size": int, "count": int, "type": str, "redop": str, "root": str, "out_of_place": dict,
    "in_place": dict, "actual_iterations": int, "experiment_name": str,
}  # fmt: skip
REPORT = {
    "version": int, "start_time": str, "args": list, "env": list, "nccl_version": int, "config": dict,
    "results": list, "out_of_bounds": dict, "average_bus_bandwidth": dict, "errors": list, "end_time": str,
}  # fmt: skip


def check(value: Any, shape: dict, place: str) -> list[str]:
    """One line for every key that is missing or of another type; further keys are allowed."""
    wrong = []
    for key, kind in shape.items():
        if key not in value:
            wrong.append(f"{place}.{key} is missing")
        elif isinstance(kind, tuple) and all(isinstance(k, str) for k in kind):
            if value[key] not in kind:
                wrong.append(f"{place}.{key} is {value[key]!r}, not one of {kind}")
        elif not isinstance(value[key], kind) or isinstance(value[key], bool):
            wrong.append(f"{place}.{key} is a {type(value[key]).__name__}")
    return wrong


def check_half(half: dict, place: str) -> list[str]:
    time = "time" if "time" in half else "cpu_time"
    wrong = check(half, {time: NUMBER, "alg_bw": NUMBER, "bus_bw": NUMBER}, place)
    if "nwrong" not in half or not isinstance(half["nwrong"], (*NUMBER, type(None))):
        wrong.append(f"{place}.nwrong is missing or no number")
    return wrong


def check_row(row: dict, place: str) -> list[str]:
    wrong = check(row, ROW, place)
    for half in ("out_of_place", "in_place"):
        wrong += check_half(row[half], f"{place}.{half}")
        if f"{half}_per_iter" in row:
            wrong += check(row[f"{half}_per_iter"], PER_ITERATION, f"{place}.{half}_per_iter")
    return wrong


def check_report(report: dict) -> list[str]:
    """All departures from the schema; empty when there are none."""
    wrong = check(report, REPORT, "report")
    if wrong:
        return wrong
    config = report["config"]
    wrong += check(config, CONFIG, "config")
    if ("step_factor" in config) == ("step_bytes" in config):
        wrong.append("config has both or neither of step_factor and step_bytes")
    for device in config["devices"]:
        wrong += check(device, DEVICE, "devices")
    for i, row in enumerate(report["results"]):
        wrong += check_row(row, f"results[{i}]")
    wrong += check(report["out_of_bounds"], {"count": int, "okay": BOOLEAN}, "out_of_bounds")
    okay = (*BOOLEAN, "unchecked")
    wrong += check(report["average_bus_bandwidth"], {"bandwidth": NUMBER, "okay": okay}, "average")
    return wrong
