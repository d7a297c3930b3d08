// A convolution of oneDNN, planned once and run many times on the caller's memory.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "plugins/device_cpu/onednn/descriptors.h"

namespace tenon::cpu::onednn {

// x [n, c, axes...], weights [oc, c / group, kernel...] row-major, y [n, oc, axes...] with the strides of the caller's
// memory. kData computes x from weights and y, kWeights computes weights (and bias) from x and y.
struct ConvProblem {
  Direction direction = Direction::kForward;
  dnnl_data_type_t x_type = dnnl_f32, weights_type = dnnl_f32, y_type = dnnl_f32;
  std::vector<int64_t> x, weights, y;
  std::vector<int64_t> x_strides, y_strides;
  std::vector<int64_t> strides, dilations, pads_begin, pads_end;
  int64_t group = 1;
  dnnl_data_type_t bias_type = dnnl_data_type_undef;  // forward: added; kWeights: its gradient; undefined: none
};

// Strides of dims [n, c, axes...]: row-major, or with the channels last.
std::vector<int64_t> RowMajorStrides(const std::vector<int64_t>& dims);
std::vector<int64_t> ChannelLastStrides(const std::vector<int64_t>& dims);

// The library computes on channel-last images and on weights in a format of its own: whatever the caller has otherwise is
// converted in the workspace. Execute may run on several threads at once.
class Convolution {
 public:
  // Throws Failure. `threads` is the size of the library's teams, now and in Execute.
  Convolution(const Library& library, const ConvProblem& problem, int threads);

  uint64_t workspace_bytes() const { return workspace_bytes_; }
  std::string_view implementation() const { return implementation_; }

  struct Operands {
    void *x = nullptr, *weights = nullptr, *bias = nullptr, *y = nullptr;
  };
  // workspace: workspace_bytes(), aligned to 64. Throws Failure.
  void Execute(const Operands& operands, void* workspace) const;

 private:
  struct Primitive {
    dnnl_primitive_desc_t desc = nullptr;
    dnnl_primitive_t handle = nullptr;
  };
  // An operand of the convolution, and how to get from the caller's form to the library's (back, for a result).
  struct Operand {
    int arg = 0;
    std::unique_ptr<MemoryDesc> own;
    DescArg desc = nullptr;  // what the convolution takes
    Primitive reorder;       // empty: the caller's memory is used as it is
    uint64_t offset = 0;     // of the converted operand in the workspace
    bool result = false;
    void* Operands::*pointer = nullptr;
  };
  class Memory;
  // What the library made for this object; given back even when the constructor throws.
  struct Owned {
    const Functions& functions;
    dnnl_primitive_attr_t attr = nullptr;
    std::vector<Primitive> primitives;
    ~Owned();
  };

  Primitive Make(dnnl_primitive_desc_t desc);
  DescArg Query(dnnl_query_t what) const;
  void Add(dnnl_query_t what, int arg, bool result, std::unique_ptr<MemoryDesc> own, void* Operands::*pointer);
  uint64_t Reserve(uint64_t bytes);
  void Run(const Primitive& primitive, dnnl_stream_t stream, std::vector<dnnl_exec_arg_t> args, char* workspace) const;

  const Library& library_;
  const int threads_;
  Owned owned_;
  Primitive convolution_;
  std::vector<Operand> operands_;
  uint64_t scratch_offset_ = 0, scratch_bytes_ = 0, workspace_bytes_ = 0;
  std::string_view implementation_;
};

}  // namespace tenon::cpu::onednn
