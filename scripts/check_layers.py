#!/usr/bin/env python3
"""Fails when a file includes something from a layer above its own."""

import pathlib
import re
import sys

# Lowest first. A file may include its own layer and any layer before it.
LAYERS = [
    "kernels/base",
    "kernels/device",
    "kernels/ops",
    "kernels/cpu",
    "kernels",
    "collectives/net",
    "collectives/bootstrap",
    "collectives",
    "runtime/control",
    "runtime/config",
    "runtime/world",
    "runtime/pairs",
    "runtime/bench",
    "runtime/tokenizer",
    "runtime/dataset",
    "runtime/program",
    "runtime/model",
    "runtime/passes",
    "runtime/engine",
    "runtime/checkpoint",
    "runtime/precision",
    "runtime/optim",
    "runtime/probe",
    "runtime/plan",
    "runtime/train",
    "runtime",
    "launcher",
]
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)


def layer_of(path: str) -> int | None:
    matches = [i for i, prefix in enumerate(LAYERS) if path.startswith(prefix + "/")]
    return max(matches, key=lambda i: len(LAYERS[i])) if matches else None


def main() -> int:
    upward = []
    for file in sorted(p for ext in ("hpp", "cpp", "cu", "cuh") for p in pathlib.Path().rglob("*." + ext)):
        mine = layer_of(file.as_posix())
        if mine is None:
            continue
        for included in INCLUDE.findall(file.read_text()):
            theirs = layer_of(included)
            if theirs is not None and theirs > mine:
                upward.append(f"{file} ({LAYERS[mine]}) includes {included} ({LAYERS[theirs]})")
    print("\n".join(upward) or "layers: every include points down")
    return 1 if upward else 0


if __name__ == "__main__":
    sys.exit(main())
