"""Prints the losses that tests/e2e/lenet_trajectory_test.cc expects: PyTorch trains LeNet-5 for 100 steps from weights and
batches that both sides compute by the same formulas. Run by hand; needs torch."""
import gzip
import math
import os

import torch
import torch.nn as nn
import torch.nn.functional as F

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..")
rows = [list(map(int, line.split(","))) for line in gzip.open(os.path.join(ROOT, "data", "optdigits.csv.gz"), "rt")]


def sample(row):  # 8x8 -> each pixel 3x3 -> 24x24 -> two zeros on each side
    image = torch.tensor(row[:64], dtype=torch.float32).view(8, 8) / 16
    image = image.repeat_interleave(3, 0).repeat_interleave(3, 1)
    return F.pad(image, (2, 2, 2, 2)).unsqueeze(0)


shapes = [(6, 1, 5, 5), (6,), (16, 6, 5, 5), (16,), (120, 400), (120,), (84, 120), (84,), (10, 84), (10,)]
params = []
for k, shape in enumerate(shapes):
    count = math.prod(shape)
    fan = math.prod(shape[1:]) if len(shape) > 1 else 100
    values = [1.7 * math.sin(0.7 * i * i + 1.3 * i + k) / math.sqrt(fan) for i in range(count)]
    params.append(torch.tensor(values, dtype=torch.float64).float().view(shape).requires_grad_())
c1w, c1b, c2w, c2b, f1w, f1b, f2w, f2b, f3w, f3b = params
optimizer = torch.optim.SGD(params, lr=0.006, momentum=0.9)
losses = []
for step in range(100):
    index = [(step * 32 + i) % 1408 for i in range(32)]
    x = torch.stack([sample(rows[i]) for i in index])
    y = torch.tensor([rows[i][64] for i in index])
    x = F.max_pool2d(F.relu(F.conv2d(x, c1w, c1b, padding=2)), 2)
    x = F.max_pool2d(F.relu(F.conv2d(x, c2w, c2b)), 2)
    x = F.relu(F.linear(x.flatten(1), f1w, f1b))
    loss = F.cross_entropy(F.linear(F.relu(F.linear(x, f2w, f2b)), f3w, f3b), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
for i in range(0, 100, 6):
    print("    " + " ".join(f"{value:.9g}," for value in losses[i:i + 6]))
