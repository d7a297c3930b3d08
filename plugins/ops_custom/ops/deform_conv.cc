// org.tenon.custom.DeformConv(X, Weight, Offset, Bias, Mask; dilation, padding, stride) -> Y. A convolution whose taps are
// moved: X [batch, channels, height, width], Weight [outputs, channels / groups, kernel height, kernel width], Offset [batch,
// 2 * offset groups * taps, out height, out width], down and right of each tap in turn, Mask [batch, offset groups * taps, ..],
// a factor of each tap, Bias [outputs]; the last two may be absent. Channels of one offset group move together. X is read
// between its pixels by bilinear interpolation, and is 0 outside. Groups and offset groups follow from the shapes.
// Source: Zhu et al. 2018, "Deformable ConvNets v2", eq. 1; torchvision.ops.deform_conv2d.
#include "plugins/ops_custom/types.h"

namespace tenon::ops {

constexpr int64_t kDeformPixels = 64;  // output pixels of a block

struct DeformConvArgs {
  int64_t batch = 0, channels = 0, height = 0, width = 0, outputs = 0, groups = 1, offset_groups = 1;
  int64_t kernel[2] = {}, out[2] = {}, stride[2] = {1, 1}, padding[2] = {0, 0}, dilation[2] = {1, 1};
  const float *x = nullptr, *weight = nullptr, *offset = nullptr, *bias = nullptr, *mask = nullptr;
  float* y = nullptr;         // forward
  const float* dy = nullptr;  // backward
  float *dx = nullptr, *d_weight = nullptr, *d_offset = nullptr, *d_bias = nullptr, *d_mask = nullptr;
  int64_t taps() const { return kernel[0] * kernel[1]; }
  int64_t pixels() const { return out[0] * out[1]; }
  int64_t blocks() const { return (pixels() + kDeformPixels - 1) / kDeformPixels; }
  int64_t group_channels() const { return channels / groups; }
  int64_t group_outputs() const { return outputs / groups; }
  int64_t moved_together() const { return channels / offset_groups; }
};
struct DeformConvLoops {
  void (*forward)(const DeformConvArgs&, float* workspace, Range blocks);         // of all images
  void (*backward_input)(const DeformConvArgs&, float* workspace, Range images);  // dX, dOffset, dMask
  void (*backward_weight)(const DeformConvArgs&, float* workspace, Range channels);
  void (*backward_bias)(const DeformConvArgs&, Range outputs);
};
// Floats of workspace of one thread: the columns of a block; for weights also its dY, turned, and the sums of a channel.
inline int64_t DeformConvWorkspace(const DeformConvArgs& a) { return a.channels * a.taps() * kDeformPixels; }
inline int64_t DeformConvWeightWorkspace(const DeformConvArgs& a) {
  return a.taps() * kDeformPixels + (kDeformPixels + a.taps()) * a.group_outputs();
}

}  // namespace tenon::ops

#ifdef TENON_OPS_ISA
#include "plugins/ops_custom/product.h"

