// The tables of mutations, one per file.
#pragma once

#include "mutant.h"

namespace mutant {

template <size_t kSize>
const Mutation* FindIn(const Mutation (&mutations)[kSize], std::string_view name) {
  for (const Mutation& mutation : mutations) {
    if (name == mutation.name) return &mutation;
  }
  return nullptr;
}

const Mutation* FindMemoryMutation(std::string_view name);
const Mutation* FindCaptureMutation(std::string_view name);
const Mutation* FindStreamMutation(std::string_view name);
const Mutation* FindKernelMutation(std::string_view name);
const Mutation* FindCollectiveMutation(std::string_view name);
const Mutation* FindClaimMutation(std::string_view name);
const Mutation* FindLifeMutation(std::string_view name);
const Mutation* FindProfilerMutation(std::string_view name);

}  // namespace mutant
