#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/graph/graph.h"
#include "core/graph/pattern.h"

namespace tenon::graph {

// Physical format of a value: 0 is row-major, others are interned by the device for the life of the process.
using LayoutId = std::uint32_t;
inline constexpr LayoutId kStrided = 0;

// One operator application as a kernel is asked about it; dims are known.
struct KernelQuery {
  std::string domain, type;
  int version = 0;
  const OpDef* def = nullptr;      // null for fused operators
  const FusedOp* fused = nullptr;  // of fused operators
  const Attributes* attrs = nullptr;
  std::vector<ValueType> inputs;   // undefined: absent
  std::vector<ValueType> outputs;  // undefined: not wanted
  std::vector<bool> constant;      // per input: a parameter or constant
  std::vector<Tensor> content;     // per input: its value where that is known before a run, else undefined
};
KernelQuery QueryOf(const Graph& graph, const Node& node);

// A combination of layouts that a kernel offers. `cost_ns`: its estimated time, comparable with Target::ReorderCost.
struct LayoutSignature {
  std::vector<LayoutId> inputs, outputs;
  double cost_ns = 0;
};

struct LayoutOffer {
  std::vector<LayoutSignature> signatures;  // never empty
  // The operator works on flat memory in whatever layout its operands share, padding included: operands of one shape
  // must have one layout. `signatures` then holds only the strided form.
  bool layout_blind = false;
};

struct InPlaceChoice {
  int output;
  int input;
  bool must;
};

// A kernel made ready for one node: algorithm chosen, scratch size known. Owned by the compilation, then by the program.
class PlannedKernel {
 public:
  virtual ~PlannedKernel() = default;
  virtual std::int64_t workspace_bytes() const = 0;
  virtual const std::vector<InPlaceChoice>& in_place() const = 0;
  virtual const std::string& name() const = 0;  // "device_cpu/conv", "reference"
  virtual bool is_reference() const = 0;
};

// What the passes may ask about the device that will run the graph. Implemented by core/exec.
class Target {
 public:
  virtual ~Target() = default;
  // Layout combinations of the kernel that would run this operator. Error: no kernel and no reference here, with the
  // reason of each refused candidate.
  virtual Result<LayoutOffer> Offer(const KernelQuery& query) = 0;
  virtual Result<std::unique_ptr<PlannedKernel>> Plan(const KernelQuery& query, std::span<const LayoutId> inputs,
                                                      std::span<const LayoutId> outputs) = 0;
  // Bytes of a value of known shape in a layout.
  virtual Result<std::int64_t> BytesOf(const ValueType& type, LayoutId layout) = 0;
  virtual double ReorderCost(const ValueType& type, LayoutId from, LayoutId to) = 0;
  virtual std::string LayoutName(LayoutId layout) const = 0;  // "strided", "nhwc"
  // Fused operators of the device's plugins, best first.
  virtual const std::vector<FusionRule>& Fusions() const = 0;
};

}  // namespace tenon::graph
