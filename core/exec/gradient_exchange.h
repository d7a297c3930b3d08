#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/comm/communicator.h"
#include "core/device/device.h"
#include "core/passes/pass.h"

namespace tenon::exec {

// A gradient in a bucket.
struct BucketSlot {
  std::string parameter;
  Shape shape;
  std::int64_t first = 0, elements = 0;  // in the bucket; with the padding of its layout
};

// One bucket of gradients on its way: `elements` numbers of `dtype` at `send` become their sums over the ranks at `receive`,
// which may be the same place. Device memory.
struct BucketView {
  int index = 0;
  DType dtype = DType::kF32;
  std::uint64_t send = 0, receive = 0;
  std::int64_t elements = 0;
  std::uint64_t tag = 0;  // of what lies where; equal on all ranks
  // With the numbers of StepTotals behind the gradients, which only an exact sum may carry.
  bool carries_totals = false;
  std::int64_t gradient_elements = 0;  // without them
  std::vector<BucketSlot> slots;
};

// What is done with a bucket in place of a plain all-reduce: shorter numbers on the wire, compression. All calls come from
// the thread of the device, the same ones in the same order on all ranks.
class BucketHook {
 public:
  virtual ~BucketHook() = default;
  // All buckets of the run, once, before the first step.
  virtual Status Prepare(std::span<const BucketView>) { return {}; }
  // The gradients are there, as far as work enqueued on the device is; starts the exchange.
  virtual Status Launch(const BucketView& bucket) = 0;
  // Returns when the sums are there.
  virtual Status Await(const BucketView& bucket) = 0;
  // Does the hook sum every number exactly, where it lies? Then the totals of a step may travel in a bucket.
  virtual bool exact() const = 0;
};

// Is it SumOverRanks?
bool SumsOverRanks(const OpDef& def);

// Numbers of a step that are summed over the ranks beside the gradients.
struct StepTotals {
  double loss = 0;      // shares of the loss of the step
  double overflow = 0;  // ranks whose sums of gradients are not finite
  double stop = 0;      // ranks that were asked to stop
  double counted = 0;   // what the batches count that the gradients are of
};

// How a bucket was exchanged, over all steps.
struct ExchangeTimes {
  std::int64_t steps = 0;
  std::int64_t wait_ns = 0;    // the step stood still for it
  std::int64_t flight_ns = 0;  // from the launch of a bucket to its end
  std::int64_t copies = 0;     // gradients that were copied into their bucket
};

// The memory of the gradients of a run with several ranks, and their sums. The programs of a run share one; they are
// compiled from the same parameters and so agree about the buckets. Must not outlive device and communicator. One thread.
class GradientExchange {
 public:
  // `host` sums the totals where the hook is not exact, may be the same as `comm`.
  GradientExchange(Communicator& comm, Communicator& host, Device& device);
  ~GradientExchange();
  GradientExchange(const GradientExchange&) = delete;
  GradientExchange& operator=(const GradientExchange&) = delete;

  // In place of the plain all-reduce; before the first Prepare.
  void SetHook(std::unique_ptr<BucketHook> hook) { hook_ = std::move(hook); }

  // Numbers that ranks add up in the middle of a step (SumOverRanks) go over a communicator of their own, on host memory,
  // so that they need no order among the buckets.
  void SetStatistics(Communicator* comm) { statistics_ = comm; }
  // Adds up now. A rank that runs a step only to be there for the others is absent: it gives zeros, and as nothing of it is
  // in the sums it gets zeros for gradients.
  Status SumNow(std::span<float> values, bool of_gradient);
  void SetAbsent(bool absent) { absent_ = absent; }

  // Makes the memory; later calls only compare.
  Status Prepare(const std::vector<passes::GradientBucket>& buckets);
  std::size_t size() const { return buckets_.size(); }
  std::int64_t bytes() const;  // of all buckets
  std::uint64_t send(std::size_t bucket) const { return buckets_[bucket].view.send; }
  std::uint64_t receive(std::size_t bucket) const { return buckets_[bucket].view.receive; }

  // Begins a step: the totals of this rank. `expected` is what the weights of the gradients took for the sum of `counted`;
  // where that was wrong, the sums are corrected before anyone sees them. 0: it was not taken for anything.
  Status Begin(const StepTotals& totals, double expected);
  // Buckets are launched in order; all of a step are.
  Status Launch(std::size_t bucket);
  // Returns when the sums of the bucket are there; at once when they are already.
  Status Await(std::size_t bucket);
  Status AwaitAll();
  // Over all ranks, after the first bucket has come.
  Result<StepTotals> Totals();

  void CountCopy() { ++times_.copies; }
  const ExchangeTimes& times() const { return times_; }

 private:
  struct Bucket {
    BucketView view;
    CommBuffer shared;                         // memory of the communicator, or
    Buffer own;                                // of the device
    bool under_way = false, launched = false;  // launched: in this step
  };
  Status Allocate(Bucket& bucket, std::int64_t bytes);
  Status Finish(Bucket& bucket);
  Status Settle();
  Status ReadTotals();
  Status Scale(double factor);
  Status Compare(const std::vector<passes::GradientBucket>& buckets) const;

  Communicator &comm_, &host_;
  Device& device_;
  Communicator* statistics_ = nullptr;
  bool absent_ = false;
  std::unique_ptr<BucketHook> hook_;
  std::vector<Bucket> buckets_;
  std::uint64_t hash_ = 0;  // of what stands in which bucket
  StepTotals totals_;       // of this rank, then of all
  double expected_ = 0;
  bool settled_ = true;  // the totals of the step are known, and the sums right
  std::optional<Communicator::Ticket> totals_ticket_;
  ExchangeTimes times_;
};

}  // namespace tenon::exec
