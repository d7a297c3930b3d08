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


def mlp():
    return nn.Sequential(nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10))


parser = argparse.ArgumentParser()
parser.add_argument("--case", choices=["lenet5", "mlp"], required=True)
parser.add_argument("--batch", type=int, required=True)
parser.add_argument("--threads", type=int, required=True)
parser.add_argument("--seconds", type=float, required=True)
parser.add_argument("--fused", action="store_true")
parser.add_argument("--channels-last", action="store_true")
parser.add_argument("--bf16", action="store_true")
args = parser.parse_args()

torch.manual_seed(0)
torch.set_num_threads(args.threads)
idle = rss_mb()
model = LeNet5() if args.case == "lenet5" else mlp()
x = torch.randn(args.batch, 1, 28, 28) if args.case == "lenet5" else torch.randn(args.batch, 784)
y = torch.randint(0, 10, (args.batch,))
if args.channels_last:
    model = model.to(memory_format=torch.channels_last)
    x = x.to(memory_format=torch.channels_last)
form = dict(fused=True) if args.fused else {}
if args.case == "lenet5":
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, **form)
else:
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, **form)


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


for _ in range(20):
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
