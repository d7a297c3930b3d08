#include "core/data/loader.h"

#include <algorithm>
#include <chrono>
#include <new>
#include <system_error>
#include <utility>

#include "core/base/log.h"
#include "core/platform/process.h"

namespace tenon {

namespace {

using Clock = std::chrono::steady_clock;

std::int64_t NanosecondsSince(Clock::time_point start) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - start).count();
}

// The first values of a tensor, seen as another shape, on the same memory.
Tensor OnTop(const Tensor& tensor, const Shape& shape) {
  auto owner = std::make_shared<Tensor>(tensor);
  void* data = owner->raw();
  return Tensor::FromOwner(tensor.dtype(), shape, std::move(owner), data);
}

// Batches beyond the memory of the machine are refused: asking for it might end the process instead.
Status CheckMemory(const SampleLayout& layout, std::int64_t batch, std::int64_t batches) {
  const double each = static_cast<double>(layout.sample_bytes()) * static_cast<double>(batch);
  const double needed = each * static_cast<double>(batches), there = static_cast<double>(MachineMemory());
  if (needed <= there) return {};
  return Error(Code::kResourceExhausted,
               "A batch of {} samples {}{} takes {:.1f} GB, and {} of them are kept ready: {:.1f} GB; this machine has "
               "{:.1f} GB of memory.",
               batch, NameOf(layout.dtype), layout.shape, each * 1e-9, batches, needed * 1e-9, there * 1e-9);
}

}  // namespace

Loader::Loader(std::shared_ptr<const PreparedData> data, BatchPlan plan, const LoaderOptions& options)
    : data_(std::move(data)), layout_(data_->layout()), options_(options), plan_(std::move(plan)) {}

Result<std::unique_ptr<Loader>> Loader::Create(PreparedData data, const Sampler& sampler,
                                               const LoaderOptions& options) {
  TENON_INVALID_IF(options.batch < 1, "The batch size is {}; it must be at least 1.", options.batch);
  TENON_INVALID_IF(options.workers < 0 || options.workers > 1024,
                   "The number of data workers is {}; it must be between 0 and 1024.", options.workers);
  TENON_ASSIGN(BatchPlan plan, BatchPlan::Create(data.dataset, sampler,
                                                 {options.batch, options.drop_last, data.buckets, options.shard,
                                                  /*partners=*/data.mixup_alpha > 0}));
  auto loader = std::unique_ptr<Loader>(
      new Loader(std::make_shared<const PreparedData>(std::move(data)), std::move(plan), options));
  loader->options_.workers = std::min(options.workers, loader->plan_.steps());
  TENON_TRY(loader->MakeSlots());
  TENON_TRY(loader->StartWorkers());
  return loader;
}

Loader::~Loader() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stop_ = true;
    limit_ = 0;
  }
  work_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

Status Loader::MakeSlots() {
  const std::int64_t workers = options_.workers;
  // One buffer is in the caller's hands, each worker fills one, and each has one ready.
  const std::int64_t depth = workers == 0 ? 1 : std::min(2 * workers + 1, plan_.steps() + 1);
  const std::int64_t batch = plan_.largest();
  const std::int64_t last = plan_.steps() == 0 ? 0 : std::ssize(plan_.Indices(plan_.steps() - 1));
  TENON_INVALID_IF(layout_.shape.rank() >= kMaxRank || layout_.label_shape.rank() >= kMaxRank,
                   "Samples of shape {} with labels of shape {} leave no room for the batch axis (at most {} axes).",
                   layout_.shape, layout_.label_shape, kMaxRank);
  TENON_TRY(CheckMemory(layout_, batch, depth));
  slots_ = std::vector<Slot>(static_cast<std::size_t>(depth));
  for (Slot& slot : slots_) {
    slot.samples = Tensor(layout_.dtype, layout_.samples_shape(batch));
    slot.labels = Tensor(layout_.label_dtype, layout_.labels_shape(batch));
    slot.last_samples = OnTop(slot.samples, layout_.samples_shape(last));
    slot.last_labels = OnTop(slot.labels, layout_.labels_shape(last));
  }
  for (std::int64_t i = 0; i < std::max<std::int64_t>(workers, 1); ++i)
    makers_.push_back(std::make_unique<BatchMaker>(data_, batch));
  return {};
}

