#include "device.h"

#include <chrono>
#include <cstring>
#include <thread>
#include <utility>

namespace tenon::npu {

NpuDevice::NpuDevice(NpuPlugin& plugin, uint32_t index, std::shared_ptr<Memory> memory, const Faults& faults,
                     int copy_engines)
    : Device(plugin),
      index_(index),
      memory_(std::move(memory)),
      health_(std::make_shared<Health>(faults)),
      profiler_(plugin.npu_profiler()),
      space_(*this) {
  for (int i = 0; i < copy_engines; ++i)
    engines_.push_back(std::make_unique<Queue>(host(), health_, MakeRecorder(kFirstEngine + static_cast<uint32_t>(i))));
}

// Streams that still work are waited for; then their threads are joined.
void NpuDevice::Close() noexcept {
  queues_.clear();
  engines_.clear();
  const Counters& c = counters_;
  host().Log(TENON_LOG_INFO, "npu", "npu:", index_, " ran ", c.kernels.load(), " kernels in ", c.cycles.load(),
             " cycles (cube ", c.cube_cycles.load(), ", vector ", c.vector_cycles.load(), ", memory ",
             c.memory_cycles.load(), ") and ", c.transfers.load(), " transfers of ", c.transfer_bytes.load(),
             " bytes in ", c.transfer_cycles.load(), " cycles");
  delete this;
}

int32_t NpuDevice::Launch(sdk::Stream* stream, Command command, sdk::Error& error) {
  if (const int32_t code = health_->Check(error); code != TENON_OK) return code;
  if (stream != nullptr) {
    static_cast<NpuStream*>(stream)->queue().Push(std::move(command));
    return TENON_OK;
  }
  health_->CountCall();
  if (const int32_t code = health_->Check(error); code != TENON_OK) return code;
  uint64_t cycles = 0;
  Recorder recorder = MakeRecorder(0);
  const uint64_t begin = recorder.Begin();
  command.run(cycles);
  if (command.recorded.kind != 0)
    recorder.Write(command.recorded, command.name, command.correlation_id, begin, /*failed=*/false);
  return TENON_OK;
}

void NpuDevice::FreeBehind(sdk::Stream& stream, uint64_t address) {
  Queue& queue = static_cast<NpuStream&>(stream).queue();
  Command command;
  command.kind = Command::Kind::kAlways;
  command.name = "free";
  auto freed = std::make_shared<Ticket>();
  command.ticket = freed;
  command.run = [memory = memory_, address](uint64_t&) { memory->Give(address); };
  const std::lock_guard<std::mutex> lock(mutex_);
  std::vector<std::shared_ptr<Ticket>> pending;
  for (auto& ticket : frees_) {
    if (!ticket->reached()) pending.push_back(std::move(ticket));
  }
  frees_ = std::move(pending);
  frees_.push_back(std::move(freed));
  queue.Push(std::move(command));
}

void NpuDevice::WaitForFrees() {
  std::vector<std::shared_ptr<Ticket>> pending;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    pending.swap(frees_);
  }
  for (const auto& ticket : pending) ticket->Wait(UINT64_MAX);
}

// ---- copies

// A copy with addresses of this side.
struct NpuDevice::Transfer {
  const std::byte* source = nullptr;
  std::byte* target = nullptr;
  uint64_t row_bytes = 0, rows = 0, source_pitch = 0, target_pitch = 0;
  bool through_link = false;                       // one side is host memory
  std::shared_ptr<std::vector<std::byte>> staged;  // the source, where the host may change it at once
  uint64_t bytes() const { return row_bytes * rows; }
};