namespace tenon::ops::TENON_OPS_ISA {
namespace {

constexpr int64_t kPixels = kDeformPixels;

// Pixels [first, first + count) of an image.
struct Block {
  int64_t image, first, count;
};
TENON_INLINE Block BlockOf(const DeformConvArgs& a, int64_t image, int64_t number) {
  const int64_t first = number * kPixels;
  return {image, first, Min(kPixels, a.pixels() - first)};
}

// Where one tap reads for each pixel of a block: the four pixels around the place and their weights, which are 0 outside of
// the image, and the slopes of the weights.
struct Places {
  int32_t index[4][kPixels];
  float weight[4][kPixels], down[4][kPixels], right[4][kPixels], mask[kPixels];
};

TENON_INLINE const float* PlaneOf(const DeformConvArgs& a, const float* planes, int64_t image, int64_t plane,
                                  int64_t count, const Block& block) {
  return planes + (image * count + plane) * a.pixels() + block.first;
}

void FindPlaces(const DeformConvArgs& a, const Block& block, int64_t group, int64_t tap, Places& out) {
  const int64_t number = group * a.taps() + tap, all = a.offset_groups * a.taps();
  const float* down = PlaneOf(a, a.offset, block.image, 2 * number, 2 * all, block);
  const float* right = PlaneOf(a, a.offset, block.image, 2 * number + 1, 2 * all, block);
  float row[kPixels], column[kPixels];
  for (int64_t p = 0; p < block.count; ++p) {
    const int64_t at = block.first + p, r = at / a.out[1], c = at - r * a.out[1];
    row[p] = static_cast<float>(r * a.stride[0] - a.padding[0] + tap / a.kernel[1] * a.dilation[0]) + down[p];
    column[p] = static_cast<float>(c * a.stride[1] - a.padding[1] + tap % a.kernel[1] * a.dilation[1]) + right[p];
    out.mask[p] = a.mask == nullptr ? 1.0f : PlaneOf(a, a.mask, block.image, number, all, block)[p];
  }
  const auto height = static_cast<int32_t>(a.height), width = static_cast<int32_t>(a.width);
  TENON_SIMD for (int64_t p = 0; p < block.count; ++p) {
    const bool inside = row[p] > -1.0f && row[p] < static_cast<float>(height) && column[p] > -1.0f &&
                        column[p] < static_cast<float>(width);
    const float y = inside ? row[p] : 0.0f, x = inside ? column[p] : 0.0f;
    const int32_t top = static_cast<int32_t>(y + 1.0f) - 1, left = static_cast<int32_t>(x + 1.0f) - 1;  // floor
    const float low = y - static_cast<float>(top), far = x - static_cast<float>(left);
    const float row_weight[2] = {1.0f - low, low}, column_weight[2] = {1.0f - far, far}, slope[2] = {-1.0f, 1.0f};
    TENON_UNROLL for (int k = 0; k < 4; ++k) {
      const int32_t i = k >> 1, j = k & 1, r = top + i, c = left + j;
      const bool in = inside && r >= 0 && r < height && c >= 0 && c < width;
      out.index[k][p] = in ? r * width + c : 0;
      out.weight[k][p] = in ? row_weight[i] * column_weight[j] : 0.0f;
      out.down[k][p] = in ? slope[i] * column_weight[j] : 0.0f;
      out.right[k][p] = in ? row_weight[i] * slope[j] : 0.0f;
    }
  }
}

// What a tap reads of one channel.
TENON_INLINE void Sample(const float* plane, const Places& at, int64_t count, float* column) {
  TENON_SIMD for (int64_t p = 0; p < count; ++p) {
    const float value = at.weight[0][p] * plane[at.index[0][p]] + at.weight[1][p] * plane[at.index[1][p]] +
                        at.weight[2][p] * plane[at.index[2][p]] + at.weight[3][p] * plane[at.index[3][p]];
    column[p] = value * at.mask[p];
  }
}

void Forward(const DeformConvArgs& a, float* columns, Range blocks) {
  Places places;
  const int64_t taps = a.taps(), inner = a.group_channels() * taps;
  for (int64_t u = blocks.begin; u < blocks.end; ++u) {
    const Block block = BlockOf(a, u / a.blocks(), u % a.blocks());
    for (int64_t g = 0; g < a.offset_groups; ++g) {
      for (int64_t tap = 0; tap < taps; ++tap) {
        FindPlaces(a, block, g, tap, places);
        for (int64_t c = g * a.moved_together(); c < (g + 1) * a.moved_together(); ++c) {
          Sample(a.x + (block.image * a.channels + c) * a.height * a.width, places, block.count,
                 columns + (c * taps + tap) * kPixels);
        }
      }
    }
    for (int64_t g = 0; g < a.groups; ++g) {
      const int64_t first = g * a.group_outputs();
      float* y = a.y + (block.image * a.outputs + first) * a.pixels() + block.first;
      for (int64_t o = 0; o < a.group_outputs(); ++o)
        Fill(y + o * a.pixels(), block.count, a.bias == nullptr ? 0.0f : a.bias[first + o]);
      Product(a.group_outputs(), block.count, inner, {a.weight + first * inner, inner, 1},
              {columns + g * inner * kPixels, kPixels}, {y, a.pixels()}, true);
    }
  }
}

// One tap of the channels that move together: d_column holds the gradient of what it reads.
void ScatterTap(const DeformConvArgs& a, const Block& block, int64_t group, int64_t tap, const Places& at,
                const float* d_columns) {
  float d_mask[kPixels] = {}, d_down[kPixels] = {}, d_right[kPixels] = {};
  for (int64_t c = group * a.moved_together(); c < (group + 1) * a.moved_together(); ++c) {
    const int64_t plane_at = (block.image * a.channels + c) * a.height * a.width;
    const float *plane = a.x + plane_at, *d = d_columns + (c * a.taps() + tap) * kPixels;
    float* dx = a.dx + plane_at;
    TENON_SIMD for (int64_t p = 0; p < block.count; ++p) {
      const float v0 = plane[at.index[0][p]], v1 = plane[at.index[1][p]], v2 = plane[at.index[2][p]],
                  v3 = plane[at.index[3][p]];
      d_mask[p] += d[p] * (at.weight[0][p] * v0 + at.weight[1][p] * v1 + at.weight[2][p] * v2 + at.weight[3][p] * v3);
      d_down[p] += d[p] * (at.down[0][p] * v0 + at.down[1][p] * v1 + at.down[2][p] * v2 + at.down[3][p] * v3);
      d_right[p] += d[p] * (at.right[0][p] * v0 + at.right[1][p] * v1 + at.right[2][p] * v2 + at.right[3][p] * v3);
    }
    for (int64_t p = 0; p < block.count; ++p) {
      const float share = d[p] * at.mask[p];
      TENON_UNROLL for (int k = 0; k < 4; ++k) dx[at.index[k][p]] += share * at.weight[k][p];
    }
  }
  const int64_t number = group * a.taps() + tap, all = a.offset_groups * a.taps();
  float* down = a.d_offset + (block.image * 2 * all + 2 * number) * a.pixels() + block.first;
  for (int64_t p = 0; p < block.count; ++p) {
    down[p] = d_down[p] * at.mask[p];
    down[a.pixels() + p] = d_right[p] * at.mask[p];
    if (a.d_mask != nullptr) a.d_mask[(block.image * all + number) * a.pixels() + block.first + p] = d_mask[p];
  }
}

void BackwardInput(const DeformConvArgs& a, float* columns, Range images) {
  Places places;
  const int64_t taps = a.taps(), inner = a.group_channels() * taps, image_size = a.channels * a.height * a.width;
  for (int64_t image = images.begin; image < images.end; ++image) {
    Fill(a.dx + image * image_size, image_size, 0.0f);
    for (int64_t number = 0; number < a.blocks(); ++number) {
      const Block block = BlockOf(a, image, number);
      for (int64_t g = 0; g < a.groups; ++g) {
        const int64_t first = g * a.group_outputs();
        Product(inner, block.count, a.group_outputs(), {a.weight + first * inner, 1, inner},
                {a.dy + (image * a.outputs + first) * a.pixels() + block.first, a.pixels()},
                {columns + g * inner * kPixels, kPixels}, false);
      }
      for (int64_t g = 0; g < a.offset_groups; ++g) {
        for (int64_t tap = 0; tap < taps; ++tap) {
          FindPlaces(a, block, g, tap, places);
          ScatterTap(a, block, g, tap, places, columns);
        }
      }
    }
  }
}

// The weights of one input channel: dWeight^T [taps][outputs] = columns [taps][pixels] dY^T [pixels][outputs].
void BackwardWeight(const DeformConvArgs& a, float* workspace, Range channels) {
  Places places;
  const int64_t taps = a.taps(), outputs = a.group_outputs();
  float *columns = workspace, *turned = columns + taps * kPixels, *sums = turned + kPixels * outputs;
  for (int64_t c = channels.begin; c < channels.end; ++c) {
    const int64_t first = c / a.group_channels() * outputs;
    Fill(sums, taps * outputs, 0.0f);
    for (int64_t u = 0; u < a.batch * a.blocks(); ++u) {
      const Block block = BlockOf(a, u / a.blocks(), u % a.blocks());
      for (int64_t tap = 0; tap < taps; ++tap) {
        FindPlaces(a, block, c / a.moved_together(), tap, places);
        Sample(a.x + (block.image * a.channels + c) * a.height * a.width, places, block.count, columns + tap * kPixels);
      }
      for (int64_t o = 0; o < outputs; ++o) {
        const float* dy = a.dy + (block.image * a.outputs + first + o) * a.pixels() + block.first;
        for (int64_t p = 0; p < block.count; ++p) turned[p * outputs + o] = dy[p];
      }
      Product(taps, outputs, block.count, {columns, kPixels, 1}, {turned, outputs}, {sums, outputs}, true);
    }
    for (int64_t o = 0; o < outputs; ++o) {
      for (int64_t tap = 0; tap < taps; ++tap) {
        a.d_weight[((first + o) * a.group_channels() + c % a.group_channels()) * taps + tap] = sums[tap * outputs + o];
      }
    }
  }
}

void BackwardBias(const DeformConvArgs& a, Range outputs) {
  for (int64_t o = outputs.begin; o < outputs.end; ++o) {
    float all = 0;
    for (int64_t n = 0; n < a.batch; ++n) {
      const float* dy = a.dy + (n * a.outputs + o) * a.pixels();
      float sum = 0;
      TENON_SIMD_SUM(sum) for (int64_t p = 0; p < a.pixels(); ++p) sum += dy[p];
      all += sum;
    }
    a.d_bias[o] = all;
  }
}

}  // namespace

extern const DeformConvLoops kDeformConv;
const DeformConvLoops kDeformConv = {&Forward, &BackwardInput, &BackwardWeight, &BackwardBias};

}  // namespace tenon::ops::TENON_OPS_ISA

