// Convolutions that oneDNN is known to compute wrongly, without an error. tests/plugins/random_convolutions_test.cc compares with sums in double
// precision, over many shapes.
#pragma once

#include "plugins/device_cpu/onednn/convolution.h"

namespace tenon::cpu::onednn {

// What is wrong, as a sentence; null: nothing is known. Strides of memory do not count.
const char* KnownFault(const ConvProblem& problem);

// Where one of the library's implementations is wrong and another one is not: how the name of the former begins, else null.
const char* FaultyImplementation(const ConvProblem& problem);

}  // namespace tenon::cpu::onednn
