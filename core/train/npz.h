#pragma once

#include <cstdint>
#include <span>

#include "core/base/status.h"
#include "core/train/checkpoint.h"

namespace tenon {

// Reads numpy's .npz, a zip archive of .npy files (savez and savez_compressed), that lies in memory. Names are those of
// the entries without ".npy". Sizes and checksums of the archive are checked; an error names the entry.
Result<Checkpoint> ReadNpz(std::span<const std::uint8_t> file);

}  // namespace tenon