#else
#include "plugins/ops_custom/definition.h"

TENON_OPS_LOOPS(DeformConvLoops, kDeformConv);

namespace tenon::ops {
namespace {

constexpr tenon_param_def kInputs[] = {sdk::Param("X", 0, kF32), sdk::Param("Weight", 0, kF32),
                                       sdk::Param("Offset", 0, kF32), sdk::Param("Bias", TENON_PARAM_OPTIONAL, kF32),
                                       sdk::Param("Mask", TENON_PARAM_OPTIONAL, kF32)};
constexpr tenon_param_def kOutputs[] = {sdk::Param("Y", 0, kF32)};
constexpr tenon_param_def kGradInputs[] = {sdk::Param("dY", 0, kF32),
                                           sdk::Param("X", 0, kF32),
                                           sdk::Param("Weight", 0, kF32),
                                           sdk::Param("Offset", 0, kF32),
                                           sdk::Param("Bias", TENON_PARAM_OPTIONAL, kF32),
                                           sdk::Param("Mask", TENON_PARAM_OPTIONAL, kF32)};
constexpr tenon_param_def kGradOutputs[] = {
    sdk::Param("dX", 0, kF32), sdk::Param("dWeight", 0, kF32), sdk::Param("dOffset", 0, kF32),
    sdk::Param("dBias", TENON_PARAM_OPTIONAL, kF32), sdk::Param("dMask", TENON_PARAM_OPTIONAL, kF32)};
constexpr tenon_attribute_def kAttributes[] = {
    sdk::AttributeDef("dilation", TENON_ATTRIBUTE_INTS, 0, nullptr,
                      "distance between taps, down and right; absent: 1, 1"),
    sdk::AttributeDef("padding", TENON_ATTRIBUTE_INTS, 0, nullptr, "zeros around the image; absent: 0, 0"),
    sdk::AttributeDef("stride", TENON_ATTRIBUTE_INTS, 0, nullptr, "steps of the window; absent: 1, 1"),
};
constexpr tenon_gradient_source kSources[] = {sdk::FromOutputGrad(0), sdk::FromInput(0), sdk::FromInput(1),
                                              sdk::FromInput(2),      sdk::FromInput(3), sdk::FromInput(4)};
constexpr uint32_t kGradOf[] = {0, 1, 2, 3, 4};
constexpr tenon_paired_gradient kGradient = sdk::PairedGradient(kDomain, "DeformConvGrad", 1, kSources, kGradOf);

// Two numbers, of which none is below `least`.
void CheckPair(const sdk::Infer& node, std::string_view name, int64_t least) {
  const sdk::Dims pair = node.Ints(name);
  if (pair.size() != 0 && pair.size() != 2)
    node.Fail(TENON_INVALID_ARGUMENT, "Attribute ", name, " has ", pair.size(),
              " numbers; it needs 2, down and right.");
  for (const int64_t number : pair) {
    if (number < least)
      node.Fail(TENON_INVALID_ARGUMENT, "Attribute ", name, " is ", pair, "; its numbers must be at least ", least,
                ".");
  }
}

// (size + 2 padding - dilation (kernel - 1) - 1) / stride + 1
tenon_dim OutDim(const sdk::Infer& node, int32_t axis) {
  const auto at = [&](std::string_view name, int64_t fallback) {
    const sdk::Dims pair = node.Ints(name);
    return pair.size() == 0 ? fallback : pair[static_cast<uint32_t>(axis)];
  };
  const tenon_dim kernel = node.InputDim(1, 2 + axis);
  const tenon_dim reach = node.Mul(sdk::Known(at("dilation", 1)), node.Sub(kernel, sdk::Known(1)));
  const tenon_dim padded = node.Add(node.InputDim(0, 2 + axis), sdk::Known(2 * at("padding", 0) - 1));
  const tenon_dim steps = node.Sub(padded, reach);
  if (sdk::IsKnown(steps) && steps.value < 0)
    node.Fail(TENON_INVALID_ARGUMENT, "The window reaches over ", reach.value + 1, " pixels of axis ", 2 + axis,
              ", and X has ", padded.value + 1, " there with its padding.");
  return node.Add(node.FloorDiv(steps, sdk::Known(at("stride", 1))), sdk::Known(1));
}

// The first axis of an operand is that of X, the last two are those of the result.
void RequirePlanes(const sdk::Infer& node, uint32_t input, std::string_view name, const tenon_dim* out) {
  RequireRank(node, input, name, 4);
  const sdk::TextBuffer batch("X and ", name, " need the same batch."), size(name, " needs the size of the result.");
  node.RequireEqual(node.InputDim(0, 0), node.InputDim(input, 0), batch.View());
  for (int32_t axis = 0; axis < 2; ++axis) node.RequireEqual(node.InputDim(input, 2 + axis), out[axis], size.View());
}

// Where channels are known, they must divide into the groups.
void CheckGroups(const sdk::Infer& node) {
  const tenon_dim channels = node.InputDim(0, 1), part = node.InputDim(1, 1), outputs = node.InputDim(1, 0);
  if (sdk::IsKnown(channels) && channels.value < 1)
    node.Fail(TENON_INVALID_ARGUMENT, "X has ", channels.value, " channels; it needs at least 1.");
  if (!sdk::IsKnown(part)) return;
  if (part.value < 1) node.Fail(TENON_INVALID_ARGUMENT, "Weight has ", part.value, " channels; it needs at least 1.");
  node.RequireDivisible(channels, part.value, "The channels of X must be a multiple of those of Weight.");
  if (sdk::IsKnown(channels))
    node.RequireDivisible(outputs, channels.value / part.value,
                          "The outputs of Weight must be a multiple of the groups.");
  const tenon_dim kernel[] = {node.InputDim(1, 2), node.InputDim(1, 3)};
  if (!sdk::IsKnown(kernel[0]) || !sdk::IsKnown(kernel[1])) return;
  const int64_t taps = kernel[0].value * kernel[1].value;
  if (taps < 1) node.Fail(TENON_INVALID_ARGUMENT, "Weight has ", taps, " taps; it needs at least 1.");
  const tenon_dim moves = node.InputDim(2, 1);
  node.RequireDivisible(moves, 2 * taps, "Offset needs two channels for each tap of each offset group.");
  if (sdk::IsKnown(moves) && moves.value < 1)
    node.Fail(TENON_INVALID_ARGUMENT, "Offset has ", moves.value, " channels; it needs at least ", 2 * taps, ".");
  if (sdk::IsKnown(moves))
    node.RequireDivisible(channels, moves.value / (2 * taps),
                          "The channels of X must be a multiple of the offset groups.");
}

int32_t Infer(const tenon_operator_def*, const tenon_infer_api* api, tenon_infer* infer) {
  return sdk::RunInfer(api, infer, [](sdk::Infer& node) {
    RequireRank(node, 0, "X [batch, channels, height, width]", 4);
    RequireRank(node, 1, "Weight [outputs, channels / groups, kernel height, kernel width]", 4);
    RequireRank(node, 2, "Offset", 4);
    CheckPair(node, "dilation", 1);
    CheckPair(node, "padding", 0);
    CheckPair(node, "stride", 1);
    CheckGroups(node);
    const tenon_dim out[] = {OutDim(node, 0), OutDim(node, 1)};
    RequirePlanes(node, 2, "Offset", out);
    if (node.input_count() > 3 && node.has_input(3)) {
      RequireRank(node, 3, "Bias", 1);
      node.RequireEqual(node.InputDim(3, 0), node.InputDim(1, 0), "Bias and Weight need the same outputs.");
    }
    if (node.input_count() > 4 && node.has_input(4)) {
      RequirePlanes(node, 4, "Mask", out);
      node.RequireEqual(node.Mul(node.InputDim(4, 1), sdk::Known(2)), node.InputDim(2, 1),
                        "Offset needs two channels for each one of Mask.");
    }
    node.SetOutput(0, TENON_DTYPE_F32, {node.InputDim(0, 0), node.InputDim(1, 0), out[0], out[1]});
  });
}

constexpr tenon_operator_def kOperator = sdk::OperatorBuilder(kDomain, "DeformConv", 1)
                                             .Inputs(kInputs)
                                             .Outputs(kOutputs)
                                             .Attributes(kAttributes)
                                             .Infer(&Infer)
                                             .Paired(&kGradient);

class DeformConvKernel : public CustomKernel {
 public:
  static bool Supports(const sdk::Query&, sdk::Reason&) { return true; }
  int32_t Create(const sdk::Query& query, sdk::Error&) {
    const sdk::Attributes a = query.attributes();
    for (uint32_t axis = 0; axis < 2; ++axis) {
      args_.dilation[axis] = a.IntAt("dilation", axis, 1);
      args_.padding[axis] = a.IntAt("padding", axis, 0);
      args_.stride[axis] = a.IntAt("stride", axis, 1);
    }
    return TENON_OK;
  }

