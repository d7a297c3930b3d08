"""Prints what tests/e2e/batch_norm_steps_test.cc expects: three steps of a small network with batch norm in double
precision, weights and samples by formulas that both sides compute. The running variance follows ONNX (population variance;
PyTorch itself would use the unbiased one). Run by hand; needs torch."""
import math

import torch
import torch.nn.functional as F

torch.set_default_dtype(torch.float64)
SHAPES = {"c1.weight": (4, 2, 3, 3), "c1.bias": (4,), "bn.weight": (4,), "bn.bias": (4,), "c2.weight": (3, 4, 3, 3), "c2.bias": (3,),
          "fc.weight": (3, 3), "fc.bias": (3,)}


def formula(count, k, scale):
    return torch.tensor([scale * math.sin(0.7 * i * i + 1.3 * i + k) for i in range(count)]).float().double()


params = {name: formula(math.prod(shape), k, 0.4).view(shape) for k, (name, shape) in enumerate(SHAPES.items())}
params["bn.weight"] = params["bn.weight"] + 1
params["bn.weight"] = params["bn.weight"].float().double()
params = {name: value.requires_grad_() for name, value in params.items()}
mean, var = torch.zeros(4), torch.ones(4)
optimizer = torch.optim.SGD(params.values(), lr=0.1, momentum=0.5)
for step in range(3):
    x = formula(5 * 2 * 7 * 6, 100 + step, 1.0).view(5, 2, 7, 6)
    y = torch.tensor([(i * 2 + step) % 3 for i in range(5)])
    h = F.conv2d(x, params["c1.weight"], params["c1.bias"], padding=1)
    batch_mean, batch_var = h.mean((0, 2, 3)), h.var((0, 2, 3), unbiased=False)
    mean = 0.9 * mean + 0.1 * batch_mean.detach()
    var = 0.9 * var + 0.1 * batch_var.detach()
    h = F.batch_norm(h, None, None, params["bn.weight"], params["bn.bias"], training=True, eps=1e-5)
    h = F.conv2d(F.relu(h), params["c2.weight"], params["c2.bias"], stride=2).mean((2, 3))
    loss = F.cross_entropy(F.linear(h, params["fc.weight"], params["fc.bias"]), y)
    optimizer.zero_grad()
    loss.backward()
    grads = {name: value.grad.clone() for name, value in params.items()}
    optimizer.step()
    show = lambda values: ", ".join(f"{v:.10g}" for v in values)
    print(f"    {{{loss.item():.10g},")
    print(f"     {{{show(mean)}}},\n     {{{show(var)}}},")
    print("     {" + ", ".join(f'{{"{n}", {{{show([g.flatten()[0], g.flatten()[-1], g.sum(), g.norm()])}}}}}' for n, g in grads.items()) + "}},")
