#pragma once

#include "core/train/checkpoint.h"

namespace tenon::fuzz {

// A little of everything that the formats of checkpoints hold.
inline Checkpoint SmallCheckpoint() {
  Checkpoint checkpoint;
  checkpoint.Add("w", Tensor::Of<float>(Shape{2, 2}, {1, 2, 3, 4}));
  checkpoint.Add("n", Tensor::Scalar<std::int64_t>(7));
  checkpoint.Add("flag", Tensor::Of<bool>(Shape{2}, {true, false}));
  checkpoint.Add("none", Tensor(DType::kF16, Shape{0, 3}));
  return checkpoint;
}

}  // namespace tenon::fuzz
