#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/exec/device_target.h"
#include "core/exec/program.h"

namespace tenon::exec {

// What a compiled step will run and need, known before it runs. All sizes in bytes.
struct StepPlan {
  struct Node {
    std::string name, op;
    std::string kernel;                // "device_cpu/conv_direct", "reference", "view", "reorder"
    std::vector<std::string> refused;  // candidates that come before it, each with the reason
    std::int64_t flops = 0;            // -1: not known
  };
  // Everything that belongs to one node of the network: what it reads, keeps and makes, its gradients included. Values that
  // are computed in place count once, at the node that made them. Rows do not add up to the peak: memory is used again.
  struct Layer {
    std::string name, op;
    std::int64_t flops = 0;  // forward and backward
    std::int64_t weights = 0, activations = 0, gradients = 0, optimizer = 0, workspace = 0;
  };
  std::vector<Node> nodes;    // in the order in which they run
  std::vector<Layer> layers;  // in the order of the network; the optimiser is the last one
  std::int64_t flops = 0;
  std::int64_t parameters = 0;      // numbers, not bytes
  std::int64_t arena_bytes = 0;     // activations, gradients and workspaces at their peak
  std::int64_t variable_bytes = 0;  // parameters, running statistics, optimiser state
  std::int64_t constant_bytes = 0;

  std::int64_t device_bytes() const { return arena_bytes + variable_bytes + constant_bytes; }
};

// `target` is the one that the program was compiled for.
StepPlan DescribeStep(const Program& program, DeviceTarget& target);

}  // namespace tenon::exec
