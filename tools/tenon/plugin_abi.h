#pragma once

#include <string>
#include <vector>

namespace tenon {

// `tenon plugin abi-diff A B [--json]`
struct PluginAbiDiffOptions {
  std::string a, b;
  bool json = false;
};
// Compares what two builds of a plugin offer to a host: note, tables slot by slot, operators, kernels, fused operators.
// 0: the same, 1: a difference, 2: no plugin file, 3: one of them cannot be opened, so that only the notes were compared.
int RunPluginAbiDiff(const PluginAbiDiffOptions& options);

// `tenon plugin check FILE... --host-abi MAJOR.MINOR [--json]`
struct PluginHostAbiOptions {
  std::vector<std::string> files;
  std::string host_abi;
  bool json = false;
};
// Would a host of that ABI load each file, and what would it do without? 0 when it would load all, 3 when not, 2 when the
// version is none.
int RunPluginHostAbi(const PluginHostAbiOptions& options);

}  // namespace tenon
