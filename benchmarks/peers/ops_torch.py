"""Milliseconds of one operator of PyTorch or torchvision on one thread (its processor time): ops_torch.py
CASE ROUNDS. Forward, and forward with
backward less the loss at its end; medians, as JSON. The shapes are those of benchmarks/ops_custom/main.cc."""
import json
import statistics
import sys
import time

import torch
import torch.nn.functional as F
import torchvision.ops

torch.set_num_threads(1)
torch.manual_seed(1)


def ctc_loss():
    x = torch.randn(128, 16, 64).log_softmax(-1).requires_grad_(True)
    targets = torch.randint(1, 64, (16, 32))
    steps, labels = torch.full((16,), 128), torch.full((16,), 32)
    return [x], lambda: F.ctc_loss(x, targets, steps, labels)


def deform_conv():
    x, weight, offset = torch.randn(1, 64, 56, 56), torch.randn(64, 64, 3, 3), torch.rand(1, 18, 56, 56) * 2 - 1
    bias, mask = torch.randn(64), torch.rand(1, 9, 56, 56)
    inputs = [t.requires_grad_(True) for t in (x, weight, offset, bias, mask)]
    return inputs, lambda: torchvision.ops.deform_conv2d(x, offset, weight, bias, padding=1, mask=mask)


CASES = {"ctc_loss": ctc_loss, "deform_conv": deform_conv}


def timed(fn):
    start = time.thread_time()
    fn()
    return (time.thread_time() - start) * 1e3


def main():
    inputs, forward = CASES[sys.argv[1]]()
    y = forward()
    weights = torch.randn_like(y)

    def both(make, targets):
        out = make()
        torch.autograd.grad(out if out.dim() == 0 else (out * weights).sum(), targets)

    def only_forward():
        with torch.no_grad():
            forward()

    leaf = y.detach().requires_grad_(True)
    times = {"forward": [], "both": [], "loss": []}
    for _ in range(int(sys.argv[2]) + 1):
        times["forward"].append(timed(only_forward))
        times["both"].append(timed(lambda: both(forward, inputs)))
        times["loss"].append(0.0 if y.dim() == 0 else timed(lambda: both(lambda: leaf, [leaf])))
    medians = {key: statistics.median(values[1:]) for key, values in times.items()}
    json.dump({"forward_ms": medians["forward"], "ms": medians["both"] - medians["loss"],
               "versions": {"torch": torch.__version__, "torchvision": torchvision.__version__}}, sys.stdout)


if __name__ == "__main__":
    main()
