// Descriptors, whose functions differ between versions 2 and 3 of the library. Everything else is the same for both.
#pragma once

#include <cstdint>
#include <vector>

#include "plugins/device_cpu/onednn/library.h"

namespace tenon::cpu::onednn {

// Dims, element type and strides of a tensor.
class MemoryDesc {
 public:
  // Without strides the library chooses the format. Functions of this class throw Failure.
  MemoryDesc(const Functions& functions, const std::vector<int64_t>& dims, dnnl_data_type_t dtype,
             const std::vector<int64_t>& strides = {});
  ~MemoryDesc();
  MemoryDesc(const MemoryDesc&) = delete;
  MemoryDesc& operator=(const MemoryDesc&) = delete;
  DescArg get() const;

 private:
  const Functions& functions_;
  dnnl_memory_desc_t desc_{};
};

enum class Direction { kForward, kData, kWeights };

// Operands and windows of one convolution; each list has an entry per spatial axis.
struct ConvDescs {
  DescArg x, weights, bias, y;  // bias may be null
  std::vector<int64_t> strides, dilations, pads_begin, pads_end;
};

// A primitive descriptor, owned by the caller. `forward`: the hint that gradients need. Of the library's implementations it is the first
// whose name does not begin with `avoided`, if that is given. Throws Failure.
dnnl_primitive_desc_t CreateConvolution(const Library& library, Direction direction, const ConvDescs& descs,
                                        const_dnnl_primitive_attr_t attr, const_dnnl_primitive_desc_t forward,
                                        const char* avoided = nullptr);

}  // namespace tenon::cpu::onednn
