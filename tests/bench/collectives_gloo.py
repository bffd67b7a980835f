#!/usr/bin/env python3
"""The calls of collectives_bench made by Gloo through PyTorch, in the same loop.

    python collectives_gloo.py RANKS          starts the ranks; needs torch

Prints lines `WHAT BYTES MEDIAN BEST`. A call that this PyTorch's gloo lacks is left out.
"""

import os
import statistics
import sys
import tempfile
import time

import torch
import torch.distributed as dist
import torch.multiprocessing as mp

SIZES = [8, 4 << 10, 64 << 10, 1 << 20, 16 << 20, 64 << 20]
BATCHES = 21  # as in allreduce_loop.hpp, and so are the repeats


def repeats(size: int) -> int:
    if size <= 8 << 10:
        return 1000
    if size <= 256 << 10:
        return 50
    if size <= 4 << 20:
        return 8
    return 2 if size <= 16 << 20 else 1


def measure(size: int, call) -> tuple[float, float]:
    count, times = repeats(size), []
    for batch in range(-1, BATCHES):
        dist.barrier()
        start = time.perf_counter()
        for _ in range(count):
            call()
        if batch >= 0:
            times.append((time.perf_counter() - start) / count * 1e6)
    return statistics.median(times), min(times)


def calls(rank: int, ranks: int, size: int):
    whole = torch.zeros(max(ranks, size // 4))
    vector = torch.zeros(size // 4)
    share = torch.zeros(max(1, size // 4 // ranks))
    gathered = torch.zeros(share.numel() * ranks)

    def send_recv() -> None:
        if rank > 1:
            return
        if rank == 0:
            dist.send(vector, 1)
        dist.recv(vector, 1 - rank)
        if rank == 1:
            dist.send(vector, 0)

    yield "all_reduce", 1, lambda: dist.all_reduce(vector)
    yield "all_gather", 1, lambda: dist.all_gather_into_tensor(gathered, share)
    yield "reduce_scatter", 1, lambda: dist.reduce_scatter_tensor(share, whole[: share.numel() * ranks])
    yield "broadcast", 1, lambda: dist.broadcast(vector, 0)
    yield "send_recv", 2, send_recv


def run_rank(rank: int, ranks: int, rendezvous: str) -> None:
    torch.set_num_threads(1)
    os.sched_setaffinity(0, {sorted(os.sched_getaffinity(0))[rank % len(os.sched_getaffinity(0))]})
    dist.init_process_group("gloo", init_method=f"file://{rendezvous}", rank=rank, world_size=ranks)
    for size in SIZES:
        for what, halves, call in calls(rank, ranks, size):
            try:
                median, best = measure(size, call)
            except RuntimeError as reason:
                if rank == 0:
                    print(f"gloo has no {what}: {reason}", file=sys.stderr)
                continue
            if rank == 0:
                print(what, size, f"{median / halves:.4f}", f"{best / halves:.4f}", flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    world = int(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        mp.spawn(run_rank, (world, f"{folder}/rendezvous"), nprocs=world)