 protected:
  // `first` is the number of X among the inputs.
  void SetShape(const sdk::PlanArgs& args, uint32_t first) {
    SetThreads(args);
    const sdk::Dims x = args.input(first).dims(), weight = args.input(first + 1).dims();
    const sdk::Dims offset = args.input(first + 2).dims();
    args_.batch = x[0], args_.channels = x[1], args_.height = x[2], args_.width = x[3];
    args_.outputs = weight[0], args_.groups = x[1] / weight[1];
    args_.kernel[0] = weight[2], args_.kernel[1] = weight[3];
    args_.out[0] = offset[2], args_.out[1] = offset[3];
    args_.offset_groups = offset[1] / (2 * args_.taps());
  }
  int32_t CheckSize(sdk::Error& error) const {
    if (args_.height * args_.width <= INT32_MAX) return TENON_OK;
    return error.Fail(TENON_UNIMPLEMENTED, "X has ", args_.height * args_.width, " pixels; at most ", INT32_MAX,
                      " are possible.");
  }
  void SetInputs(const sdk::Call& call, uint32_t first, DeformConvArgs& args) const {
    args.x = call.in<float>(first), args.weight = call.in<float>(first + 1), args.offset = call.in<float>(first + 2);
    args.bias = call.has_input(first + 3) ? call.in<float>(first + 3) : nullptr;
    args.mask = call.has_input(first + 4) ? call.in<float>(first + 4) : nullptr;
  }
  static uint64_t Rounded(int64_t floats) { return static_cast<uint64_t>(floats + 15) / 16 * 16; }
  // Of the products of one output pixel.
  double PixelNanoseconds() const {
    return 0.01 * static_cast<double>(args_.outputs * args_.group_channels() * args_.taps()) +
           1.0 * static_cast<double>(args_.channels * args_.taps());
  }

