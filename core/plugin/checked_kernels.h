#pragma once

#include <cstdint>

#include "core/plugin/checked_tables.h"

namespace tenon::checked {

// list_kernels of tenon.op: definitions whose tables are checked (CheckedTables::Kernels).
std::int32_t ListKernels(tenon_plugin* plugin, const tenon_kernel_def** first, std::uint64_t* count,
                         std::uint64_t* stride, tenon_error* error);
// The checked table of a kernel: its workspace lies between guards, its inputs must stay as they are, and a kernel that
// takes one call at a time gets one.
tenon_kernel_vtable KernelTable(const tenon_kernel_vtable& sound);

}  // namespace tenon::checked