int32_t NpuDevice::Resolve(const tenon_copy& copy, Transfer& out, sdk::Error& error) {
  out.row_bytes = copy.row_bytes;
  out.rows = copy.rows;
  out.source_pitch = copy.rows == 1 ? copy.row_bytes : copy.source_pitch;
  out.target_pitch = copy.rows == 1 ? copy.row_bytes : copy.target_pitch;
  if (out.source_pitch < copy.row_bytes || out.target_pitch < copy.row_bytes) {
    return error.Fail(TENON_INVALID_ARGUMENT, "A row of ", copy.row_bytes, " bytes does not fit pitches ",
                      out.source_pitch, " and ", out.target_pitch, ".");
  }
  const uint64_t source_span = (copy.rows - 1) * out.source_pitch + copy.row_bytes;
  const uint64_t target_span = (copy.rows - 1) * out.target_pitch + copy.row_bytes;
  if (copy.source_space == nullptr && copy.target_space == nullptr)
    return error.Fail(TENON_INVALID_ARGUMENT, "Neither side of the copy is memory of this device.");
  const auto side = [&](tenon_space* space, uint64_t address, uint64_t span, const char* name,
                        std::byte*& place) -> int32_t {
    if (space == nullptr) {
      place = reinterpret_cast<std::byte*>(static_cast<uintptr_t>(address));
      return TENON_OK;
    }
    if (space != space_.handle()) return error.Fail(TENON_UNIMPLEMENTED, "Copies between devices are not possible.");
    place = memory_->Resolve(address, span);
    if (place != nullptr) return TENON_OK;
    return error.Fail(TENON_INVALID_ARGUMENT, "The ", std::string_view(name), " of the copy, ", span,
                      " bytes from address ", address, ", does not lie in one allocation of the device.");
  };
  std::byte* source = nullptr;
  int32_t code = side(copy.source_space, copy.source, source_span, "source", source);
  if (code == TENON_OK) code = side(copy.target_space, copy.target, target_span, "target", out.target);
  if (code != TENON_OK) return code;
  out.source = source;
  out.through_link = copy.source_space == nullptr || copy.target_space == nullptr;
  if (out.source < out.target + target_span && out.target < out.source + source_span)
    return error.Fail(TENON_INVALID_ARGUMENT, "Source and target of a copy overlap.");
  return TENON_OK;
}

void NpuDevice::Move(const Transfer& transfer) {
  if (transfer.through_link && health_->faults().slow_copy_ms_per_mb > 0) {
    const double ms = health_->faults().slow_copy_ms_per_mb * static_cast<double>(transfer.bytes()) / (1 << 20);
    std::this_thread::sleep_for(std::chrono::duration<double, std::milli>(ms));
  }
  for (uint64_t row = 0; row < transfer.rows; ++row) {
    std::memcpy(transfer.target + row * transfer.target_pitch, transfer.source + row * transfer.source_pitch,
                transfer.row_bytes);
  }
}

Queue& NpuDevice::NextEngine() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return *engines_[next_engine_++ % engines_.size()];
}

// Copies inside the device are work of the stream; those from and to the host are done by a copy engine, for which the
// stream waits.
int32_t NpuDevice::Copy(const tenon_copy& copy, sdk::Stream* stream, sdk::Error& error) {
  if (const int32_t code = health_->Check(error); code != TENON_OK) return code;
  if (copy.rows == 0 || copy.row_bytes == 0) return TENON_OK;
  Transfer transfer;
  if (const int32_t code = Resolve(copy, transfer, error); code != TENON_OK) return code;
  const bool from_host = copy.source_space == nullptr;
  if (from_host && stream != nullptr && copy.host_source == TENON_HOST_SOURCE_DURING_CALL) {
    transfer.staged = std::make_shared<std::vector<std::byte>>(transfer.bytes());
    for (uint64_t row = 0; row < transfer.rows; ++row)
      std::memcpy(transfer.staged->data() + row * transfer.row_bytes, transfer.source + row * transfer.source_pitch,
                  transfer.row_bytes);
    transfer.source = transfer.staged->data();
    transfer.source_pitch = transfer.row_bytes;
  }
  Command command;
  command.name = "copy";
  command.correlation_id = TENON_HAS_FIELD(&copy, tenon_copy, correlation_id) ? copy.correlation_id : 0;
  if (!transfer.through_link) {
    const Cost cost{0, 0, 2 * transfer.bytes()};
    command.recorded = {TENON_RECORD_COPY, cost.Cycles(), transfer.bytes()};
    command.run = [this, transfer, cost](uint64_t& cycles) {
      Move(transfer);
      counters_.Add(cost);
      cycles += cost.Cycles();
    };
    return Launch(stream, std::move(command), error);
  }
  Queue& engine = NextEngine();
  command.run = [this, transfer, &engine, correlation_id = command.correlation_id](uint64_t& cycles) {
    Command move;
    move.kind = Command::Kind::kAlways;
    move.name = "transfer";
    move.correlation_id = correlation_id;
    move.recorded = {TENON_RECORD_COPY, TransferCycles(transfer.bytes()), transfer.bytes()};
    const auto moved = std::make_shared<Ticket>();
    move.ticket = moved;
    move.run = [this, &transfer, start = cycles](uint64_t& engine_cycles) {
      Move(transfer);
      engine_cycles = std::max(engine_cycles, start) + TransferCycles(transfer.bytes());
    };
    engine.Push(std::move(move));
    moved->Wait(UINT64_MAX);
    counters_.AddTransfer(transfer.bytes());
    cycles = moved->cycles();
  };
  return Launch(stream, std::move(command), error);
}

}  // namespace tenon::npu
