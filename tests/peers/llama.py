#!/usr/bin/env python3
"""A LLaMA of a given shape trained by PyTorch, as a peer to measure muster beside.

One process, or one of several under torchrun's variables (--ddp: gloo, DistributedDataParallel).
Random tokens, next-token loss, AdamW; autocast to bf16 unless --fp32. The attention is PyTorch's
own scaled_dot_product_attention and the optimiser its fused one: what a careful user would write.
Rank 0 prints one JSON object; tokens_per_s is over all ranks, from the median step.

    llama.py --shape quickstart --sequences 16 --threads 2
    RANK=0 WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT=29500 llama.py --ddp --threads 1 ...
"""

import argparse
import dataclasses
import json
import resource
import statistics
import time

import torch
from torch import nn
from torch.nn import functional as F


@dataclasses.dataclass(frozen=True)
class Shape:
    hidden: int
    layers: int
    heads: int
    kv_heads: int
    ffn: int
    vocab: int
    is_tied: bool


SHAPES = {
    "quickstart": Shape(256, 4, 4, 4, 704, 259, False),
    "smollm2-135m": Shape(576, 30, 9, 3, 1536, 49152, True),
}


class Block(nn.Module):
    def __init__(self, shape: Shape):
        super().__init__()
        self.heads, self.kv_heads = shape.heads, shape.kv_heads
        self.head_dim = shape.hidden // shape.heads
        queries, keys = shape.heads * self.head_dim, shape.kv_heads * self.head_dim
        self.attention_norm = nn.RMSNorm(shape.hidden, eps=1e-5)
        self.qkv = nn.Linear(shape.hidden, queries + 2 * keys, bias=False)
        self.o = nn.Linear(queries, shape.hidden, bias=False)
        self.ffn_norm = nn.RMSNorm(shape.hidden, eps=1e-5)
        self.gate_up = nn.Linear(shape.hidden, 2 * shape.ffn, bias=False)
        self.down = nn.Linear(shape.ffn, shape.hidden, bias=False)

    def attend(self, x, cos, sin):
        batch, length, _ = x.shape
        qkv = self.qkv(x).view(batch, length, -1, self.head_dim).transpose(1, 2)
        q, k, v = qkv.split([self.heads, self.kv_heads, self.kv_heads], dim=1)
        q, k = rotate(q, cos, sin).to(v.dtype), rotate(k, cos, sin).to(v.dtype)
        grouped = self.heads != self.kv_heads
        out = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=grouped)
        return self.o(out.transpose(1, 2).reshape(batch, length, -1))

    def forward(self, x, cos, sin):
        x = x + self.attend(self.attention_norm(x), cos, sin)
        gate, up = self.gate_up(self.ffn_norm(x)).chunk(2, dim=-1)
        return x + self.down(F.silu(gate) * up)


def rotate(x, cos, sin):
    first, second = x.chunk(2, dim=-1)
    return x * cos + torch.cat((-second, first), dim=-1) * sin


class Llama(nn.Module):
    def __init__(self, shape: Shape, length: int):
        super().__init__()
        self.embed = nn.Embedding(shape.vocab, shape.hidden)
        self.blocks = nn.ModuleList(Block(shape) for _ in range(shape.layers))
        self.norm = nn.RMSNorm(shape.hidden, eps=1e-5)
        self.head = nn.Linear(shape.hidden, shape.vocab, bias=False)
        for module in self.modules():
            if isinstance(module, (nn.Linear, nn.Embedding)):
                nn.init.normal_(module.weight, std=0.02)
        if shape.is_tied:
            self.head.weight = self.embed.weight
        head_dim = shape.hidden // shape.heads
        frequencies = 10000.0 ** (-torch.arange(0, head_dim, 2).float() / head_dim)
        angles = torch.arange(length).float()[:, None] * frequencies
        angles = torch.cat((angles, angles), dim=-1)
        self.register_buffer("cos", angles.cos(), persistent=False)
        self.register_buffer("sin", angles.sin(), persistent=False)

    def forward(self, tokens, targets):
        x = self.embed(tokens)
        for block in self.blocks:
            x = block(x, self.cos, self.sin)
        logits = self.head(self.norm(x))
        return F.cross_entropy(logits.float().flatten(0, 1), targets.flatten())


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--shape", choices=SHAPES, default="quickstart")
    parser.add_argument("--sequences", type=int, default=4, help="per process and step")
    parser.add_argument("--length", type=int, default=256, help="tokens of a sequence")
    parser.add_argument("--steps", type=int, default=8, help="measured, after two more")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--fp32", action="store_true")
    parser.add_argument("--ddp", action="store_true")
    parser.add_argument("--compile", action="store_true", help="through torch.compile")
    return parser.parse_args()


def step_seconds(model, optimizer, options, vocab):
    seconds, loss = [], None
    for _ in range(options.steps + 2):
        rows = torch.randint(0, vocab, (options.sequences, options.length + 1))
        started = time.perf_counter()
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=not options.fp32):
            loss = model(rows[:, :-1], rows[:, 1:])
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        loss.item()
        seconds.append(time.perf_counter() - started)
    return statistics.median(seconds[2:])


def main():
    options = parse()
    torch.set_num_threads(options.threads)
    shape, rank, world = SHAPES[options.shape], 0, 1
    if options.ddp:
        torch.distributed.init_process_group("gloo")
        rank, world = torch.distributed.get_rank(), torch.distributed.get_world_size()
    torch.manual_seed(1)
    model = Llama(shape, options.length)
    parameters = sum(p.numel() for p in model.parameters())
    if options.ddp:
        model = nn.parallel.DistributedDataParallel(model)
    if options.compile:
        model = torch.compile(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
    torch.manual_seed(rank + 2)
    seconds = step_seconds(model, optimizer, options, shape.vocab)
    if rank == 0:
        tokens = options.sequences * options.length * world
        print(
            json.dumps(
                dict(
                    torch=torch.__version__,
                    shape=options.shape,
                    parameters=parameters,
                    world=world,
                    threads=options.threads,
                    dtype="fp32" if options.fp32 else "bf16",
                    step_seconds=seconds,
                    tokens_per_s=tokens / seconds,
                    memory_bytes=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
                )
            ),
            flush=True,
        )
    if options.ddp:
        torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main()
