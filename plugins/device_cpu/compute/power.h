// Powers, and their gradients.
#pragma once

#include "plugins/device_cpu/compute/elementwise.h"

namespace tenon::cpu {

// Power: out = a^b (`op` is not read), with the limits of the C library's pow. A row of one exponent takes a short way where
// it is -2, -1, -1/2, 1/2, 1, 2 or 3.

// dx = dz * y * x^(y-1), and 0 where y is 0; dy = dz * x^y * log(x), and 0 where x is 0 and y is not negative. x and y are
// the operands a and b, dz, dx and dy dense of the broadcast shape; dx or dy may be null.
struct PowerGradArgs {
  BinaryArgs operands;
  const float* dz = nullptr;
  float* dx = nullptr;
  float* dy = nullptr;
};

}  // namespace tenon::cpu
