"""One PyTorch training case in a process of its own; prints one JSON line."""
import argparse
import json
import resource
import statistics
import time

import torch
import torch.nn as nn
import torch.nn.functional as F


def rss_mb():
    with open("/proc/self/status") as status:
        for line in status:
            if line.startswith("VmRSS:"):
                return float(line.split()[1]) / 1024
    return 0.0


class LeNet5(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 6, 5, padding=2)
        self.conv2 = nn.Conv2d(6, 16, 5)
        self.linear1 = nn.Linear(400, 120)
        self.linear2 = nn.Linear(120, 84)
        self.linear3 = nn.Linear(84, 10)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        x = torch.flatten(x, 1)
        return self.linear3(F.relu(self.linear2(F.relu(self.linear1(x)))))


def conv(i, o, k, stride=1, group=1):
    return nn.Conv2d(i, o, k, stride, k // 2, groups=group, bias=False)


class Residual(nn.Module):
    def __init__(self, i, o, stride):
        super().__init__()
        self.conv1, self.norm1 = conv(i, o, 3, stride), nn.BatchNorm2d(o)
        self.conv2, self.norm2 = conv(o, o, 3), nn.BatchNorm2d(o)
        self.short = nn.Sequential(conv(i, o, 1, stride), nn.BatchNorm2d(o)) if stride != 1 or i != o else nn.Identity()

    def forward(self, x):
        y = F.relu(self.norm1(self.conv1(x)), inplace=True)
        return F.relu(self.norm2(self.conv2(y)) + self.short(x), inplace=True)


def resnet18_cifar():
    parts, channels = [conv(3, 64, 3), nn.BatchNorm2d(64), nn.ReLU(inplace=True)], 64
    for out, stride in ((64, 1), (64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2), (512, 1)):
        parts.append(Residual(channels, out, stride))
        channels = out
    return nn.Sequential(*parts, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 10))


def conv_norm(i, o, k, stride=1, group=1):
    return nn.Sequential(conv(i, o, k, stride, group), nn.BatchNorm2d(o), nn.ReLU6(inplace=True))


class Inverted(nn.Module):
    def __init__(self, i, o, stride, expand):
        super().__init__()
        hidden = i * expand
        parts = [conv_norm(i, hidden, 1)] if expand != 1 else []
        self.body = nn.Sequential(*parts, conv_norm(hidden, hidden, 3, stride, hidden), conv(hidden, o, 1), nn.BatchNorm2d(o))
        self.residual = stride == 1 and i == o

    def forward(self, x):
        return x + self.body(x) if self.residual else self.body(x)


def mobilenet_v2():
    parts, channels = [conv_norm(3, 32, 3, 2)], 32
    for expand, out, repeat, stride in ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1)):
        for i in range(repeat):
            parts.append(Inverted(channels, out, stride if i == 0 else 1, expand))
            channels = out
    return nn.Sequential(*parts, conv_norm(320, 1280, 1), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Dropout(0.2), nn.Linear(1280, 10))


def mlp():
    return nn.Sequential(nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10))


