"""Writes tests/e2e/residual_expected.h: what ResNet-18, -34 and -50 and MobileNetV2, built here of PyTorch modules with torchvision's
names, give in float64 from weights and batches that both sides compute by the same formulas: the gradients of the first
step (two numbers a parameter) and losses, and how far PyTorch's own float32 is from them: the largest relative distance over one
and two threads, both memory formats and both convolution backends; for losses the largest up to a step, the distance between one
and two threads included. Run by hand; needs torch."""
import copy
import math
import os

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.set_default_dtype(torch.float64)


def formula(count, k, scale, offset=0.0):
    return torch.tensor([offset + scale * math.sin(0.7 * i * i + 1.3 * i + k) for i in range(count)]).float().double()


def conv(i, o, k, stride=1, group=1):
    return nn.Conv2d(i, o, k, stride, k // 2, groups=group, bias=False)


class Block(nn.Module):
    def __init__(self, i, width, stride, bottleneck):
        super().__init__()
        out = 4 * width if bottleneck else width
        if bottleneck:
            self.conv1, self.conv2, self.conv3 = conv(i, width, 1), conv(width, width, 3, stride), conv(width, out, 1)
            self.bn1, self.bn2, self.bn3 = nn.BatchNorm2d(width), nn.BatchNorm2d(width), nn.BatchNorm2d(out)
        else:
            self.conv1, self.conv2 = conv(i, width, 3, stride), conv(width, width, 3)
            self.bn1, self.bn2 = nn.BatchNorm2d(width), nn.BatchNorm2d(width)
        self.downsample = nn.Sequential(conv(i, out, 1, stride), nn.BatchNorm2d(out)) if stride != 1 or i != out else None

    def forward(self, x):
        y = self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x)))))
        if hasattr(self, "conv3"):
            y = self.bn3(self.conv3(F.relu(y)))
        return F.relu(y + (x if self.downsample is None else self.downsample(x)))


class ResNet(nn.Module):
    def __init__(self, blocks, bottleneck, cifar):
        super().__init__()
        self.cifar = cifar
        self.conv1 = conv(3, 64, 3) if cifar else conv(3, 64, 7, 2)
        self.bn1 = nn.BatchNorm2d(64)
        channels = 64
        for stage, count in enumerate(blocks):
            made = []
            for i in range(count):
                made.append(Block(channels, 64 << stage, 2 if stage > 0 and i == 0 else 1, bottleneck))
                channels = (64 << stage) * (4 if bottleneck else 1)
            setattr(self, f"layer{stage + 1}", nn.Sequential(*made))
        self.fc = nn.Linear(channels, 10)

    def forward(self, x):
        x = F.relu(self.bn1(self.conv1(x)))
        if not self.cifar:
            x = F.max_pool2d(x, 3, 2, 1)
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return self.fc(x.mean((2, 3)))


def conv_norm(i, o, k, stride, group):
    return nn.Sequential(conv(i, o, k, stride, group), nn.BatchNorm2d(o), nn.ReLU6())


class Inverted(nn.Module):
    def __init__(self, i, o, stride, expand):
        super().__init__()
        hidden = i * expand
        parts = [conv_norm(i, hidden, 1, 1, 1)] if expand != 1 else []
        parts += [conv_norm(hidden, hidden, 3, stride, hidden), conv(hidden, o, 1), nn.BatchNorm2d(o)]
        self.conv = nn.Sequential(*parts)
        self.residual = stride == 1 and i == o

    def forward(self, x):
        return x + self.conv(x) if self.residual else self.conv(x)


class MobileNetV2(nn.Module):
    def __init__(self):
        super().__init__()
        parts, channels = [conv_norm(3, 32, 3, 2, 1)], 32
        for expand, out, repeat, stride in ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1)):
            for i in range(repeat):
                parts.append(Inverted(channels, out, stride if i == 0 else 1, expand))
                channels = out
        self.features = nn.Sequential(*parts, conv_norm(320, 1280, 1, 1, 1))
        self.classifier = nn.Sequential(nn.Identity(), nn.Linear(1280, 10))

    def forward(self, x):
        return self.classifier(self.features(x).mean((2, 3)))


def gradients(model, params, batch, size, step, dtype):
    x = formula(batch * 3 * size * size, step, 1.0).view(batch, 3, size, size).to(dtype)
    y = torch.tensor([(3 * i + step) % 10 for i in range(batch)])
    loss = F.cross_entropy(model(x), y)
    model.zero_grad()
    loss.backward()
    return loss.item(), {key: p.grad.double().flatten() for key, p in params.items()}


