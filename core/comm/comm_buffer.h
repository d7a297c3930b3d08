#pragma once

#include <cstdint>
#include <utility>

#include "tenon/abi/collective.h"

namespace tenon {

// Memory in which a communicator is fastest (the buffer hook of its plugin); freed with the object, which must not outlive
// the communicator.
class CommBuffer {
 public:
  CommBuffer() = default;
  CommBuffer(CommBuffer&& other) noexcept { *this = std::move(other); }
  CommBuffer& operator=(CommBuffer&& other) noexcept;
  CommBuffer(const CommBuffer&) = delete;
  CommBuffer& operator=(const CommBuffer&) = delete;
  ~CommBuffer();
  // Where this rank writes what is to be reduced, and where the result appears: `bytes` each. In a block that all ranks of
  // the node map the result is there once, for all to read; it stays until all ranks have started the next reduction.
  std::uint64_t send() const { return send_; }
  std::uint64_t receive() const { return receive_; }
  std::int64_t bytes() const { return bytes_; }
  bool shared() const { return send_ != receive_; }

 private:
  friend class Communicator;
  const tenon_collective_vtable* table_ = nullptr;
  tenon_comm* comm_ = nullptr;
  tenon_comm_buffer* handle_ = nullptr;
  std::uint64_t send_ = 0, receive_ = 0;
  std::int64_t bytes_ = 0;
};

}  // namespace tenon