  DeformConvArgs args_;
};

class Forward : public DeformConvKernel {
 public:
  int32_t Plan(const sdk::PlanArgs& args, sdk::PlanResult& result, sdk::Error& error) {
    SetShape(args, 0);
    floats_ = Rounded(DeformConvWorkspace(args_));
    result.Workspace(threads() * floats_ * sizeof(float));
    return CheckSize(error);
  }
  int32_t Execute(const sdk::Call& call, sdk::Error& error) const {
    DeformConvArgs args = args_;
    SetInputs(call, 0, args);
    args.y = call.out<float>(0);
    const auto forward = kDeformConv(isa()).forward;
    return ForEach(
        error, args.batch * args.blocks(), kDeformPixels * PixelNanoseconds(),
        [&](Range blocks, uint32_t worker) { forward(args, call.workspace<float>() + worker * floats_, blocks); });
  }

 private:
  uint64_t floats_ = 0;
};

class Backward : public DeformConvKernel {
 public:
  int32_t Plan(const sdk::PlanArgs& args, sdk::PlanResult& result, sdk::Error& error) {
    SetShape(args, 1);
    const int64_t input = DeformConvWorkspace(args_), weight = DeformConvWeightWorkspace(args_);
    floats_ = Rounded(input > weight ? input : weight);
    result.Workspace(threads() * floats_ * sizeof(float));
    return CheckSize(error);
  }
  int32_t Execute(const sdk::Call& call, sdk::Error& error) const {
    DeformConvArgs args = args_;
    SetInputs(call, 1, args);
    args.dy = call.in<float>(0);
    args.dx = call.out<float>(0), args.d_weight = call.out<float>(1), args.d_offset = call.out<float>(2);
    args.d_bias = args.bias != nullptr && call.has_output(3) ? call.out<float>(3) : nullptr;
    args.d_mask = args.mask != nullptr && call.has_output(4) ? call.out<float>(4) : nullptr;
    const DeformConvLoops& loops = kDeformConv(isa());
    const auto workspace = [&](uint32_t worker) { return call.workspace<float>() + worker * floats_; };
    const double image = static_cast<double>(args.pixels()) * PixelNanoseconds();
    int32_t code = ForEach(error, args.batch, 4 * image, [&](Range images, uint32_t worker) {
      loops.backward_input(args, workspace(worker), images);
    });
    if (code != TENON_OK) return code;
    const double channel = image * static_cast<double>(args.batch) / static_cast<double>(args.channels);
    code = ForEach(error, args.channels, channel,
                   [&](Range channels, uint32_t worker) { loops.backward_weight(args, workspace(worker), channels); });
    if (code != TENON_OK || args.d_bias == nullptr) return code;
    return ForEach(error, args.outputs, 0.1 * static_cast<double>(args.batch * args.pixels()),
                   [&](Range outputs, uint32_t) { loops.backward_bias(args, outputs); });
  }

 private:
  uint64_t floats_ = 0;
};

}  // namespace

void AddDeformConv(Library& library) {
  library.operators.push_back(kOperator);
  library.operators.push_back(sdk::OperatorBuilder(kDomain, "DeformConvGrad", 1)
                                  .Inputs(kGradInputs)
                                  .Outputs(kGradOutputs)
                                  .Attributes(kAttributes)
                                  .Infer(&sdk::InferGradientOf<kOperator>)
                                  .NoGradient());
  library.AddKernel<Forward>("DeformConv", "deform_conv");
  library.AddKernel<Backward>("DeformConvGrad", "deform_conv_grad");
}

}  // namespace tenon::ops
#endif
