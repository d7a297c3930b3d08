#pragma once

#include <array>

#include "core/data/counter_rng.h"
#include "core/data/picture.h"
#include "core/data/transform_config.h"

namespace tenon {

// Changes of the colours of a picture, in place; after each the values are cut to 0..255 and to whole numbers (towards
// 0). Grey is 0.2989 r + 0.587 g + 0.114 b.
void AdjustBrightness(double factor, Picture* picture);  // v * factor
void AdjustContrast(double factor, Picture* picture);    // v * factor + mean grey * (1 - factor)
void AdjustSaturation(double factor, Picture* picture);  // v * factor + grey * (1 - factor)
void AdjustHue(double turn, Picture* picture);           // hue of the hexcone model + turn, 1 is the whole circle

// Draws the four factors and their order and applies those that `config` asks for.
void JitterColours(const ColorJitterConfig& config, const CounterRng& rng, Picture* picture);

inline bool ChangesColours(const ColorJitterConfig& config) {
  return config.brightness > 0 || config.contrast > 0 || config.saturation > 0 || config.hue > 0;
}

}  // namespace tenon
