#include "core/exec/gradient_exchange.h"

#include <algorithm>

#include "core/base/fnv.h"
#include "core/platform/process.h"

namespace tenon::exec {
namespace {

constexpr std::int64_t kTailBytes = 64;  // room for the totals, so that buckets stay aligned
constexpr std::size_t kTotals = 4;       // numbers of StepTotals
static_assert(sizeof(StepTotals) == kTotals * sizeof(double), "the totals are summed as one row of numbers");

std::uint64_t HashOf(const std::vector<passes::GradientBucket>& buckets) {
  std::uint64_t hash = kFnvStart;
  for (const passes::GradientBucket& bucket : buckets) {
    hash = Fnv(fmt::format("bucket {} {};", NameOf(bucket.dtype), bucket.bytes), hash);
    for (const auto& slot : bucket.slots)
      hash = Fnv(fmt::format("{} {} {};", slot.parameter, slot.offset, slot.bytes), hash);
  }
  return hash;
}

// Where the totals lie behind the gradients of a bucket at `address`.
std::uint64_t TailOf(const BucketView& bucket, std::uint64_t address) {
  return address + static_cast<std::uint64_t>(bucket.gradient_elements * SizeOf(bucket.dtype));
}

// The plain hook: one all-reduce of the bucket as it is.
class AllReduceHook final : public BucketHook {
 public:
  explicit AllReduceHook(Communicator& comm) : comm_(comm) {}
  Status Launch(const BucketView& bucket) override {
    const auto index = static_cast<std::size_t>(bucket.index);
    if (tickets_.size() <= index) tickets_.resize(index + 1);
    TENON_ASSIGN(tickets_[index], comm_.AllReduce(bucket.send, bucket.receive, bucket.elements, bucket.dtype,
                                                  Reduction::kSum, 1, bucket.tag));
    return {};
  }
  Status Await(const BucketView& bucket) override {
    return comm_.Wait(tickets_[static_cast<std::size_t>(bucket.index)]);
  }
  bool exact() const override { return true; }

