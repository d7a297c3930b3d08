// tenon.GroupNormalizationGrad(dY, X, scale; num_groups, epsilon) -> dX, dscale, dbias: with the mean and deviation of every
// group computed anew, xhat = (X - mean) * inv_std and g = dY * scale, per group of n values
// dX = inv_std * (g - (sum g + xhat * sum(g * xhat)) / n); per channel dscale = sum dY * xhat, dbias = sum dY. InstanceNormalization
// has one channel a group.
#include <vector>

#include "core/ops/group_norm.h"

namespace tenon {
namespace {

Status Infer(InferContext& context) {
  const SymShape &dy = context.shape(0), &x = context.shape(1);
  TENON_INVALID_IF(x.rank() < 2 || !(dy == x), "dY has shape {} and X {}; both must be [N, C, D1 ..].", dy, x);
  TENON_TRY(CheckGroups(context, 1, 2, context.attrs().Int("num_groups"), x[1]));
  context.SetOutput(0, context.dtype(0), x);
  context.SetOutput(1, context.dtype(0), context.shape(2));
  context.SetOutput(2, context.dtype(0), context.shape(2));
  return {};
}

template <class T>
void Differentiate(const ReferenceArgs& args, const GroupLayout& layout, double epsilon) {
  const T *dy = args.inputs[0].data<T>(), *x = args.inputs[1].data<T>(), *scale = args.inputs[2].data<T>();
  const std::int64_t extent = layout.extent();
  std::vector<double> dscale(static_cast<std::size_t>(layout.groups * layout.channels)), dbias(dscale.size());
  for (std::int64_t n = 0; n < layout.samples; ++n) {
    for (std::int64_t g = 0; g < layout.groups; ++g) {
      const std::int64_t begin = layout.begin(n, g);
      const Moments moments = MomentsOf(x + begin, extent, epsilon);
      const auto channel = [&](std::int64_t i) { return g * layout.channels + i / layout.area; };
      const auto xhat = [&](std::int64_t i) {
        return (static_cast<double>(x[begin + i]) - moments.mean) * moments.inv_std;
      };
      double sum = 0, dot = 0;
      for (std::int64_t i = 0; i < extent; ++i) {
        const auto c = static_cast<std::size_t>(channel(i));
        const double grad = static_cast<double>(dy[begin + i]);
        sum += grad * static_cast<double>(scale[c]);
        dot += grad * static_cast<double>(scale[c]) * xhat(i);
        dscale[c] += grad * xhat(i);
        dbias[c] += grad;
      }
      for (std::int64_t i = 0; i < extent && args.wants(0); ++i) {
        const double grad = static_cast<double>(dy[begin + i]) * static_cast<double>(scale[channel(i)]);
        const double dx = moments.inv_std * (grad - (sum + xhat(i) * dot) / static_cast<double>(extent));
        args.outputs[0].data<T>()[begin + i] = static_cast<T>(static_cast<Accumulator<T>>(dx));
      }
    }
  }
  for (std::size_t c = 0; c < dscale.size(); ++c) {
    if (args.wants(1)) args.outputs[1].data<T>()[c] = static_cast<T>(static_cast<Accumulator<T>>(dscale[c]));
    if (args.wants(2)) args.outputs[2].data<T>()[c] = static_cast<T>(static_cast<Accumulator<T>>(dbias[c]));
  }
}

Status Reference(const ReferenceArgs& args) {
  const GroupLayout layout = GroupLayoutOf(args.inputs[1].shape(), args.attrs.Int("num_groups"));
  ForFloating(args.inputs[1].dtype(), [&]<class T>() { Differentiate<T>(args, layout, args.attrs.Float("epsilon")); });
  return {};
}

}  // namespace

void DefineOp_group_normalization_grad(OpRegistry& ops) {
  ops.DefineTenon("GroupNormalizationGrad")
      .Input("dY", kFloatingTypes)
      .Input("X", kFloatingTypes)
      .Input("scale", kFloatingTypes)
      .Output("dX")
      .OptionalOutput("dscale")
      .OptionalOutput("dbias")
      .RequiredAttr("num_groups", AttrType::kInt)
      .Attr("epsilon", 1e-5)
      .Infer(Infer)
      .Reference(Reference);
}

}  // namespace tenon
