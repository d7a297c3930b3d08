"""Writes tests/e2e/transformer_expected.h: what torch.nn.TransformerEncoder and a GPT-2 decoder of PyTorch modules give in
float64 from weights and batches that both sides compute by the same formulas: the gradients of the first step (four numbers
a parameter) and the losses of 20 steps. Run by hand; needs torch."""
import math
import os

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.set_default_dtype(torch.float64)
STEPS = 20


def formula(count, k, scale, offset=0.0):
    values = torch.tensor([scale * math.sin(0.7 * i * i + 1.3 * i + k) for i in range(count)]).float().double()
    return (values + offset).float().double() if offset else values


class Encoder(nn.Module):
    def __init__(self, norm_first, activation):
        super().__init__()
        self.embedding1 = nn.Embedding(11, 16)
        self.position1 = nn.Parameter(torch.zeros(7, 16))
        make = lambda: nn.TransformerEncoderLayer(16, 2, 64, 0.0, activation, batch_first=True, norm_first=norm_first)
        self.blocks = nn.ModuleList([make(), make()])
        self.layer_norm1 = nn.LayerNorm(16) if norm_first else nn.Identity()
        self.linear1 = nn.Linear(16, 5)

    def forward(self, x):
        x = self.embedding1(x) + self.position1
        for block in self.blocks:
            x = block(x)
        return self.linear1(self.layer_norm1(x).mean(1))


class Gpt(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding1 = nn.Embedding(13, 16)
        self.position1 = nn.Parameter(torch.zeros(9, 16))
        act = lambda x: F.gelu(x, approximate="tanh")
        make = lambda: nn.TransformerEncoderLayer(16, 4, 64, 0.0, act, batch_first=True, norm_first=True)
        self.blocks = nn.ModuleList([make(), make()])
        self.final_norm = nn.LayerNorm(16)

    def forward(self, x):
        mask = nn.Transformer.generate_square_subsequent_mask(x.shape[1])
        x = self.embedding1(x) + self.position1
        for block in self.blocks:
            x = block(x, src_mask=mask, is_causal=True)
        return self.final_norm(x) @ self.embedding1.weight.T


def tenon_name(name):
    if name == "position1":
        return "position1.weight"
    if name.startswith("blocks."):
        number, rest = name[len("blocks."):].split(".", 1)
        return f"transformer_block{int(number) + 1}.{rest}"
    return name


def run(model, batch, length, vocab, classes):
    params = {tenon_name(name): p for name, p in model.named_parameters()}
    for k, name in enumerate(sorted(params)):
        p = params[name]
        norm = "norm" in name and name.endswith("weight")
        scale = 0.1 if p.dim() == 1 else 1.2 / math.sqrt(p.shape[1])
        p.data = formula(p.numel(), k, scale, 1.0 if norm else 0.0).view(p.shape)
    optimizer = torch.optim.SGD(params.values(), lr=0.05, momentum=0.9)
    gradients, losses = [], []
    for step in range(STEPS):
        tokens = torch.tensor([[(7 * t * t + 3 * t + 5 * b + step) % vocab for t in range(length)] for b in range(batch)])
        if classes:
            labels = torch.tensor([(b + 2 * step) % classes for b in range(batch)])
        else:
            labels = torch.tensor([[(3 * t + b + step) % vocab for t in range(length)] for b in range(batch)])
        loss = F.cross_entropy(model(tokens).flatten(0, -2), labels.flatten())
        optimizer.zero_grad()
        loss.backward()
        if step == 0:
            for k, name in enumerate(sorted(params)):
                g = params[name].grad.flatten()
                gradients.append((name, g.norm().item(), (g @ formula(g.numel(), k, 1.0)).item(), g[0].item(), g[-1].item()))
        optimizer.step()
        losses.append(loss.item())
    return gradients, losses


def write(out, name, gradients, losses):
    out.write(f"inline const std::vector<ExpectedGradient> k{name}Gradients = {{\n")
    for g in gradients:
        out.write(f'    {{"{g[0]}", ' + ", ".join(f"{value:.12g}" for value in g[1:]) + "},\n")
    out.write(f"}};\ninline constexpr double k{name}Losses[{STEPS}] = {{\n")
    for i in range(0, STEPS, 5):
        out.write("    " + " ".join(f"{value:.10g}," for value in losses[i:i + 5]) + "\n")
    out.write("};\n\n")


with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "transformer_expected.h"), "w") as out:
    out.write("""// Written by tests/e2e/peer/transformer_steps.py with PyTorch %s in float64.
#pragma once

#include <vector>

namespace tenon {

// Of one gradient: its norm, its product with sin(0.7 i^2 + 1.3 i + k) of element i and parameter k by name, and its first
// and last element.
struct ExpectedGradient {
  const char* parameter;
  double norm, product, first, last;
};

// clang-format off
""" % torch.__version__.split("+")[0])
    write(out, "PreNorm", *run(Encoder(True, "gelu"), 3, 7, 11, 5))
    write(out, "PostNorm", *run(Encoder(False, "relu"), 3, 7, 11, 5))
    write(out, "Gpt", *run(Gpt(), 2, 9, 13, 0))
    out.write("// clang-format on\n\n}  // namespace tenon\n")