Status Loader::StartWorkers() {
  for (std::int64_t i = 0; i < options_.workers; ++i) {
    try {
      threads_.emplace_back([this, i] { Work(i); });
    } catch (const std::system_error& error) {
      return Error(Code::kResourceExhausted, "Data worker {} could not be started: {}.", i, error.code().message());
    }
  }
  return {};
}

// Stops the claiming of steps and waits until no worker is in the middle of one; all buffers are free then.
void Loader::Quiesce(std::unique_lock<std::mutex>& lock) {
  limit_ = 0;
  ready_.wait(lock, [this] { return busy_ == 0; });
  for (Slot& slot : slots_) {
    slot.state = SlotState::kFree;
    slot.stage = Stage::kWaiting;
    slot.status = Status();
  }
  ready_count_ = 0;
  held_ = -1;
}

Status Loader::Start(std::int64_t epoch, std::int64_t step) {
  TENON_INVALID_IF(epoch < 0, "The epoch is {}; epochs count from 0.", epoch);
  TENON_INVALID_IF(step < 0 || step > plan_.steps(), "Batch {} of an epoch is outside 0 to {}.", step, plan_.steps());
  std::unique_lock<std::mutex> lock(mutex_);
  Quiesce(lock);
  const bool same_order = started_ && epoch == epoch_;
  started_ = true;
  epoch_ = epoch;
  if (!same_order) plan_.SetEpoch(epoch);
  skipped_in_epoch_ = 0;
  next_ = step;
  claim_ = step;
  limit_ = plan_.steps();
  lock.unlock();
  work_.notify_all();
  return {};
}

// Sees the memory of a slot as the batch of a step.
void Loader::SetBatch(Slot& slot, std::int64_t step) {
  Batch& batch = slot.batch;
  batch.count = static_cast<std::int64_t>(plan_.Indices(step).size());
  batch.count_of_all = plan_.Total(step);
  batch.epoch = epoch_;
  batch.step = step;
  const std::int64_t length = plan_.Length(step);
  if (length > 0) {
    batch.samples = OnTop(slot.samples, Shape{batch.count, length});
    batch.labels = OnTop(slot.labels, Shape{batch.count, length});
    return;
  }
  const bool whole = batch.count == slot.samples.shape().dim(0);
  batch.samples = whole ? slot.samples : slot.last_samples;
  batch.labels = whole ? slot.labels : slot.last_labels;
}

void Loader::Fill(Slot& slot, std::int64_t step, BatchMaker& maker) {
  SetBatch(slot, step);
  try {
    slot.status = maker.Make({epoch_, plan_.Indices(step), plan_.Length(step), plan_.Partners(step), plan_.Lead(step)},
                             slot.batch.samples.raw(), slot.batch.labels.raw());
  } catch (const std::bad_alloc&) {  // pictures grow their memory; a worker's exception would end the process
    slot.status = Error(Code::kResourceExhausted, "There is not enough memory to decode a sample.");
  }
  slot.skipped = maker.skipped();
  slot.batch.skipped = static_cast<std::int64_t>(slot.skipped.size());
}

// Names the samples that were skipped; an error when there are too many.
Status Loader::NoteSkipped(const Slot& slot) {
  for (const Status& reason : slot.skipped) {
    TENON_LOG(kWarning, "data", "skipped in epoch {}: {}", epoch_, reason.ToString());
    ++stats_.skipped;
    if (++skipped_in_epoch_ <= data_->skip_limit) continue;
    return Status(reason).While(fmt::format("skipping the {}. unreadable sample of epoch {}; 'data.skip_limit' is {}",
                                            skipped_in_epoch_, epoch_, data_->skip_limit));
  }
  return {};
}

