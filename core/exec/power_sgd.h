#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/exec/gradient_exchange.h"
#include "core/tensor/tensor.h"

namespace tenon::exec {

// Gradients as products of two thin matrices (PowerSGD, Vogels, Karimireddy, Jaggi 2019), so that a matrix of n rows and m
// columns costs rank * (n + m) numbers on the wire. One step of power iteration from the factor of the step before:
//   M = gradient + error,  P = orthonormal(sum over ranks of M Q),  Q = sum over ranks of (Q' = M^T P),
//   the sum over ranks of M is taken to be P Q^T, and what it lacks of this rank's M stays: error = M - P Q'^T.
// A parameter's first axis is the rows, all others together the columns, as its values lie in memory. What would not become
// shorter (vectors, small matrices) is summed as it is, in the same message as P.
class PowerSgd : public BucketHook {
 public:
  // Of one parameter that is compressed.
  struct Memory {
    std::string parameter;
    Tensor factor;  // Q [columns, rank]; equal on all ranks
    Tensor error;   // [rows, columns], of this rank
  };
  // In the order of the buckets; there after the first program of the run is made. The tensors are the hook's own.
  virtual std::vector<Memory>& memory() = 0;
};

// `comm` is of host memory. The first factors are made from `seed` and the names of the parameters.
std::unique_ptr<PowerSgd> MakePowerSgd(Communicator& comm, Device& device, std::int64_t rank, std::uint64_t seed);

// Gram-Schmidt on the columns of [rows, columns], row-major; a column that depends on those before it becomes zero.
void Orthonormalize(float* matrix, std::int64_t rows, std::int64_t columns);

}  // namespace tenon::exec
