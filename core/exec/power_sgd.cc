#include "core/exec/power_sgd.h"

#include <algorithm>
#include <cmath>

#include "core/exec/host_bucket.h"
#include "core/exec/random_key.h"
#include "core/ops/philox.h"

namespace tenon::exec {
namespace {

// A gradient as a matrix, and where its factors lie in the messages of its bucket.
struct Matrix {
  std::size_t memory = 0;  // its place in memory()
  std::int64_t first = 0;  // in the bucket
  std::int64_t rows = 0, columns = 0;
  std::int64_t p = 0, q = 0;  // first number of P and of Q
};

// What of a bucket is summed as it is.
struct Plain {
  std::int64_t first = 0, elements = 0;
  std::int64_t at = 0;  // in the first message
};

struct BucketPlan {
  std::vector<Matrix> matrices;
  std::vector<Plain> plain;
  std::vector<float> first, second;  // the messages: plain gradients and P; Q
  std::vector<float> mine;           // Q of this rank
  Communicator::Ticket ticket = 0;
};

// product[rows, rank] = matrix[rows, columns] * factor[columns, rank]
void Multiply(const float* matrix, const float* factor, std::int64_t rows, std::int64_t columns, std::int64_t rank,
              float* product) {
  std::fill_n(product, rows * rank, 0.0F);
  for (std::int64_t i = 0; i < rows; ++i) {
    float* out = product + i * rank;
    for (std::int64_t j = 0; j < columns; ++j) {
      const float value = matrix[i * columns + j];
      for (std::int64_t k = 0; k < rank; ++k) out[k] += value * factor[j * rank + k];
    }
  }
}

// product[columns, rank] = matrix^T * factor[rows, rank]
void MultiplyTransposed(const float* matrix, const float* factor, std::int64_t rows, std::int64_t columns,
                        std::int64_t rank, float* product) {
  std::fill_n(product, columns * rank, 0.0F);
  for (std::int64_t i = 0; i < rows; ++i) {
    const float* in = factor + i * rank;
    for (std::int64_t j = 0; j < columns; ++j) {
      const float value = matrix[i * columns + j];
      for (std::int64_t k = 0; k < rank; ++k) product[j * rank + k] += value * in[k];
    }
  }
}

// (p q^T)[i, j]
float ProductAt(const float* p, const float* q, std::int64_t i, std::int64_t j, std::int64_t rank) {
  float sum = 0;
  for (std::int64_t k = 0; k < rank; ++k) sum += p[i * rank + k] * q[j * rank + k];
  return sum;
}

// Numbers in [-1, 1): a start that is not orthogonal to the gradients.
Tensor FirstFactor(std::int64_t columns, std::int64_t rank, std::uint64_t key) {
  Tensor factor(DType::kF32, Shape{columns, rank});
  for (std::int64_t i = 0; i < factor.elements(); ++i) {
    const auto at = static_cast<std::uint64_t>(i);
    const std::uint32_t bits = PhiloxBlock(key, 0, at / 4)[at % 4];
    factor.data<float>()[i] = static_cast<float>(bits >> 8) * 0x1p-23F - 1.0F;
  }
  return factor;
}

class PowerSgdHook final : public PowerSgd {
 public:
  PowerSgdHook(Communicator& comm, Device& device, std::int64_t rank, std::uint64_t seed)
      : comm_(comm), bucket_(device), rank_(rank), seed_(seed) {}

  std::vector<Memory>& memory() override { return memory_; }
  bool exact() const override { return false; }

  Status Prepare(std::span<const BucketView> buckets) override {
    for (const BucketView& bucket : buckets) {
      TENON_INVALID_IF(bucket.dtype != DType::kF32, "PowerSGD compresses float32 gradients; those of a bucket are {}.",
                       NameOf(bucket.dtype));
      plans_.push_back(PlanOf(bucket));
    }
    return {};
  }

  Status Launch(const BucketView& bucket) override {
    BucketPlan& plan = plans_[static_cast<std::size_t>(bucket.index)];
    TENON_ASSIGN(const float* gradients, bucket_.Read(bucket));
    for (const Plain& plain : plan.plain)
      std::copy_n(gradients + plain.first, plain.elements, plan.first.data() + plain.at);
    for (const Matrix& matrix : plan.matrices) {
      Memory& memory = memory_[matrix.memory];
      float* sum = memory.error.data<float>();  // M, until Await has made the new error of it
      for (std::int64_t i = 0; i < matrix.rows * matrix.columns; ++i) sum[i] += gradients[matrix.first + i];
      Multiply(sum, memory.factor.data<float>(), matrix.rows, matrix.columns, rank_, plan.first.data() + matrix.p);
    }
    TENON_ASSIGN(plan.ticket, Sum(plan.first, bucket.tag));
    return {};
  }