void Loader::Work(std::int64_t worker) {
  BatchMaker& maker = *makers_[static_cast<std::size_t>(worker)];
  std::unique_lock<std::mutex> lock(mutex_);
  while (true) {
    while (!stop_ && !(claim_ < limit_ && SlotOf(claim_).state == SlotState::kFree)) {
      ++sleeping_;
      work_.wait(lock);
      --sleeping_;
    }
    if (stop_) return;
    const std::int64_t step = claim_++;
    Slot& slot = SlotOf(step);
    slot.state = SlotState::kBusy;
    slot.stage = Stage::kReading;
    slot.worker = worker;
    ++busy_;
    lock.unlock();
    Fill(slot, step, maker);
    lock.lock();
    slot.state = SlotState::kReady;
    slot.stage = Stage::kDone;
    ++ready_count_;
    --busy_;
    ready_.notify_one();
  }
}

// Gives the caller's buffer back. Workers are woken only when they have room for several batches or little is left, so
// that a fast caller does not pay for a wake-up in every step.
void Loader::Release(std::unique_lock<std::mutex>& lock) {
  if (held_ < 0) return;
  SlotOf(held_).state = SlotState::kFree;
  held_ = -1;
  const bool low = 2 * ready_count_ <= static_cast<std::int64_t>(slots_.size());
  if (!low || sleeping_ == 0 || claim_ >= limit_) return;
  lock.unlock();
  if (options_.workers == 1)
    work_.notify_one();
  else
    work_.notify_all();
  lock.lock();
}

void Loader::Await(Slot& slot, std::unique_lock<std::mutex>& lock) {
  if (slot.state == SlotState::kReady) return;
  const Clock::time_point start = Clock::now();
  const auto is_ready = [&slot] { return slot.state == SlotState::kReady; };
  if (options_.stall_seconds > 0) {
    const auto limit =
        std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(options_.stall_seconds));
    while (!ready_.wait_for(lock, limit, is_ready)) {
      ReportStall(slot, std::chrono::duration<double>(Clock::now() - start).count());
    }
  } else {
    ready_.wait(lock, is_ready);
  }
  stats_.wait_ns += NanosecondsSince(start);
}

void Loader::ReportStall(const Slot& slot, double seconds) {
  const std::string blocked =
      slot.state == SlotState::kBusy
          ? fmt::format("data worker {} is reading its samples from '{}'", slot.worker, data_->dataset->description())
          : std::string("no data worker has taken it yet");
  stats_.last_stall =
      fmt::format("Batch {} of epoch {} has been waited for {:.1f} s: {}.", next_, epoch_, seconds, blocked);
  ++stats_.stalls;
  TENON_LOG(kWarning, "data", "{}", stats_.last_stall);
}

Result<const Batch*> Loader::Next() {
  if (!started_) return Status(Code::kFailedPrecondition, "Loader::Start must be called before Next.");
  std::unique_lock<std::mutex> lock(mutex_);
  Release(lock);
  if (next_ >= plan_.steps()) return static_cast<const Batch*>(nullptr);
  Slot& slot = SlotOf(next_);
  if (options_.workers > 0) {
    Await(slot, lock);
  } else if (slot.status.ok()) {  // a failure stays
    const Clock::time_point start = Clock::now();
    Fill(slot, next_, *makers_[0]);
    stats_.wait_ns += NanosecondsSince(start);
  }
  if (slot.status.ok() && !slot.skipped.empty()) slot.status = NoteSkipped(slot);
  if (!slot.status.ok()) return Status(slot.status).While(fmt::format("preparing batch {} of epoch {}", next_, epoch_));
  if (options_.workers > 0) --ready_count_;
  held_ = next_++;
  ++stats_.batches;
  stats_.samples += slot.batch.count;
  return static_cast<const Batch*>(&slot.batch);
}

}  // namespace tenon
