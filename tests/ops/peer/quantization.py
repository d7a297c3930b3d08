"""Prints the expected values of tests/ops/quantization_test.cc that are not examples of ONNX's operator definitions: the
formulas of the definitions in NumPy, in float32 and int64. Run by hand; needs numpy."""
import numpy as np


def codes(count, low, high, a, b):
    """Whole numbers in [low, high] that the test makes by the same formula."""
    return np.array([low + (a * i * i + b * i) % (high - low + 1) for i in range(count)], dtype=np.int64)


def show(name, values):
    print(name, "{" + ", ".join(str(int(v)) for v in np.asarray(values).flatten()) + "}")


def requantize(sums, scale, zero, low, high):
    return np.clip(np.rint(sums.astype(np.float32) * scale.astype(np.float32)) + zero, low, high)


# QuantizeLinear along the last axis, to int8.
x = np.array([[-1.25, 0.5, 7.5], [2.5, -0.75, -300.0]], dtype=np.float32)
scale = np.array([0.5, 0.25, 2.0], dtype=np.float32)
show("quantize_axis", np.clip(np.rint(x / scale) + np.array([1, -2, 3]), -128, 127))

# MatMulInteger and QLinearMatMul: int8 by uint8, zero points and scales by row and by column.
a, b = codes(15, -128, 127, 7, 31).reshape(3, 5), codes(20, 0, 255, 11, 53).reshape(5, 4)
za, zb = np.array([[-3], [5], [0]]), np.array([[120, 128, 0, 255]])
sums = (a - za) @ (b - zb)
show("mat_mul_integer", sums)
scale_a = np.array([[0.02], [0.005], [0.01]], dtype=np.float32)
scale_b = np.array([[0.004, 0.008, 0.002, 0.001]], dtype=np.float32)
show("q_linear_mat_mul", requantize(sums, scale_a * scale_b / np.float32(0.05), -7, -128, 127))


def conv(x, w, zx, zw, stride, pad, dilation, group):
    """Padded by the zero point, so that padding counts as 0."""
    x = np.pad(x - zx, ((0, 0), (0, 0), (pad, pad), (pad, pad)))
    w = w - zw
    out = w.shape[0]
    rows = (x.shape[2] - dilation * (w.shape[2] - 1) - 1) // stride + 1
    columns = (x.shape[3] - dilation * (w.shape[3] - 1) - 1) // stride + 1
    y = np.zeros((x.shape[0], out, rows, columns), dtype=np.int64)
    inputs = x.shape[1] // group
    for n in range(x.shape[0]):
        for m in range(out):
            first = m // (out // group) * inputs
            for r in range(rows):
                for c in range(columns):
                    window = x[n, first:first + inputs, r * stride:r * stride + dilation * (w.shape[2] - 1) + 1:dilation,
                               c * stride:c * stride + dilation * (w.shape[3] - 1) + 1:dilation]
                    y[n, m, r, c] = (window * w[m]).sum()
    return y


# ConvInteger and QLinearConv: uint8 images, int8 weights with a zero point each, two groups, strides, pads.
x, w = codes(2 * 4 * 5 * 6, 0, 255, 13, 47).reshape(2, 4, 5, 6), codes(6 * 2 * 3 * 3, -128, 127, 5, 17).reshape(6, 2, 3, 3)
zw = np.array([0, 3, -4, 10, 0, -128]).reshape(6, 1, 1, 1)
sums = conv(x, w, 100, zw, 2, 1, 1, 2)
show("conv_integer", sums)
bias = np.array([100, -2000, 30000, 0, 5, -70000]).reshape(1, 6, 1, 1)
scale_w = np.array([0.01, 0.02, 0.005, 0.004, 0.03, 0.001], dtype=np.float32).reshape(1, 6, 1, 1)
show("q_linear_conv", requantize(sums + bias, np.float32(0.03) * scale_w / np.float32(0.4), 128, 0, 255))
