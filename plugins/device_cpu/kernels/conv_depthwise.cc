// The gradient of the weights of convolutions over images in which each channel has a window of its own.
#include "plugins/device_cpu/kernels/conv_geometry.h"
#include "plugins/device_cpu/kernels/support.h"

namespace tenon::cpu {
namespace {

constexpr int64_t kFewestChannels = 8;  // less leave most lanes empty

// ConvWeightGrad(x, dy) -> dw, db.
template <class T>
class DepthwiseWeightGrad : public CpuKernel {
 public:
  static bool Supports(const sdk::Query& query, sdk::Reason& reason) {
    for (uint32_t i = 0; i < 2; ++i)
      if (!IsOf<T>(query, i, reason)) return false;
    const sdk::Value x = query.input(0), dy = query.input(1), w = query.output(0);
    if (!SupportsConv(query.attributes(), "", x, w, reason)) return false;
    if (x.rank() != 4) return reason.No("The rank is ", x.rank(), "; this kernel convolves images.");
    if (!x.dims().Known() || !w.dims().Known() || !dy.dims().Known()) return reason.No("A dim is not known.");
    const int64_t group = query.attributes().Int("group", 1);
    if (group != x.dim(1) || group != w.dim(0))
      return reason.No(x.dim(1), " channels to ", w.dim(0), " in ", group, " groups are not depthwise.");
    if (group < kFewestChannels)
      return reason.No("There are ", group, " channels; this kernel takes ", kFewestChannels, " and more.");
    return (x.elements() > 0 && dy.elements() > 0) || reason.No("There is no pixel.");
  }
  static void Layouts(const sdk::Query& query, sdk::LayoutEmitter& emitter) {
    const uint32_t inputs[] = {kNhwc, kNhwc}, outputs[] = {0, 0};
    const sdk::Value dy = query.input(1), w = query.output(0);
    const double products =
        static_cast<double>(dy.elements()) * static_cast<double>(w.elements()) / static_cast<double>(w.dim(0));
    emitter.Emit(products / 20.0 + 4000, inputs, 2, outputs, query.output_count());
  }
  int32_t Create(const sdk::Query& query, sdk::Error&) {
    windows_ = ReadWindows(query.attributes(), "", nullptr, 4);
    return TENON_OK;
  }
  int32_t Plan(const sdk::PlanArgs& args, sdk::PlanResult& result, sdk::Error&) {
    const sdk::Dims x = args.input(0).dims();
    const sdk::Value w = args.output(0);
    args_.shape = ShapeOf(windows_, x, w.dims());
    args_.shape.c = x[1];
    SetThreads(args);
    spare_at_ = this->template routines_of<T>().depthwise_weights_workspace(args_, threads_);
    const int64_t spare = args.has_output(0) ? 0 : w.elements() * static_cast<int64_t>(sizeof(T));
    result.Workspace(static_cast<uint64_t>(spare_at_ + spare));
    result.Algorithm(7, "depthwise");
    return TENON_OK;
  }
  int32_t Execute(const sdk::Call& call, sdk::Error& error) const {
    DepthwiseWeightsArgsOf<T> a = args_;
    a.x = call.in<T>(0), a.dy = call.in<T>(1);
    a.dw = call.has_output(0) ? call.out<T>(0) : reinterpret_cast<T*>(call.workspace<char>() + spare_at_);
    if (call.has_output(1)) a.db = call.out<T>(1);
    KernelPool pool(host(), error, threads_);
    this->template routines_of<T>().depthwise_weights(a, call.workspace<float>(), pool.parallel());
    return pool.code();
  }

 private:
  ConvWindows windows_;
  DepthwiseWeightsArgsOf<T> args_;
  int64_t spare_at_ = 0;  // in the workspace, in bytes: for weights that nobody asked for
};

}  // namespace

void AddDepthwiseConvKernels(KernelList& kernels) {
  AddOfBoth<DepthwiseWeightGrad>(kernels, "tenon", "ConvWeightGrad", "conv_weight_grad_depthwise_bf16");
}

}  // namespace tenon::cpu
