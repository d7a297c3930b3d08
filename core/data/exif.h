#pragma once

#include <cstdint>
#include <span>

#include "core/data/picture.h"

namespace tenon {

// The orientation (1 to 8) that an EXIF block notes: a TIFF header with its first list of entries, as it follows
// "Exif\0\0" in a JPEG and stands in a PNG's eXIf chunk. 1, upright, for whatever is damaged or absent: the note is advice.
int ExifOrientation(std::span<const std::uint8_t> tiff);

// Turns and mirrors `in` so that a picture noted as `orientation` stands upright.
void Turn(int orientation, const Picture& in, Picture* out);

}  // namespace tenon
