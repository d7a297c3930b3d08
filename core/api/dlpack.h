// The part of DLPack 1.x that crosses the interface, for host tensors. Layout from the DLPack specification; a program
// may include its own dlpack.h beside tenon.h, but not this file.
#pragma once

#include <cstdint>

extern "C" {

struct DLPackVersion {
  std::uint32_t major, minor;
};
struct DLDevice {
  std::int32_t device_type;  // 1: host memory
  std::int32_t device_id;
};
struct DLDataType {
  std::uint8_t code;  // 0 int, 1 unsigned, 2 float, 4 bfloat16, 6 bool
  std::uint8_t bits;
  std::uint16_t lanes;
};
struct DLTensor {
  void* data;
  DLDevice device;
  std::int32_t ndim;
  DLDataType dtype;
  std::int64_t* shape;
  std::int64_t* strides;  // in elements; null: row-major
  std::uint64_t byte_offset;
};
struct DLManagedTensorVersioned {
  DLPackVersion version;
  void* manager_ctx;
  void (*deleter)(DLManagedTensorVersioned* self);
  std::uint64_t flags;  // 1: read-only
  DLTensor dl_tensor;
};

}  // extern "C"