 private:
  Communicator& comm_;
  std::vector<Communicator::Ticket> tickets_;
};

}  // namespace

bool SumsOverRanks(const OpDef& def) { return def.domain() == "tenon" && def.type() == "SumOverRanks"; }

GradientExchange::GradientExchange(Communicator& comm, Communicator& host, Device& device)
    : comm_(comm), host_(host), device_(device), hook_(std::make_unique<AllReduceHook>(comm)) {}

// After an abort, what is under way ends soon; until then its memory is in use.
GradientExchange::~GradientExchange() {
  for (Bucket& bucket : buckets_) {
    if (bucket.under_way) static_cast<void>(hook_->Await(bucket.view));
  }
  if (totals_ticket_) static_cast<void>(host_.Wait(*totals_ticket_));
}

Status GradientExchange::Prepare(const std::vector<passes::GradientBucket>& buckets) {
  if (!buckets_.empty()) return Compare(buckets);
  hash_ = HashOf(buckets);
  for (std::size_t i = 0; i < buckets.size(); ++i) {
    Bucket bucket;
    BucketView& view = bucket.view;
    view.index = static_cast<int>(i);
    view.dtype = buckets[i].dtype;
    view.tag = hash_ + i;
    view.gradient_elements = buckets[i].bytes / SizeOf(view.dtype);
    for (const passes::GradientBucket::Slot& slot : buckets[i].slots)
      view.slots.push_back(
          {slot.parameter, slot.shape, slot.offset / SizeOf(view.dtype), slot.bytes / SizeOf(view.dtype)});
    view.carries_totals = i == 0 && hook_->exact() && view.dtype == DType::kF32;
    const std::int64_t bytes = buckets[i].bytes + (view.carries_totals ? kTailBytes : 0);
    view.elements = bytes / SizeOf(view.dtype);
    TENON_TRY_WHILE(Allocate(bucket, bytes), "allocating bucket {} of the gradients", i);
    buckets_.push_back(std::move(bucket));
  }
  std::vector<BucketView> views;
  for (const Bucket& bucket : buckets_) views.push_back(bucket.view);
  return hook_->Prepare(views);
}

std::int64_t GradientExchange::bytes() const {
  std::int64_t total = 0;
  for (const Bucket& bucket : buckets_) total += bucket.view.elements * SizeOf(bucket.view.dtype);
  return total;
}

// In memory of the communicator where it offers any, else in the device's; zero, for the gaps between gradients are summed
// too.
Status GradientExchange::Allocate(Bucket& bucket, std::int64_t bytes) {
  std::optional<CommBuffer> offered;
  if (hook_->exact()) {
    TENON_ASSIGN(offered, comm_.AllocateBuffer(bytes));
  }
  if (offered) {
    bucket.shared = std::move(*offered);
    bucket.view.send = bucket.shared.send();
    bucket.view.receive = bucket.shared.receive();
    return {};
  }
  TENON_ASSIGN(bucket.own, device_.Allocate(bytes, TENON_ALLOC_DEFAULT));
  bucket.view.send = bucket.view.receive = bucket.own.address();
  const std::vector<char> zeros(static_cast<std::size_t>(bytes));
  return device_.CopyFromHost(zeros.data(), bucket.own.address(), bytes);
}

Status GradientExchange::Compare(const std::vector<passes::GradientBucket>& buckets) const {
  const std::uint64_t hash = HashOf(buckets);
  if (hash == hash_) return {};
  return Error(Code::kInternal,
               "A program of this run divides the gradients into other buckets ({} of hash {:016x}) than the first one "
               "({} of hash {:016x}).",
               buckets.size(), hash, buckets_.size(), hash_);
}

Status GradientExchange::Begin(const StepTotals& totals, double expected) {
  ++times_.steps;
  expected_ = expected;
  settled_ = false;
  for (Bucket& bucket : buckets_) bucket.launched = false;
  totals_ = totals;
  const BucketView& first = buckets_.front().view;
  if (!first.carries_totals) {
    const std::uint64_t at = Communicator::AddressOf(&totals_);
    TENON_ASSIGN(totals_ticket_, host_.AllReduce(at, at, kTotals, DType::kF64));
    return {};
  }
  const float numbers[kTotals] = {static_cast<float>(totals.loss), static_cast<float>(totals.overflow),
                                  static_cast<float>(totals.stop), static_cast<float>(totals.counted)};
  return device_.CopyFromHost(numbers, TailOf(first, first.send), sizeof numbers);
}

Status GradientExchange::ReadTotals() {
  const BucketView& first = buckets_.front().view;
  if (!first.carries_totals) {
    if (!totals_ticket_) return {};
    const Communicator::Ticket ticket = *totals_ticket_;
    totals_ticket_.reset();
    return host_.Wait(ticket);
  }
  TENON_TRY(Finish(buckets_.front()));
  float numbers[kTotals] = {};
  TENON_TRY(device_.CopyToHost(TailOf(first, first.receive), numbers, sizeof numbers));
  totals_ = {numbers[0], numbers[1], numbers[2], numbers[3]};
  return {};
}

// Before anyone reads a sum. All ranks see the same totals and so do the same.
Status GradientExchange::Settle() {
  if (settled_) return {};
  settled_ = true;
  TENON_TRY(ReadTotals());
  const double counted = totals_.counted;
  if (expected_ == 0 || counted == expected_ || counted == 0) return {};
  const bool launched = std::all_of(buckets_.begin(), buckets_.end(), [](const Bucket& at) { return at.launched; });
  if (!launched) return Error(Code::kInternal, "A program reads sums of gradients before it has launched all buckets.");
  totals_.loss *= expected_ / counted;
  return Scale(expected_ / counted);
}

// Labels that are ignored are rare where their number is not known beforehand: this need not be fast. In memory that ranks
// share the first of the node does it for all.
Status GradientExchange::Scale(double factor) {
  for (Bucket& bucket : buckets_) TENON_TRY(Finish(bucket));
  TENON_TRY(host_.Barrier());  // until then another rank may be writing the same sums
  for (Bucket& bucket : buckets_) {
    if (bucket.shared.shared() && comm_.local_rank() != 0) continue;
    const BucketView& view = bucket.view;
    Tensor values(view.dtype, Shape{view.gradient_elements});
    TENON_TRY(device_.CopyToHost(view.receive, values.raw(), values.bytes()));
    ForFloating(view.dtype, [&]<class T>() {
      using A = Accumulator<T>;
      for (T& value : values.values<T>()) value = static_cast<T>(static_cast<A>(value) * static_cast<A>(factor));
    });
    TENON_TRY(device_.CopyFromHost(values.raw(), view.receive, values.bytes()));
  }
  return host_.Barrier();
}

Result<StepTotals> GradientExchange::Totals() {
  TENON_TRY(Settle());
  return totals_;
}

Status GradientExchange::SumNow(std::span<float> values, bool of_gradient) {
  if (statistics_ == nullptr) return Error(Code::kInternal, "No communicator is there for statistics over the ranks.");
  if (absent_) std::fill(values.begin(), values.end(), 0.0F);
  TENON_TRY(statistics_->AllReduceNow(values));
  if (absent_ && of_gradient) std::fill(values.begin(), values.end(), 0.0F);
  return {};
}

Status GradientExchange::Launch(std::size_t bucket) {
  Bucket& launched = buckets_[bucket];
  TENON_TRY_WHILE(hook_->Launch(launched.view), "summing bucket {} of the gradients over the ranks", bucket);
  launched.under_way = launched.launched = true;
  return {};
}

Status GradientExchange::Await(std::size_t bucket) {
  TENON_TRY(Settle());
  return Finish(buckets_[bucket]);
}

Status GradientExchange::Finish(Bucket& bucket) {
  if (!bucket.under_way) return {};
  const std::int64_t begin = MonotonicNs(), flown = comm_.counts().flight_ns;
  bucket.under_way = false;
  Status done = hook_->Await(bucket.view);
  times_.wait_ns += MonotonicNs() - begin;
  times_.flight_ns += comm_.counts().flight_ns - flown;
  if (done.ok()) return done;
  return std::move(done).While(fmt::format("summing bucket {} of the gradients over the ranks", bucket.view.index));
}

Status GradientExchange::AwaitAll() {
  for (std::size_t i = 0; i < buckets_.size(); ++i) TENON_TRY(Await(i));
  return {};
}

}  // namespace tenon::exec
