#include "core/exec/wire_hook.h"

#include <cmath>
#include <optional>

#include "core/exec/host_bucket.h"
#include "core/tensor/float16.h"

namespace tenon::exec {
namespace {

// The memory of a bucket on the wire.
struct WireBuffer {
  std::optional<CommBuffer> shared;
  std::vector<std::uint16_t> own;
  std::uint64_t send = 0, receive = 0;
  Communicator::Ticket ticket = 0;
};

template <class Short>
class WireHook final : public BucketHook {
 public:
  WireHook(Communicator& comm, Device& device, DType wire, bool refuse_overflow)
      : comm_(comm), bucket_(device), wire_(wire), refuse_overflow_(refuse_overflow) {}

  Status Prepare(std::span<const BucketView> buckets) override {
    for (const BucketView& bucket : buckets) {
      TENON_INVALID_IF(bucket.dtype != DType::kF32, "Gradients of type {} cannot travel as {}; float32 ones can.",
                       NameOf(bucket.dtype), NameOf(wire_));
      WireBuffer& buffer = buffers_.emplace_back();
      const auto count = static_cast<std::size_t>(bucket.gradient_elements);
      TENON_ASSIGN(buffer.shared, comm_.AllocateBuffer(2 * bucket.gradient_elements));
      if (!buffer.shared) buffer.own.resize(count);
      buffer.send = buffer.shared ? buffer.shared->send() : Communicator::AddressOf(buffer.own.data());
      buffer.receive = buffer.shared ? buffer.shared->receive() : buffer.send;
    }
    return {};
  }

  Status Launch(const BucketView& bucket) override {
    WireBuffer& buffer = BufferOf(bucket);
    TENON_ASSIGN(const float* gradients, bucket_.Read(bucket));
    auto* shorts = reinterpret_cast<std::uint16_t*>(buffer.send);
    for (std::int64_t i = 0; i < bucket.gradient_elements; ++i) shorts[i] = Short::FromFloat(gradients[i]);
    TENON_ASSIGN(buffer.ticket, comm_.AllReduce(buffer.send, buffer.receive, bucket.gradient_elements, wire_,
                                                Reduction::kSum, 1, bucket.tag));
    return {};
  }

  Status Await(const BucketView& bucket) override {
    const WireBuffer& buffer = BufferOf(bucket);
    TENON_TRY(comm_.Wait(buffer.ticket));
    const auto* shorts = reinterpret_cast<const std::uint16_t*>(buffer.receive);
    float* sums = bucket_.Write(bucket);
    for (std::int64_t i = 0; i < bucket.gradient_elements; ++i) sums[i] = Short::ToFloat(shorts[i]);
    if (refuse_overflow_) TENON_TRY(CheckRange(bucket, sums));
    return bucket_.Written(bucket);
  }

  bool exact() const override { return false; }

 private:
  WireBuffer& BufferOf(const BucketView& bucket) { return buffers_[static_cast<std::size_t>(bucket.index)]; }

  Status CheckRange(const BucketView& bucket, const float* sums) const {
    for (const BucketSlot& slot : bucket.slots) {
      for (std::int64_t i = slot.first; i < slot.first + slot.elements; ++i) {
        if (std::isfinite(sums[i])) continue;
        return Error(
            Code::kAborted,
            "The gradient of '{}' is {} after it was summed over the ranks as {}. 'parallel.wire: bf16' has the "
            "range of float32.",
            slot.parameter, sums[i], NameOf(wire_));
      }
    }
    return {};
  }

  Communicator& comm_;
  HostBucket bucket_;
  const DType wire_;
  const bool refuse_overflow_;
  std::vector<WireBuffer> buffers_;
};

}  // namespace

std::unique_ptr<BucketHook> MakeWireHook(Communicator& comm, Device& device, DType wire, bool refuse_overflow) {
  if (wire == DType::kF16) return std::make_unique<WireHook<Half>>(comm, device, wire, refuse_overflow);
  return std::make_unique<WireHook<BFloat16>>(comm, device, wire, refuse_overflow);
}

}  // namespace tenon::exec
