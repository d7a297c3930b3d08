#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tenon {

// Instruction sets of this processor that the operating system lets a process use.
struct CpuFeature {
  const char* name;  // as compilers call it: "avx2", "avx512f"
  bool present;
};

// Every feature known here, present or not, in a fixed order. Computed once.
const std::vector<CpuFeature>& CpuFeatures();

// False for a feature that is absent and for a name that is unknown.
bool HasCpuFeature(const char* name);

}  // namespace tenon
