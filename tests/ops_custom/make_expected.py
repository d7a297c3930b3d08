#!/usr/bin/env python3
"""Writes cases/*.json, what tests/ops_custom expects: values and gradients by PyTorch and torchvision, in float64.

usage: make_expected.py  (with a Python that imports torch 2.x and torchvision)

A case: the operator, its inputs (absent: null), its attributes, the output, the gradient of the output that the test
puts in, and the gradients of the inputs (null: none asked for).
"""
import json
import math
import pathlib

import torch
import torch.nn.functional as F
import torchvision.ops

torch.manual_seed(5)
FOLDER = pathlib.Path(__file__).parent / "cases"


def random(*shape, low=-1.0, high=1.0):
    """Float32 values, so that both sides start from the same numbers, in float64."""
    return (torch.rand(shape) * (high - low) + low).float().double()


def tensor(value):
    if value is None:
        return None
    flat = value.detach().reshape(-1).tolist()
    if value.dtype == torch.int64:
        return {"dtype": "i64", "shape": list(value.shape), "values": flat}
    numbers = [float(f"{x:.9g}") if math.isfinite(x) else ("inf" if x > 0 else "-inf") for x in flat]
    return {"dtype": "f32", "shape": list(value.shape), "values": numbers}


def case(op, inputs, wanted, attrs, compute, tolerance=1e-5):
    """`wanted`: numbers of the inputs whose gradient counts."""
    for i in wanted:
        inputs[i].requires_grad_(True)
    y = compute(*inputs)
    dy = random(*y.shape)
    y.backward(dy)
    grads = [inputs[i].grad if i in wanted else None for i in range(len(inputs))]
    return {"op": op, "inputs": [tensor(x) for x in inputs], "attrs": attrs, "output": tensor(y), "dy": tensor(dy),
            "gradients": [tensor(g) for g in grads], "tolerance": tolerance}


def swi_glu():
    for shape in [(3, 7), (2, 3, 37), (1,)]:
        yield case("SwiGLU", [random(*shape, low=-4, high=4), random(*shape)], [0, 1], {}, lambda g, u: F.silu(g) * u)


def rotate(x, base, interleaved, width, first):
    """Su et al. 2021, eq. 34, on the first `width` numbers of a head."""
    kept = x[..., width:]
    part = x[..., :width]
    half = width // 2
    angle = torch.arange(first, first + x.shape[1]).double()[:, None] * base ** (-torch.arange(half).double() / half)
    cos, sin = angle.cos()[None, :, None, :], angle.sin()[None, :, None, :]
    a, b = (part[..., 0::2], part[..., 1::2]) if interleaved else (part[..., :half], part[..., half:])
    c, d = a * cos - b * sin, b * cos + a * sin
    turned = torch.stack([c, d], -1).flatten(-2) if interleaved else torch.cat([c, d], -1)
    return torch.cat([turned, kept], -1)


def rotary_embedding():
    for shape, base, interleaved, width, first in [((2, 3, 2, 6), 10000.0, 0, 0, 0), ((1, 5, 1, 34), 500.0, 1, 0, 3),
                                                   ((2, 2, 3, 7), 100.0, 0, 4, 1), ((1, 2, 3, 9), 10.0, 1, 6, 0)]:
        attrs = {"base": base, "interleaved": interleaved, "width": width, "first": first}
        yield case("RotaryEmbedding", [random(*shape)], [0], attrs,
                   lambda x: rotate(x, base, interleaved, width or shape[-1], first))


def softmax_cross_entropy():
    labels = torch.tensor([4, 0, -100, 2, 12])
    for reduction in ["mean", "sum", "none"]:
        yield case("SoftmaxCrossEntropy", [random(5, 13, low=-6, high=6), labels.clone()], [0],
                   {"reduction": reduction}, lambda x, t: F.cross_entropy(x, t, reduction=reduction))
    labels = torch.tensor([[1, 2, 0], [3, 1, 1]])
    yield case("SoftmaxCrossEntropy", [random(2, 3, 5, low=-90, high=90), labels], [0], {"ignore_index": 1},
               lambda x, t: F.cross_entropy(x.reshape(6, 5), t.reshape(6), ignore_index=1))


def focal_loss():
    for shape, alpha, gamma, reduction in [((3, 5), 0.25, 2.0, "none"), ((4, 9), 0.6, 1.5, "mean"),
                                           ((2, 3, 3), -1.0, 0.0, "sum"), ((7,), 0.25, 3.0, "mean")]:
        targets = (torch.rand(*shape) < 0.4).double()
        yield case("SigmoidFocalLoss", [random(*shape, low=-5, high=5), targets], [0],
                   {"alpha": alpha, "gamma": gamma, "reduction": reduction},
                   lambda x, t: torchvision.ops.sigmoid_focal_loss(x, t, alpha, gamma, reduction))