# Ways of PyTorch to compute the same in float32: threads, memory format, oneDNN or its own convolutions.
VARIANTS = [(threads, memory, onednn) for threads in (1, 2) for memory in (torch.contiguous_format, torch.channels_last) for onednn in (True, False)]


def float32_runs(model, batch, size, steps):
    """Gradients of the first step and all losses of each variant, from the weights of `model`."""
    for threads, memory, onednn in VARIANTS:
        torch.set_num_threads(threads)
        torch.backends.mkldnn.enabled = onednn
        single = copy.deepcopy(model).float().to(memory_format=memory)
        params = dict(single.named_parameters())
        optimizer = torch.optim.SGD(params.values(), lr=0.01, momentum=0.9)
        losses = []
        for step in range(steps):
            loss, found = gradients(single, params, batch, size, step, torch.float32)
            if step == 0:
                first = {key: g.clone() for key, g in found.items()}
            optimizer.step()
            losses.append(loss)
        yield first, losses
    torch.set_num_threads(1)
    torch.backends.mkldnn.enabled = True


def loss_distances(losses, runs):
    """By step: the largest so far of the distances of float32 runs from `losses`, and between one and two threads."""
    by_variant = dict(zip(VARIANTS, runs))
    distances, largest = [], 0.0
    for i, loss in enumerate(losses):
        apart = [abs(run[i] - loss) for run in runs]
        apart += [abs(run[i] - by_variant[(2, *variant[1:])][i]) for variant, run in by_variant.items() if variant[0] == 1]
        largest = max(largest, max(apart) / max(1.0, loss))
        distances.append(largest)
    return distances


def run(name, model, batch, size, steps):
    params = dict(model.named_parameters())
    directions = {key: formula(params[key].numel(), k, 1.0) for k, key in enumerate(sorted(params))}
    for k, key in enumerate(sorted(params)):
        p = params[key]
        if p.dim() == 1:
            norm = not key.startswith(("fc", "classifier")) and key.endswith("weight")
            p.data = formula(p.numel(), k, 0.2, 1.0 if norm else 0.0)
        else:
            p.data = formula(p.numel(), k, 2 / math.sqrt(p[0].numel())).view(p.shape)
    narrow = list(float32_runs(model, batch, size, steps))
    optimizer = torch.optim.SGD(params.values(), lr=0.01, momentum=0.9)
    losses = []
    for step in range(steps):
        loss, found = gradients(model, params, batch, size, step, torch.float64)
        if step == 0:
            wide = {key: g.clone() for key, g in found.items()}
        optimizer.step()
        losses.append(loss)
    least = 1e-4 * max(g.norm().item() for g in wide.values())
    distance = 0.0
    out = [f"inline const std::vector<ResidualGradient> k{name}Gradients = {{"]
    for key in sorted(params):
        g, d = wide[key], directions[key]
        scale = max(g.norm().item(), least)
        for first, _ in narrow:
            n = first[key]
            distance = max(distance, abs(n.norm() - g.norm()).item() / scale, abs(((n - g) * d).sum()).item() / scale / d.norm().item())
        out.append(f'    {{"{key}", {g.norm().item():.9g}, {(g * d).sum().item():.9g}}},')
    out += ["};", f"inline constexpr double k{name}Float32 = {distance:.3g};",
            f"inline constexpr double k{name}Losses[] = {{" + ", ".join(f"{l:.9g}" for l in losses) + "};",
            f"inline constexpr double k{name}LossFloat32[] = {{" +
            ", ".join(f"{d:.3g}" for d in loss_distances(losses, [l for _, l in narrow])) + "};", ""]
    return out


lines = [f"// Written by tests/e2e/peer/residual_steps.py with PyTorch {torch.__version__.split('+')[0]} in float64.", "#pragma once", "",
         "#include <vector>", "", "namespace tenon {", "",
         "// Of one gradient: its norm, and its product with sin(0.7 i^2 + 1.3 i + k) of element i and parameter k by name.",
         "// k...Float32, k...LossFloat32: the largest relative distance of PyTorch's own float32 gradients and losses from these,",
         "// of losses up to each step.",
         "struct ResidualGradient {", "  const char* parameter;", "  double norm, product;", "};", "", "// clang-format off"]
lines += run("ResNet18", ResNet((2, 2, 2, 2), False, True), 6, 8, 20)
lines += run("ResNet34", ResNet((3, 4, 6, 3), False, True), 6, 8, 20)
lines += run("ResNet50", ResNet((3, 4, 6, 3), True, False), 6, 64, 20)
lines += run("MobileNetV2", MobileNetV2(), 6, 64, 20)
lines += ["// clang-format on", "", "}  // namespace tenon"]
with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "residual_expected.h"), "w") as out:
    out.write("\n".join(lines) + "\n")