  Status Await(const BucketView& bucket) override {
    BucketPlan& plan = plans_[static_cast<std::size_t>(bucket.index)];
    TENON_TRY(comm_.Wait(plan.ticket));
    for (const Matrix& matrix : plan.matrices) {
      float* p = plan.first.data() + matrix.p;
      Orthonormalize(p, matrix.rows, rank_);
      MultiplyTransposed(memory_[matrix.memory].error.data<float>(), p, matrix.rows, matrix.columns, rank_,
                         plan.second.data() + matrix.q);
    }
    plan.mine = plan.second;
    if (!plan.second.empty()) {
      TENON_ASSIGN(const Communicator::Ticket ticket, Sum(plan.second, bucket.tag));
      TENON_TRY(comm_.Wait(ticket));
    }
    float* sums = bucket_.Write(bucket);
    for (const Plain& plain : plan.plain) std::copy_n(plan.first.data() + plain.at, plain.elements, sums + plain.first);
    for (const Matrix& matrix : plan.matrices) Unfold(plan, matrix, sums + matrix.first);
    return bucket_.Written(bucket);
  }

 private:
  BucketPlan PlanOf(const BucketView& bucket) {
    BucketPlan plan;
    std::int64_t first = 0, second = 0;
    for (const BucketSlot& slot : bucket.slots) {
      const std::int64_t rows = slot.shape.rank() > 1 ? slot.shape.dim(0) : 1, columns = slot.elements / rows;
      const bool shorter = rows * columns == slot.elements && rank_ * (rows + columns) < slot.elements;
      if (!shorter) {
        plan.plain.push_back({slot.first, slot.elements, first});
        first += slot.elements;
        continue;
      }
      plan.matrices.push_back({memory_.size(), slot.first, rows, columns, first, second});
      first += rows * rank_;
      second += columns * rank_;
      memory_.push_back({slot.parameter, FirstFactor(columns, rank_, RandomKey(seed_, "powersgd." + slot.parameter)),
                         Tensor(DType::kF32, Shape{rows, columns})});
    }
    plan.first.resize(static_cast<std::size_t>(first));
    plan.second.resize(static_cast<std::size_t>(second));
    return plan;
  }

  Result<Communicator::Ticket> Sum(std::vector<float>& values, std::uint64_t tag) {
    const std::uint64_t at = Communicator::AddressOf(values.data());
    return comm_.AllReduce(at, at, std::ssize(values), DType::kF32, Reduction::kSum, 1, tag);
  }

  // P Q^T into `sums`, what this rank's part of it lacks into the error, and Q into the memory.
  void Unfold(const BucketPlan& plan, const Matrix& matrix, float* sums) {
    Memory& memory = memory_[matrix.memory];
    const float *p = plan.first.data() + matrix.p, *q = plan.second.data() + matrix.q,
                *mine = plan.mine.data() + matrix.q;
    float* error = memory.error.data<float>();
    for (std::int64_t i = 0; i < matrix.rows; ++i) {
      for (std::int64_t j = 0; j < matrix.columns; ++j) {
        sums[i * matrix.columns + j] = ProductAt(p, q, i, j, rank_);
        error[i * matrix.columns + j] -= ProductAt(p, mine, i, j, rank_);
      }
    }
    Keep(q, matrix.columns, memory.factor.data<float>());
  }

  // A column of zeros would stay one for ever: where nothing was found, the next step looks where this one did.
  void Keep(const float* q, std::int64_t columns, float* factor) const {
    for (std::int64_t k = 0; k < rank_; ++k) {
      bool found = false;
      for (std::int64_t j = 0; j < columns; ++j) found = found || q[j * rank_ + k] != 0;
      for (std::int64_t j = 0; found && j < columns; ++j) factor[j * rank_ + k] = q[j * rank_ + k];
    }
  }

  Communicator& comm_;
  HostBucket bucket_;
  const std::int64_t rank_;
  const std::uint64_t seed_;
  std::vector<BucketPlan> plans_;  // by bucket
  std::vector<Memory> memory_;
};

}  // namespace

void Orthonormalize(float* matrix, std::int64_t rows, std::int64_t columns) {
  const auto dot = [&](std::int64_t a, std::int64_t b) {
    double sum = 0;
    for (std::int64_t i = 0; i < rows; ++i)
      sum += static_cast<double>(matrix[i * columns + a]) * static_cast<double>(matrix[i * columns + b]);
    return sum;
  };
  constexpr double kTiny = 1e-12;  // of a column's length: what is left of it is rounding
  for (std::int64_t k = 0; k < columns; ++k) {
    const double before = dot(k, k);
    for (std::int64_t other = 0; other < k; ++other) {
      const double share = dot(k, other);
      for (std::int64_t i = 0; i < rows; ++i)
        matrix[i * columns + k] -= static_cast<float>(share * static_cast<double>(matrix[i * columns + other]));
    }
    const double left = dot(k, k);
    const double scale = left > kTiny * before && left > 0 ? 1 / std::sqrt(left) : 0;
    for (std::int64_t i = 0; i < rows; ++i)
      matrix[i * columns + k] = static_cast<float>(static_cast<double>(matrix[i * columns + k]) * scale);
  }
}

std::unique_ptr<PowerSgd> MakePowerSgd(Communicator& comm, Device& device, std::int64_t rank, std::uint64_t seed) {
  return std::make_unique<PowerSgdHook>(comm, device, rank, seed);
}

}  // namespace tenon::exec
