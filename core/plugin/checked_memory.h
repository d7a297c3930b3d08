#pragma once

#include <cstdint>

#include "core/plugin/checked_call.h"

namespace tenon::checked {

// What stands around memory that is watched: `guard` bytes from `base` on, then `bytes` of memory, then `guard` bytes again.
inline constexpr unsigned char kGuardByte = 0xA7;
void CheckGuards(const Site& site, std::uint64_t base, std::uint64_t guard, std::uint64_t bytes, const char* what);

// Slots of tenon.memory. Memory that the host reaches lies between guards that are looked at when it is freed.
std::int32_t GetSpace(tenon_device* device, std::uint32_t index, tenon_space** space, tenon_space_info* info,
                      tenon_error* error);
std::int32_t Allocate(tenon_space* space, std::uint64_t bytes, std::uint64_t align, tenon_stream* stream,
                      std::uint32_t hint, tenon_buffer** out, std::uint64_t* address, tenon_error* error);
void Free(tenon_buffer* buffer, tenon_stream* stream);
std::int32_t WrapExternal(tenon_space* space, std::uint64_t address, std::uint64_t bytes, tenon_deleter_fn deleter,
                          void* user, tenon_buffer** out, tenon_error* error);

}  // namespace tenon::checked