def visible(queries, keys, causal, window):
    i, j = torch.arange(queries)[:, None], torch.arange(keys)[None, :]
    seen = torch.ones(queries, keys, dtype=torch.bool)
    if causal:
        seen &= j <= i
    if window:
        seen &= (i - j).abs() < window
    return seen


def attention():
    for batch, heads, kv_heads, queries, keys, width, values, causal, window, scale in [
            (2, 2, 2, 5, 7, 3, 5, 0, 0, 0.0), (1, 2, 2, 9, 9, 4, 4, 1, 0, 0.3), (1, 4, 2, 11, 11, 5, 3, 1, 3, 0.0),
            (1, 1, 1, 70, 70, 2, 1, 0, 5, 0.0), (1, 1, 1, 67, 130, 1, 2, 1, 0, 0.0)]:
        inputs = [random(batch, heads, queries, width, low=-2, high=2),
                  random(batch, kv_heads, keys, width, low=-2, high=2), random(batch, kv_heads, keys, values)]
        seen = visible(queries, keys, causal, window)
        yield case("Attention", inputs, [0, 1, 2], {"causal": causal, "window": window, "scale": scale},
                   lambda q, k, v: F.scaled_dot_product_attention(q, k, v, attn_mask=seen, scale=scale or None,
                                                                  enable_gqa=heads != kv_heads))


def embedding_bag():
    for mode in ["sum", "mean", "max"]:
        indices, offsets = torch.tensor([3, 0, 2, 2, 5, 1, 0, 3, 3]), torch.tensor([0, 2, 2, 6])
        yield case("EmbeddingBag", [random(6, 5), indices, offsets], [0], {"mode": mode},
                   lambda w, i, o: F.embedding_bag(i, w, o, mode=mode))


def ctc_loss():
    inputs, targets = torch.tensor([6, 5, 6]), torch.tensor([3, 1, 2])
    labels = torch.tensor([[2, 2, 1], [3, 0, 0], [1, 4, 0]])
    for blank, reduction in [(0, "none"), (0, "mean"), (5, "sum")]:
        # The gradient of the scores: PyTorch's gradient of the log-probabilities themselves is shifted by one that
        # log_softmax takes out again.
        yield case("CTCLoss", [random(6, 3, 6, low=-3, high=3), labels.clone(), inputs.clone(), targets.clone()], [0],
                   {"blank": blank, "reduction": reduction},
                   lambda x, t, n, m: F.ctc_loss(x.log_softmax(-1), t, n, m, blank=blank, reduction=reduction))
    # Three equal labels need five steps; here there are four.
    impossible = torch.tensor([[1, 1, 1], [2, 1, 2]])
    yield case("CTCLoss", [random(4, 2, 4), impossible, torch.tensor([4, 4]), torch.tensor([3, 3])], [0],
               {"reduction": "none", "zero_infinity": 1},
               lambda x, t, n, m: F.ctc_loss(x.log_softmax(-1), t, n, m, reduction="none", zero_infinity=True))


def deform_conv():
    for channels, outputs, groups, offsets, size, kernel, stride, padding, dilation, masked, biased in [
            (2, 3, 1, 1, (5, 6), (3, 3), (1, 1), (1, 1), (1, 1), True, True),
            (4, 2, 2, 2, (6, 5), (2, 3), (2, 1), (0, 2), (1, 2), True, False),
            (2, 2, 1, 2, (4, 4), (1, 2), (1, 1), (0, 0), (1, 1), False, True)]:
        out = [(size[i] + 2 * padding[i] - dilation[i] * (kernel[i] - 1) - 1) // stride[i] + 1 for i in range(2)]
        taps = kernel[0] * kernel[1]
        x, weight = random(2, channels, *size), random(outputs, channels // groups, *kernel)
        # Away from whole numbers, where the interpolation has a kink.
        offset = torch.randint(-2, 3, (2, 2 * offsets * taps, *out)).double() + random(1, low=0.2, high=0.8)
        offset = (offset + random(*offset.shape, low=-0.15, high=0.15)).float().double()
        bias = random(outputs) if biased else None
        mask = random(2, offsets * taps, *out, low=0) if masked else None
        inputs = [x, weight, offset, bias, mask]
        wanted = [i for i in range(5) if inputs[i] is not None]
        yield case("DeformConv", inputs, wanted, {"stride": stride, "padding": padding, "dilation": dilation},
                   lambda a, w, o, b, m: torchvision.ops.deform_conv2d(a, o, w, b, stride, padding, dilation, m))


def main():
    FOLDER.mkdir(exist_ok=True)
    for make in [swi_glu, rotary_embedding, softmax_cross_entropy, focal_loss, attention, embedding_bag, ctc_loss,
                 deform_conv]:
        lines = ",\n".join(json.dumps(c) for c in make())
        (FOLDER / f"{make.__name__}.json").write_text(f"[\n{lines}\n]\n")


if __name__ == "__main__":
    main()