class Block(nn.Module):
    """Norms first; one product for queries, keys and values; attention composed or fused."""

    def __init__(self, width, heads, causal, approximate):
        super().__init__()
        self.heads, self.causal, self.approximate = heads, causal, approximate
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.linear1, self.linear2 = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def attend(self, q, k, v):
        if args.sdpa:
            return F.scaled_dot_product_attention(q, k, v, is_causal=self.causal)
        scores = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5
        if self.causal:
            scores = scores.masked_fill(self.future[:q.shape[2], :q.shape[2]], -float("inf"))
        return scores.softmax(-1) @ v

    future = torch.ones(512, 512, dtype=torch.bool).triu(1)

    def forward(self, x):
        batch, length, width = x.shape
        qkv = self.qkv(self.norm1(x)).view(batch, length, 3, self.heads, width // self.heads)
        mixed = self.attend(*qkv.permute(2, 0, 3, 1, 4).unbind(0))
        x = x + self.out(mixed.transpose(1, 2).reshape(batch, length, width))
        return x + self.linear2(F.gelu(self.linear1(self.norm2(x)), approximate=self.approximate))


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding, self.position = nn.Embedding(1000, 256), nn.Parameter(torch.randn(128, 256) * 0.02)
        self.blocks = nn.Sequential(*[Block(256, 4, False, "none") for _ in range(4)])
        self.norm, self.head = nn.LayerNorm(256), nn.Linear(256, 10)

    def forward(self, x):
        return self.head(self.norm(self.blocks(self.embedding(x) + self.position)).mean(1))


class Gpt(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding, self.position = nn.Embedding(96, 128), nn.Parameter(torch.randn(128, 128) * 0.02)
        nn.init.normal_(self.embedding.weight, std=0.02)
        self.blocks = nn.Sequential(*[Block(128, 4, True, "tanh") for _ in range(4)])
        self.norm = nn.LayerNorm(128)

    def forward(self, x):
        return (self.norm(self.blocks(self.embedding(x) + self.position)) @ self.embedding.weight.T).flatten(0, 1)


# Case: network, samples of a batch, labels of a batch, optimiser.
CASES = {
    "lenet5": (LeNet5, lambda b: torch.randn(b, 1, 28, 28), lambda b: torch.randint(0, 10, (b,)), "sgd"),
    "resnet18_cifar": (resnet18_cifar, lambda b: torch.randn(b, 3, 32, 32), lambda b: torch.randint(0, 10, (b,)), "sgd"),
    "mobilenet_v2": (mobilenet_v2, lambda b: torch.randn(b, 3, 64, 64), lambda b: torch.randint(0, 10, (b,)), "sgd"),
    "mlp": (mlp, lambda b: torch.randn(b, 784), lambda b: torch.randint(0, 10, (b,)), "adam"),
    "encoder": (Encoder, lambda b: torch.randint(0, 1000, (b, 128)), lambda b: torch.randint(0, 10, (b,)), "adamw"),
    "gpt": (Gpt, lambda b: torch.randint(0, 96, (b, 128)), lambda b: torch.randint(0, 96, (b * 128,)), "adamw"),
}

parser = argparse.ArgumentParser()
parser.add_argument("--case", choices=list(CASES), required=True)
parser.add_argument("--batch", type=int, required=True)
parser.add_argument("--threads", type=int, required=True)
parser.add_argument("--seconds", type=float, required=True)
parser.add_argument("--fused", action="store_true")
parser.add_argument("--channels-last", action="store_true")
parser.add_argument("--sdpa", action="store_true")
parser.add_argument("--bf16", action="store_true")
args = parser.parse_args()

torch.manual_seed(0)
torch.set_num_threads(args.threads)
idle = rss_mb()
make, samples, labels, optimizer_kind = CASES[args.case]
model, x, y = make(), samples(args.batch), labels(args.batch)
if args.channels_last:
    model = model.to(memory_format=torch.channels_last)
    x = x.to(memory_format=torch.channels_last)
form = dict(fused=True) if args.fused else {}
if optimizer_kind == "sgd":
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, **form)
else:
    kind = torch.optim.Adam if optimizer_kind == "adam" else torch.optim.AdamW
    optimizer = kind(model.parameters(), lr=1e-3, **form)


def step():
    optimizer.zero_grad(set_to_none=True)
    if args.bf16:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = F.cross_entropy(model(x), y)
    else:
        loss = F.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
    return loss


warm = time.perf_counter() + args.seconds
for i in range(20):
    if i < 3 or time.perf_counter() < warm:
        step()
times = []
end = time.perf_counter() + args.seconds
while time.perf_counter() < end:
    begin = time.perf_counter()
    loss = step()
    times.append(time.perf_counter() - begin)
print(json.dumps({"step_ms": statistics.median(times) * 1e3, "idle_mb": idle,
                  "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, "steps": len(times),
                  "loss": loss.item(), "version": torch.__version__}))
