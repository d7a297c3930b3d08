// An opened device: its memory space, streams, events, copy engines and layouts. All members may be used from any thread.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "layout.h"
#include "plugin.h"
#include "runtime/cost.h"
#include "runtime/memory.h"
#include "runtime/queue.h"
#include "tenon/native/npu_sim.h"

namespace tenon::npu {

constexpr uint32_t kMaxRank = 8;

class NpuDevice;

class NpuSpace final : public sdk::Space {
 public:
  explicit NpuSpace(NpuDevice& device);
  void Describe(tenon_space_info& out) const override;
  int32_t Alloc(uint64_t bytes, uint64_t align, sdk::Stream* stream, uint32_t hint, sdk::Buffer** out,
                uint64_t& address, sdk::Error& error) override;
  int32_t Fill(uint64_t address, uint64_t bytes, uint64_t pattern, uint32_t pattern_bytes, sdk::Stream* stream,
               sdk::Error& error) override;
  int32_t WrapExternal(uint64_t address, uint64_t bytes, tenon_deleter_fn deleter, void* user, sdk::Buffer** out,
                       sdk::Error& error) override;
  void Stats(tenon_memory_stats& out) const override;

 private:
  bool Take(uint64_t bytes, uint64_t align, uint64_t& address);

  NpuDevice& device_;
};

// A queue as the host and as other plugins see it.
class NpuStream final : public sdk::Stream {
 public:
  NpuStream(NpuDevice& device, std::shared_ptr<Queue> queue);
  int32_t Query(sdk::Error& error) override;
  int32_t Synchronize(uint64_t timeout_ns, sdk::Error& error) override;
  int32_t WaitEvent(sdk::Event& event, sdk::Error& error) override;
  int32_t Notify(tenon_token* token, sdk::Error& error) override;
  uint64_t Native() override;
  void Destroy() noexcept override;

  NpuDevice& device() const { return device_; }
  Queue& queue() const { return *queue_; }

 private:
  struct Record {  // what the native handle points to
    tenon_npu_sim_stream face;
    NpuStream* stream;
  };
  static int32_t Enqueue(tenon_npu_sim_stream* face, int32_t (*fn)(void*), void* user);
  static int32_t Locate(tenon_npu_sim_stream* face, uint64_t address, uint64_t bytes, int32_t* file, uint64_t* offset);

  NpuDevice& device_;
  std::shared_ptr<Queue> queue_;
  Record record_;
};

class NpuDevice final : public sdk::Device {
 public:
  NpuDevice(NpuPlugin& plugin, uint32_t index, std::shared_ptr<Memory> memory, const Faults& faults, int copy_engines);

  // Streams have these numbers in profiles, from 1; copy engines those from kFirstEngine.
  static constexpr uint32_t kFirstEngine = 1001;

  int32_t Status(sdk::Error& error) override { return health_->Check(error); }
  int32_t LayoutInfo(uint32_t layout, uint32_t dtype, sdk::Dims dims, tenon_layout_info& out,
                     sdk::Error& error) override;
  int32_t Reorder(sdk::Tensor source, sdk::Tensor target, sdk::Stream* stream, sdk::Error& error) override;
  int32_t FindLayout(std::string_view name, uint32_t& out, sdk::Error& error) override;
  uint32_t SpaceCount() const override { return 1; }
  sdk::Space& SpaceAt(uint32_t) override { return space_; }
  int32_t Copy(const tenon_copy& copy, sdk::Stream* stream, sdk::Error& error) override;
  int32_t CreateStream(const tenon_stream_options& options, sdk::Stream** out, sdk::Error& error) override;
  int32_t CreateEvent(uint32_t flags, sdk::Event** out, sdk::Error& error) override;
  void Close() noexcept override;

  Health& health() { return *health_; }
  Memory& memory() { return *memory_; }
  Counters& counters() { return counters_; }

  // Enqueues work on stream, or, without one, does it before it returns.
  int32_t Launch(sdk::Stream* stream, Command command, sdk::Error& error);
  // Frees memory when the work that is on the stream now is done.
  void FreeBehind(sdk::Stream& stream, uint64_t address);
  // Waits until memory that FreeBehind promised is free.
  void WaitForFrees();

 private:
  struct Transfer;
  int32_t Resolve(const tenon_copy& copy, Transfer& out, sdk::Error& error);
  void Move(const Transfer& transfer);
  Queue& NextEngine();
  Recorder MakeRecorder(uint32_t stream) { return {profiler_, host(), index_, stream}; }
  void DropFinished();

  const uint32_t index_;
  std::shared_ptr<Memory> memory_;
  std::shared_ptr<Health> health_;
  NpuProfiler& profiler_;
  Counters counters_;
  NpuSpace space_;
  std::mutex mutex_;                            // guards what follows
  std::vector<std::shared_ptr<Queue>> queues_;  // of streams, also of destroyed ones until they are idle
  std::vector<std::unique_ptr<Queue>> engines_;
  size_t next_engine_ = 0;
  uint32_t streams_made_ = 0;
  std::vector<std::shared_ptr<Ticket>> frees_;  // pending ones
};

}  // namespace tenon::npu
