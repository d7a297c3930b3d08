#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "core/base/status.h"
#include "core/data/batch_maker.h"
#include "core/data/batch_plan.h"
#include "core/data/prepared_data.h"
#include "core/data/sampler.h"
#include "core/data/shard.h"
#include "core/tensor/tensor.h"

namespace tenon {

struct LoaderOptions {
  std::int64_t batch = 32;    // samples a batch, of each rank
  bool drop_last = false;     // leave out a last batch with fewer samples
  std::int64_t workers = 1;   // threads that prepare batches ahead; 0: Next() prepares them itself
  double stall_seconds = 60;  // a longer wait for a batch is reported (warning in the log, counted); 0: never
  Shard shard{};
};

// A batch in host memory. Valid until the next Next() or Start() or the end of the loader; the memory is reused.
struct Batch {
  Tensor samples;  // [count, shape of a sample...]; padded sequences: [count, length of this batch]
  Tensor labels;   // [count, shape of a label...], int64 classes or float32 values
  std::int64_t count =
      0;  // samples in it; less than the batch size, or none on one of several ranks, only in the last one
  std::int64_t count_of_all = 0;  // of the step on all ranks
  std::int64_t epoch = 0;
  std::int64_t step = 0;     // in the epoch, from 0
  std::int64_t skipped = 0;  // samples that could not be read; another of the batch stands in the place of each
};

struct LoaderStats {
  std::int64_t batches = 0;  // given out since the loader was made
  std::int64_t samples = 0;
  std::int64_t wait_ns = 0;  // time that Next() kept its caller waiting (with 0 workers: making batches)
  std::int64_t skipped = 0;  // samples that could not be read
  std::int64_t stalls = 0;   // waits beyond the limit
  std::string last_stall;    // what was reported
};

// Gives the batches of an epoch in order, prepared ahead by worker threads into a ring of buffers that is allocated
// once. The batches are the same for any number of workers. Where an epoch starts is given as (epoch, step), so a run
// goes on in mid-epoch with exactly the batches that were left.
//
// For one calling thread. The destructor and Start() wait for the batches in preparation (and no longer).
class Loader {
 public:
  // Starts the workers; they sleep until Start(). Refuses an empty part, a batch below 1, a drop_last that drops
  // everything, and a rank without samples (in an evaluation by whole batches it just has no batch).
  static Result<std::unique_ptr<Loader>> Create(PreparedData data, const Sampler& sampler,
                                                const LoaderOptions& options);
  ~Loader();
  Loader(const Loader&) = delete;
  Loader& operator=(const Loader&) = delete;

  std::int64_t batch() const { return options_.batch; }
  // Those that this rank sees, without those of a dropped batch.
  std::int64_t samples_per_epoch() const { return plan_.samples(); }
  std::int64_t steps_per_epoch() const { return plan_.steps(); }

  // Begins `epoch` (>= 0) at batch `step` (0 <= step <= steps_per_epoch()); what is left of another epoch is dropped.
  Status Start(std::int64_t epoch, std::int64_t step = 0);

  // The next batch, or null at the end of the epoch. A failure comes in its place in the order, names batch and epoch,
  // and stays until the next Start(). Skipped samples are named in the log; more than the limit in one epoch are a failure.
  // No heap allocation unless it fails, stalls or skips, or lengths vary.
  Result<const Batch*> Next();

  std::int64_t epoch() const { return epoch_; }
  std::int64_t next_step() const { return next_; }  // step of the batch that Next() gives
  const LoaderStats& stats() const { return stats_; }

 private:
  enum class SlotState { kFree, kBusy, kReady };
  enum class Stage { kWaiting, kReading, kDone };
  struct Slot {
    Tensor samples;  // of a whole batch
    Tensor labels;
    Tensor last_samples;  // the same memory, seen as the last batch of the epoch
    Tensor last_labels;
    Batch batch;
    std::vector<Status> skipped;
    Status status;
    SlotState state = SlotState::kFree;
    Stage stage = Stage::kWaiting;
    std::int64_t worker = -1;
  };

  Loader(std::shared_ptr<const PreparedData> data, BatchPlan plan, const LoaderOptions& options);
  Status MakeSlots();
  Status StartWorkers();
  void Work(std::int64_t worker);
  void Quiesce(std::unique_lock<std::mutex>& lock);
  void Fill(Slot& slot, std::int64_t step, BatchMaker& maker);
  void SetBatch(Slot& slot, std::int64_t step);
  Status NoteSkipped(const Slot& slot);
  Slot& SlotOf(std::int64_t step) { return slots_[static_cast<std::size_t>(step) % slots_.size()]; }
  void Release(std::unique_lock<std::mutex>& lock);
  void Await(Slot& slot, std::unique_lock<std::mutex>& lock);
  void ReportStall(const Slot& slot, double seconds);

  // Fixed after Create().
  std::shared_ptr<const PreparedData> data_;
  SampleLayout layout_;
  LoaderOptions options_;
  std::vector<std::unique_ptr<BatchMaker>> makers_;  // one a worker, or one for the caller
  std::vector<std::thread> threads_;

  // Of the calling thread.
  std::int64_t next_ = 0;
  std::int64_t held_ = -1;  // step whose buffer the caller uses
  bool started_ = false;
  std::int64_t skipped_in_epoch_ = 0;
  LoaderStats stats_;

  // Written only while no worker is busy, read by workers after they claim a step under the mutex.
  std::int64_t epoch_ = 0;
  BatchPlan plan_;

  std::mutex mutex_;
  std::condition_variable work_;   // there may be a step to claim, or it is time to stop
  std::condition_variable ready_;  // a batch is ready, or a worker has become idle
  std::vector<Slot> slots_;        // states under the mutex; contents belong to whoever the state says
  std::int64_t claim_ = 0;         // next step that a worker takes
  std::int64_t limit_ = 0;         // steps are claimed below this
  std::int64_t ready_count_ = 0;
  std::int64_t busy_ = 0;
  std::int64_t sleeping_ = 0;
  bool stop_ = false;
};

}  // namespace tenon
