#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/status.h"
#include "core/train/checkpoint.h"

namespace tenon {

// What a network or an optimiser needs under a name.
struct TensorTarget {
  std::string name;
  DType dtype = DType::kUndefined;
  Shape shape;
};

struct MatchOptions {
  bool lenient = false;  // false: any difference is an error; true: what fits is taken, the rest is counted
  // Names of the file to names of the targets. A key that ends in '.' is a prefix: {"backbone.": "net."}; an exact name
  // beats a prefix, a longer prefix a shorter one.
  std::map<std::string, std::string> rename{};
  // Names of the file that nobody asked for and that are no difference, as the scalars of a run.
  std::function<bool(const std::string&)> ignore{};
  // How the person asks for lenient: "init_from.strict: false". Empty: there is no way.
  std::string_view lenient_by{};
};

// Which tensor of the file goes where, and what did not fit.
struct MatchReport {
  std::vector<const Tensor*> tensors;  // one for each target, null where there is none; they belong to the checkpoint
  std::int64_t loaded = 0;
  std::vector<std::string> missing;     // targets without a tensor in the file
  std::vector<std::string> extra;       // tensors of the file without a target
  std::vector<std::string> mismatched;  // "fc.weight: the file has float32[4,3], the network needs float32[3,4]"

  bool complete() const { return missing.empty() && extra.empty() && mismatched.empty(); }
  // "Loaded 8 tensors, 1 missing, 2 extra, 0 mismatched."
  std::string Counts() const;
};

// Matches by name; type and shape must be equal, an equal element count is not enough. Strict: one error that lists
// every problem. Lenient: an error only when nothing at all fits.
Result<MatchReport> MatchTensors(const Checkpoint& checkpoint, std::span<const TensorTarget> targets,
                                 const MatchOptions& options);

}  // namespace tenon
