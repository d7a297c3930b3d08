#include "plugins/device_cpu/device.h"

#include "plugins/device_cpu/kernels/short_transpose.h"
#include "plugins/device_cpu/kernels/strided.h"

namespace tenon::cpu {
namespace {

constexpr std::string_view kNhwcName = "cpu.nhwc";

void NhwcStridesOf(sdk::Dims dims, int64_t* out) {
  out[0] = dims[1] * dims[2] * dims[3];
  out[1] = 1;
  out[2] = dims[3] * dims[1];
  out[3] = dims[1];
}

// The same tensor with its strides spelled out.
tenon_tensor AsStrided(sdk::Tensor tensor, int64_t* strides) {
  tenon_tensor raw = tensor.raw();
  if (tensor.layout() == kNhwc) {
    NhwcStridesOf(tensor.dims(), strides);
    raw.strides = strides;
    raw.layout = TENON_LAYOUT_STRIDED;
  }
  return raw;
}

}  // namespace

int32_t CpuDevice::LayoutInfo(uint32_t layout, uint32_t dtype, sdk::Dims dims, tenon_layout_info& out,
                              sdk::Error& error) {
  if (layout != kNhwc) return HostDevice::LayoutInfo(layout, dtype, dims, out, error);
  if (dims.size() != 4) {
    return error.Fail(TENON_INVALID_ARGUMENT, "Layout ", kNhwcName, " is for rank 4; the tensor has shape ", dims, ".");
  }
  out.flags = TENON_LAYOUT_IS_STRIDED;
  out.bytes = sdk::DTypeBytes(dtype, dims.Elements());
  out.align = 64;
  sdk::NameLayout(out, kNhwcName);
  if (out.strides != nullptr) NhwcStridesOf(dims, out.strides);
  return TENON_OK;
}

int32_t CpuDevice::FindLayout(std::string_view name, uint32_t& out, sdk::Error& error) {
  if (name != kNhwcName) return HostDevice::FindLayout(name, out, error);
  out = kNhwc;
  return TENON_OK;
}

int32_t CpuDevice::Reorder(sdk::Tensor source, sdk::Tensor target, sdk::Stream* stream, sdk::Error& error) {
  const bool plain_source = source.layout() == TENON_LAYOUT_STRIDED && source.contiguous();
  const bool plain_target = target.layout() == TENON_LAYOUT_STRIDED && target.contiguous();
  const bool shorts = BytesOf(source.dtype()) == 2;
  const bool images = source.rank() == 4 && (shorts || source.dtype() == TENON_DTYPE_F32) &&
                      target.dtype() == source.dtype() && source.dims() == target.dims();
  if (images && ((plain_source && target.layout() == kNhwc) || (source.layout() == kNhwc && plain_target))) {
    // Per image a matrix [c][h * w] becomes its transpose.
    const int64_t channels = source.dim(1), area = source.dim(2) * source.dim(3);
    TransposeArgs t;
    t.batch = source.dim(0);
    t.rows = plain_source ? channels : area;
    t.columns = plain_source ? area : channels;
    if (shorts) {
      TransposeShorts(t.batch, t.rows, t.columns, source.data<const uint16_t>(), target.data<uint16_t>());
      return TENON_OK;
    }
    t.x = source.data<const float>();
    t.y = target.data<float>();
    KernelPool pool(host(), error);
    plugin_.routines().transpose(t, pool.parallel());
    return pool.code();
  }
  int64_t source_strides[4], target_strides[4];
  const tenon_tensor from = AsStrided(source, source_strides), to = AsStrided(target, target_strides);
  return HostDevice::Reorder(sdk::Tensor(from), sdk::Tensor(to), stream, error);
}

}  // namespace tenon::cpu
