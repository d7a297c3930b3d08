#include "core/train/precision.h"

namespace tenon {

passes::Precision PrecisionOf(const AmpConfig& amp, const std::vector<std::string>& exact_layers) {
  using Level = passes::Precision::Level;
  static constexpr Level kLevels[] = {Level::kO0, Level::kO1, Level::kO2, Level::kO3, Level::kAuto};
  passes::Precision precision;
  precision.level = kLevels[static_cast<std::size_t>(amp.level)];
  precision.low = amp.dtype == AmpDType::kBF16 ? DType::kBF16 : DType::kF16;
  precision.keep = amp.keep;
  precision.keep.insert(precision.keep.end(), exact_layers.begin(), exact_layers.end());
  return precision;
}

}  // namespace tenon
