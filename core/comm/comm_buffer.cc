#include "core/comm/comm_buffer.h"

#include <cstring>
#include <utility>

#include "core/comm/communicator.h"
#include "core/device/device.h"
#include "core/plugin/abi_trace.h"
#include "core/plugin/error_sink.h"

namespace tenon {
namespace {

constexpr std::uint64_t kPartAlign = 4096;  // of the parts of a shared block: ranks share no page

}  // namespace

CommBuffer& CommBuffer::operator=(CommBuffer&& other) noexcept {
  std::swap(table_, other.table_);
  std::swap(comm_, other.comm_);
  std::swap(handle_, other.handle_);
  std::swap(send_, other.send_);
  std::swap(receive_, other.receive_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

CommBuffer::~CommBuffer() {
  if (handle_ != nullptr) CallAbi(kCollectiveInterface, "buffer_free", table_->buffer_free, comm_, handle_);
}

// A shared block has a part for each rank of the node, and one more for the result: a fast rank may write its next values
// while a slow one still reads.
Result<std::optional<CommBuffer>> Communicator::AllocateBuffer(std::int64_t bytes) {
  const tenon_collective_vtable& table = *plugin_.table;
  const Device* device = options_.device;
  const bool usable = table.buffer_alloc != nullptr && table.buffer_free != nullptr && !staged_ &&
                      (device == nullptr || device->host_accessible());
  if (!usable) return std::optional<CommBuffer>();
  const std::uint64_t part = (static_cast<std::uint64_t>(bytes) + kPartAlign - 1) / kPartAlign * kPartAlign;
  const std::uint64_t parts = options_.rank.local_size + 1;
  tenon_comm_buffer_info info = TENON_INIT(tenon_comm_buffer_info);
  tenon_error error;
  const std::int32_t code =
      CallAbi(kCollectiveInterface, "buffer_alloc", table.buffer_alloc, comm_, parts * part, kPartAlign, &info, &error);
  // A rank that got none cannot share with those that did.
  std::int32_t all = code == TENON_OK && info.address != 0 ? 1 : 0;
  CommBuffer buffer;
  buffer.table_ = &table;
  buffer.comm_ = comm_;
  buffer.handle_ = all == 0 ? nullptr : info.handle;
  TENON_ASSIGN(const Ticket ticket, AllReduce(AddressOf(&all), AddressOf(&all), 1, DType::kI32, Reduction::kMin));
  TENON_TRY(Wait(ticket));
  if (all == 0) return std::optional<CommBuffer>();
  const bool shared = (info.flags & TENON_COMM_BUFFER_SHARED) != 0;
  buffer.send_ = info.address + (shared ? options_.rank.local_rank * part : 0);
  buffer.receive_ = shared ? info.address + options_.rank.local_size * part : buffer.send_;
  buffer.bytes_ = bytes;
  std::memset(reinterpret_cast<void*>(buffer.send_), 0, static_cast<std::size_t>(bytes));
  std::memset(reinterpret_cast<void*>(buffer.receive_), 0, static_cast<std::size_t>(bytes));
  TENON_TRY(Barrier());  // a late rank must not clear what an early one has written
  return std::optional<CommBuffer>(std::move(buffer));
}

}  // namespace tenon
