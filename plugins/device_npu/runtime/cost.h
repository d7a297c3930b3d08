// The cost model: what a call takes in simulated cycles. README.md explains the numbers.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace tenon::npu {

// One cycle is one nanosecond: the clock runs at 1 GHz.
constexpr uint64_t kLaunchCycles = 500;       // of every call
constexpr uint64_t kCubeMacsPerCycle = 4096;  // one product of 16x16 tiles of bf16 or f16
constexpr uint64_t kVectorLanes = 64;         // f32 operations in a cycle
constexpr uint64_t kMemoryBytes = 256;        // that device memory moves in a cycle
constexpr uint64_t kLinkBytes = 16;           // that a copy engine moves between host and device in a cycle
constexpr uint64_t kTransferCycles = 2000;    // of every transfer between host and device

// What one call asks of the units. They work side by side, so that the slowest one counts.
struct Cost {
  uint64_t cube_macs = 0;
  uint64_t vector_ops = 0;
  uint64_t bytes = 0;         // read and written
  uint64_t extra_cycles = 0;  // before or after all that

  static constexpr uint64_t Parts(uint64_t whole, uint64_t part) { return (whole + part - 1) / part; }
  constexpr uint64_t CubeCycles() const { return Parts(cube_macs, kCubeMacsPerCycle); }
  constexpr uint64_t VectorCycles() const { return Parts(vector_ops, kVectorLanes); }
  constexpr uint64_t MemoryCycles() const { return Parts(bytes, kMemoryBytes); }
  constexpr uint64_t Cycles() const {
    return kLaunchCycles + extra_cycles + std::max({CubeCycles(), VectorCycles(), MemoryCycles()});
  }
};

constexpr uint64_t TransferCycles(uint64_t bytes) { return kTransferCycles + Cost::Parts(bytes, kLinkBytes); }

// What a device has done since it was opened.
struct Counters {
  std::atomic<uint64_t> kernels{0}, cycles{0}, cube_cycles{0}, vector_cycles{0}, memory_cycles{0};
  std::atomic<uint64_t> transfers{0}, transfer_bytes{0}, transfer_cycles{0};

  void Add(const Cost& cost) {
    kernels += 1;
    cycles += cost.Cycles();
    cube_cycles += cost.CubeCycles();
    vector_cycles += cost.VectorCycles();
    memory_cycles += cost.MemoryCycles();
  }
  void AddTransfer(uint64_t bytes) {
    transfers += 1;
    transfer_bytes += bytes;
    transfer_cycles += TransferCycles(bytes);
  }
};

}  // namespace tenon::npu
