// max_pool, average_pool, global_average_pool.
#include "core/train/layer.h"

namespace tenon {
namespace {

struct Pool : LayerKeys {
  PerAxis kernel;
  PerAxis stride;
  PerAxis pad{{0}};
};

const ConfigTable& ConfigTableOf(const Pool*) {
  static const ConfigTable table =
      Table<Pool>("The largest value, or the mean, of each window.",
                  LayerFields<Pool>({
                      Field("kernel", &Pool::kernel, AtLeast(1) & Required(), "window"),
                      Field("stride", &Pool::stride, AtLeast(1), "steps of the window; absent: the kernel"),
                      Field("pad", &Pool::pad, AtLeast(0), "padding on each side, not counted in a mean"),
                  }));
  return table;
}

struct GlobalPool : LayerKeys {};

const ConfigTable& ConfigTableOf(const GlobalPool*) {
  static const ConfigTable table = Table<GlobalPool>("The mean of each channel.", LayerFields<GlobalPool>({}));
  return table;
}

LayerResult BuildPool(LayerBuilder& builder, const Pool& pool, std::string_view kind, std::string_view op) {
  TENON_ASSIGN(const int spatial, builder.SpatialRank(kind));
  TENON_ASSIGN(const auto kernel, pool.kernel.Expand(spatial, "kernel"));
  std::vector<std::int64_t> stride = kernel;
  if (!pool.stride.values.empty()) {
    TENON_ASSIGN(stride, pool.stride.Expand(spatial, "stride"));
  }
  TENON_ASSIGN(auto pads, pool.pad.Expand(spatial, "pad"));
  const std::vector<std::int64_t> one_side = pads;
  pads.insert(pads.end(), one_side.begin(), one_side.end());
  return builder.Op(op, {builder.inputs[0]}, {{"kernel_shape", kernel}, {"strides", stride}, {"pads", pads}});
}

LayerResult BuildMax(LayerBuilder& builder, const Pool& pool) {
  return BuildPool(builder, pool, "max_pool", "MaxPool");
}
LayerResult BuildAverage(LayerBuilder& builder, const Pool& pool) {
  return BuildPool(builder, pool, "average_pool", "AveragePool");
}
LayerResult BuildGlobal(LayerBuilder& builder, const GlobalPool&) {
  TENON_TRY(builder.SpatialRank("global_average_pool"));
  return builder.Op("GlobalAveragePool", {builder.inputs[0]});
}

}  // namespace

std::vector<LayerKind> PoolLayers() {
  return {MakeLayerKind<Pool>("max_pool", 1, BuildMax), MakeLayerKind<Pool>("average_pool", 1, BuildAverage),
          MakeLayerKind<GlobalPool>("global_average_pool", 1, BuildGlobal)};
}

}  // namespace tenon
