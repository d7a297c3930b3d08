// Mutations of memory.
#include <algorithm>
#include <map>
#include <mutex>

#include "mutations.h"

namespace mutant {
namespace {

void AllocMisaligned(Tables* tables) {
  tables->memory.alloc = [](tenon_space* space, uint64_t bytes, uint64_t align, tenon_stream* stream, uint32_t hint,
                            tenon_buffer** out, uint64_t* address, tenon_error* error) {
    const int32_t code =
        Sound().memory.alloc(space, bytes == 0 ? 0 : bytes + 64, align, stream, hint, out, address, error);
    if (code == TENON_OK && bytes > 0) *address += 8;
    return code;
  };
}

// All small blocks lie at one place.
void AllocOverlaps(Tables* tables) {
  tables->memory.alloc = [](tenon_space* space, uint64_t bytes, uint64_t align, tenon_stream* stream, uint32_t hint,
                            tenon_buffer** out, uint64_t* address, tenon_error* error) {
    constexpr uint64_t kSmall = 4096;
    static uint64_t shared = 0;
    const bool small = bytes > 0 && bytes <= kSmall;
    const int32_t code =
        Sound().memory.alloc(space, small ? kSmall : bytes, small ? 4096 : align, stream, hint, out, address, error);
    if (code != TENON_OK || !small) return code;
    if (shared == 0) shared = *address;
    *address = shared;
    return code;
  };
}

void AllocOfNothingFails(Tables* tables) {
  tables->memory.alloc = [](tenon_space* space, uint64_t bytes, uint64_t align, tenon_stream* stream, uint32_t hint,
                            tenon_buffer** out, uint64_t* address, tenon_error* error) {
    if (bytes == 0) return Fail(error, TENON_INVALID_ARGUMENT, "There are 0 bytes to allocate.");
    return Sound().memory.alloc(space, bytes, align, stream, hint, out, address, error);
  };
}

void OutOfMemoryWithoutNumbers(Tables* tables) {
  tables->memory.alloc = [](tenon_space* space, uint64_t bytes, uint64_t align, tenon_stream* stream, uint32_t hint,
                            tenon_buffer** out, uint64_t* address, tenon_error* error) {
    const int32_t code = Sound().memory.alloc(space, bytes, align, stream, hint, out, address, nullptr);
    return code == TENON_OK ? code : Fail(error, code, "There is no memory for this; ask 64, 96 or fewer bytes.");
  };
}

void StatsOnlyGrow(Tables* tables) {
  tables->memory.stats = [](tenon_space* space, tenon_memory_stats* out, tenon_error* error) {
    const int32_t code = Sound().memory.stats(space, out, error);
    static uint64_t highest = 0;
    highest = std::max(highest, out->current_bytes);
    out->current_bytes = highest;
    return code;
  };
}

void FreeNotOrdered(Tables* tables) {
  tables->memory.free = [](tenon_buffer* buffer, tenon_stream*) { Sound().memory.free(buffer, nullptr); };
}

void FreeKeeps(Tables* tables) {
  tables->memory.free = [](tenon_buffer* buffer, tenon_stream* stream) {
    if (stream == nullptr) Sound().memory.free(buffer, nullptr);
  };
}

bool Overlaps(const tenon_copy& copy) {
  return copy.rows == 1 && copy.source < copy.target + copy.row_bytes && copy.target < copy.source + copy.row_bytes;
}

void CopyOverItself(Tables* tables) {
  tables->memory.copy = [](tenon_device* device, const tenon_copy* copy, tenon_stream* stream, tenon_error* error) {
    if (!Overlaps(*copy) || copy->row_bytes == 0) return Sound().memory.copy(device, copy, stream, error);
    auto* target = reinterpret_cast<volatile char*>(copy->target);
    const auto* source = reinterpret_cast<const volatile char*>(copy->source);
    for (uint64_t i = 0; i < copy->row_bytes; ++i) target[i] = source[i];
    return static_cast<int32_t>(TENON_OK);
  };
}

void CopySwapsPitches(Tables* tables) {
  tables->memory.copy = [](tenon_device* device, const tenon_copy* copy, tenon_stream* stream, tenon_error* error) {
    tenon_copy swapped = *copy;
    std::swap(swapped.source_pitch, swapped.target_pitch);
    return Sound().memory.copy(device, &swapped, stream, error);
  };
}

void CopyFillsGaps(Tables* tables) {
  tables->memory.copy = [](tenon_device* device, const tenon_copy* copy, tenon_stream* stream, tenon_error* error) {
    tenon_copy wide = *copy;
    if (copy->rows > 1 && copy->source_pitch == copy->target_pitch) {
      wide.row_bytes = copy->source_pitch * (copy->rows - 1) + copy->row_bytes;
      wide.rows = 1;
    } else if (copy->rows > 1 && copy->target_pitch > copy->row_bytes && copy->source_pitch > copy->row_bytes) {
      wide.row_bytes += 1;
    }
    return Sound().memory.copy(device, &wide, stream, error);
  };
}

void CopyReadsLate(Tables* tables) {
  tables->memory.copy = [](tenon_device* device, const tenon_copy* copy, tenon_stream* stream, tenon_error* error) {
    tenon_copy late = *copy;
    if (late.source_space == nullptr) late.host_source = TENON_HOST_SOURCE_UNTIL_EVENT;
    return Sound().memory.copy(device, &late, stream, error);
  };
}

void FillMissesTail(Tables* tables) {
  tables->memory.fill = [](tenon_space* space, uint64_t address, uint64_t bytes, uint64_t pattern, uint32_t width,
                           tenon_stream* stream, tenon_error* error) {
    const bool whole = bytes % 8 == 0 || width == 0 || bytes % width != 0;
    return Sound().memory.fill(space, address, whole ? bytes : bytes / 8 * 8, pattern, width, stream, error);
  };
}

void DeleterTwice(Tables* tables) {
  tables->memory.wrap_external = [](tenon_space* space, uint64_t address, uint64_t bytes, tenon_deleter_fn deleter,
                                    void* user, tenon_buffer** out, tenon_error* error) {
    const int32_t code = Sound().memory.wrap_external(space, address, bytes, deleter, user, out, error);
    if (code == TENON_OK && deleter != nullptr) deleter(user);
    return code;
  };
}

void DeleterNever(Tables* tables) {
  tables->memory.wrap_external = [](tenon_space* space, uint64_t address, uint64_t bytes, tenon_deleter_fn, void*,
                                    tenon_buffer** out, tenon_error* error) {
    return Sound().memory.wrap_external(space, address, bytes, nullptr, nullptr, out, error);
  };
}

void PeerCopyDoesNothing(Tables* tables) {
  tables->memory.copy = [](tenon_device* device, const tenon_copy* copy, tenon_stream* stream, tenon_error* error) {
    const bool peer =
        copy->source_space != nullptr && copy->target_space != nullptr && copy->source_space != copy->target_space;
    return peer ? static_cast<int32_t>(TENON_OK) : Sound().memory.copy(device, copy, stream, error);
  };
}

constexpr Mutation kMutations[] = {
    {"alloc_misaligned", AllocMisaligned},
    {"alloc_overlaps", AllocOverlaps},
    {"alloc_of_nothing_fails", AllocOfNothingFails},
    {"out_of_memory_without_numbers", OutOfMemoryWithoutNumbers},
    {"stats_only_grow", StatsOnlyGrow},
    {"free_not_ordered", FreeNotOrdered},
    {"free_keeps", FreeKeeps},
    {"copy_over_itself", CopyOverItself},
    {"copy_swaps_pitches", CopySwapsPitches},
    {"copy_fills_gaps", CopyFillsGaps},
    {"copy_reads_late", CopyReadsLate},
    {"fill_misses_tail", FillMissesTail},
    {"deleter_twice", DeleterTwice},
    {"deleter_never", DeleterNever},
    {"peer_copy_does_nothing", PeerCopyDoesNothing},
};

}  // namespace

const Mutation* FindMemoryMutation(std::string_view name) { return FindIn(kMutations, name); }

}  // namespace mutant
