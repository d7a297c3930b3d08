// A device whose memory is ordinary host memory and whose streams run on the calling thread: work is finished when the
// enqueueing call returns. Enough for CPU backends and for a first version of any backend. All members may be used
// from any thread.
#pragma once

#include <sys/mman.h>

#include <atomic>
#include <cstdlib>

#include "tenon/sdk/device.h"
#include "tenon/sdk/profiler.h"

namespace tenon::sdk {

// Flags of tenon_device_info that belong to HostDevice.
constexpr uint32_t kHostDeviceFlags = TENON_DEVICE_HOST_MEMORY | TENON_DEVICE_INLINE_STREAMS;

class HostStream final : public Stream {
 public:
  explicit HostStream(Host host) : Stream(host) {}
  int32_t Query(Error&) override { return TENON_OK; }
  int32_t Synchronize(uint64_t, Error&) override { return TENON_OK; }
  int32_t WaitEvent(Event& event, Error& error) override { return event.Query(error); }
  int32_t Notify(tenon_token* token, Error&) override {
    host().Complete(token, TENON_OK);
    return TENON_OK;
  }
};

class HostEvent final : public Event {
 public:
  explicit HostEvent(Host host) : Event(host) {}
  int32_t Record(Stream&, Error&) override {
    recorded_ns_.store(host().ClockNs(), std::memory_order_release);
    return TENON_OK;
  }
  int32_t Query(Error& error) override {
    if (recorded_ns_.load(std::memory_order_acquire) == 0) {
      return error.Fail(TENON_FAILED_PRECONDITION, "The event was never recorded.");
    }
    return TENON_OK;
  }
  int32_t Synchronize(uint64_t, Error& error) override { return Query(error); }
  int32_t ElapsedTo(Event& later, double& ns, Error& error) override {
    int32_t code = Query(error);
    if (code == TENON_OK) code = later.Query(error);
    if (code != TENON_OK) return code;
    const auto& other = static_cast<HostEvent&>(later);
    ns = static_cast<double>(static_cast<int64_t>(other.recorded_ns_.load() - recorded_ns_.load()));
    return TENON_OK;
  }

 private:
  std::atomic<uint64_t> recorded_ns_{0};
};

class HostSpace;

class HostBuffer final : public Buffer {
 public:
  HostBuffer(HostSpace& space, void* memory, uint64_t bytes, tenon_deleter_fn deleter, void* user);
  void Free(Stream* stream) noexcept override;

 private:
  HostSpace& space_;
  void* memory_;  // NULL: wrapped
  uint64_t bytes_;
  tenon_deleter_fn deleter_;
  void* user_;
};

// Plain allocations; large arenas are aligned to and advised for big pages.
class HostSpace : public Space {
 public:
  // limit_bytes 0: no limit of its own.
  HostSpace(Host host, uint64_t limit_bytes) : Space(host), limit_bytes_(limit_bytes) {}

  void Describe(tenon_space_info& out) const override {
    out.flags = TENON_SPACE_HOST_ACCESSIBLE | TENON_SPACE_HOST_POOLS | TENON_SPACE_DEFAULT;
    out.kind = TENON_SPACE_DEVICE;
    out.min_align = kMinAlign;
    out.max_bytes = limit_bytes_;
    out.native_memory_kind = Str("host");
    out.name = Str("host memory");  // last member
  }
  int32_t Alloc(uint64_t bytes, uint64_t align, Stream*, uint32_t hint, Buffer** out, uint64_t& address,
                Error& error) override {
    if (align < kMinAlign) align = kMinAlign;
    if ((align & (align - 1)) != 0) {
      return error.Fail(TENON_INVALID_ARGUMENT, "Alignment ", align, " is not a power of two.");
    }
    void* memory = nullptr;
    const bool big = hint == TENON_ALLOC_ARENA && bytes >= kBigPage;
    if (bytes > 0 && Reserve(bytes)) {
      if (big && align < kBigPage) align = kBigPage;
      const uint64_t rounded = (bytes + align - 1) / align * align;
      if (rounded >= bytes) memory = std::aligned_alloc(align, rounded);
      if (memory == nullptr) Release(bytes);
      if (memory != nullptr && big) (void)madvise(memory, rounded, MADV_HUGEPAGE);
    }
    if (bytes > 0 && memory == nullptr) {
      const uint64_t used = current_.load();
      return error.OutOfMemory("host", bytes, limit_bytes_ > used ? limit_bytes_ - used : 0, limit_bytes_, 0);
    }
    Buffer* buffer = new (std::nothrow) HostBuffer(*this, memory, bytes, nullptr, nullptr);
    if (buffer == nullptr) {
      std::free(memory);
      Release(bytes);
      return error.Fail(TENON_RESOURCE_EXHAUSTED, "The plugin ran out of host memory.");
    }
    *out = buffer;
    address = reinterpret_cast<uintptr_t>(memory);
    return TENON_OK;
  }
  int32_t Fill(uint64_t address, uint64_t bytes, uint64_t pattern, uint32_t pattern_bytes, Stream*,
               Error& error) override {
    const bool width_ok = pattern_bytes == 1 || pattern_bytes == 2 || pattern_bytes == 4 || pattern_bytes == 8;
    if (!width_ok || bytes % pattern_bytes != 0) {
      return error.Fail(TENON_INVALID_ARGUMENT, "A pattern of ", pattern_bytes, " bytes cannot fill ", bytes,
                        " bytes.");
    }
    if (bytes == 0) return TENON_OK;
    char* target = reinterpret_cast<char*>(static_cast<uintptr_t>(address));
    if (pattern_bytes == 1) {
      std::memset(target, static_cast<int>(pattern & 0xFF), bytes);
    } else {
      for (uint64_t place = 0; place < bytes; place += pattern_bytes)
        std::memcpy(target + place, &pattern, pattern_bytes);
    }
    return TENON_OK;
  }
  int32_t WrapExternal(uint64_t address, uint64_t bytes, tenon_deleter_fn deleter, void* user, Buffer** out,
                       Error&) override {
    (void)address, (void)bytes;
    *out = new HostBuffer(*this, nullptr, 0, deleter, user);
    return TENON_OK;
  }
  void Stats(tenon_memory_stats& out) const override {
    out.current_bytes = current_.load();
    out.peak_bytes = peak_.load();
    out.reserved_bytes = out.current_bytes;
  }

 private:
  friend class HostBuffer;
  static constexpr uint64_t kMinAlign = 64;
  static constexpr uint64_t kBigPage = uint64_t{2} << 20;

  bool Reserve(uint64_t bytes) {
    uint64_t now = current_.load();
    do {
      if (bytes > UINT64_MAX / 4 || (limit_bytes_ != 0 && now + bytes > limit_bytes_)) return false;
    } while (!current_.compare_exchange_weak(now, now + bytes));
    uint64_t peak = peak_.load();
    while (peak < now + bytes && !peak_.compare_exchange_weak(peak, now + bytes)) {
    }
    return true;
  }
  void Release(uint64_t bytes) { current_.fetch_sub(bytes); }

  uint64_t limit_bytes_;
  std::atomic<uint64_t> current_{0};
  std::atomic<uint64_t> peak_{0};
};

inline HostBuffer::HostBuffer(HostSpace& space, void* memory, uint64_t bytes, tenon_deleter_fn deleter, void* user)
    : Buffer(space.host()), space_(space), memory_(memory), bytes_(bytes), deleter_(deleter), user_(user) {}

inline void HostBuffer::Free(Stream*) noexcept {
  std::free(memory_);
  space_.Release(bytes_);
  if (deleter_ != nullptr) deleter_(user_);
  delete this;
}

// Copies between strided views of equal dims and dtype; elements of whole bytes.
inline void CopyStrided(Tensor source, Tensor target) {
  const Dims dims = source.dims();
  const uint64_t width = DTypeBits(source.dtype()) / 8;
  const char* from = source.data<const char>();
  char* to = target.data<char>();
  if (dims.Elements() == 0) return;
  if (source.contiguous() && target.contiguous()) {
    std::memcpy(to, from, static_cast<size_t>(source.bytes()));
    return;
  }
  constexpr uint32_t kMax = 32;
  int64_t from_stride[kMax] = {};
  int64_t to_stride[kMax] = {};
  int64_t index[kMax] = {};
  const uint32_t rank = dims.size();
  int64_t from_next = 1;
  int64_t to_next = 1;
  for (uint32_t axis = rank; axis-- > 0;) {
    from_stride[axis] = source.strides() != nullptr ? source.strides()[axis] : from_next;
    to_stride[axis] = target.strides() != nullptr ? target.strides()[axis] : to_next;
    from_next *= dims[axis];
    to_next *= dims[axis];
  }
  const int64_t elements = dims.Elements();
  int64_t from_place = 0;
  int64_t to_place = 0;
  for (int64_t done = 0; done < elements; ++done) {
    std::memcpy(to + static_cast<uint64_t>(to_place) * width, from + static_cast<uint64_t>(from_place) * width, width);
    for (uint32_t axis = rank; axis-- > 0;) {
      from_place += from_stride[axis];
      to_place += to_stride[axis];
      if (++index[axis] < dims[axis]) break;
      from_place -= from_stride[axis] * dims[axis];
      to_place -= to_stride[axis] * dims[axis];
      index[axis] = 0;
    }
  }
}

// Knows the strided layout only; a backend with layouts of its own overrides the three layout members.
class HostDevice : public Device {
 public:
  // limit_bytes 0: no limit of its own.
  explicit HostDevice(Plugin& plugin, uint64_t limit_bytes = 0) : Device(plugin), space_(plugin.host(), limit_bytes) {}

  int32_t LayoutInfo(uint32_t layout, uint32_t dtype, Dims dims, tenon_layout_info& out, Error& error) override {
    if (layout != TENON_LAYOUT_STRIDED) return error.Fail(TENON_NOT_FOUND, "There is no layout ", layout, ".");
    out.flags = TENON_LAYOUT_IS_STRIDED;
    out.bytes = DTypeBytes(dtype, dims.Elements());
    out.align = 64;
    NameLayout(out, "strided");
    if (out.strides != nullptr) {
      int64_t next = 1;
      for (uint32_t axis = dims.size(); axis-- > 0;) {
        out.strides[axis] = next;
        next *= dims[axis];
      }
    }
    return TENON_OK;
  }
  int32_t Reorder(Tensor source, Tensor target, Stream*, Error& error) override {
    if (source.layout() != TENON_LAYOUT_STRIDED || target.layout() != TENON_LAYOUT_STRIDED) {
      return error.Fail(TENON_UNIMPLEMENTED, "There is no conversion from layout ", source.layout(), " to layout ",
                        target.layout(), ".");
    }
    if (source.dtype() != target.dtype() || source.dims() != target.dims()) {
      return error.Fail(TENON_INVALID_ARGUMENT, "A reorder from ", DTypeName(source.dtype()), source.dims(), " to ",
                        DTypeName(target.dtype()), target.dims(), " changes more than the layout.");
    }
    if (DTypeBits(source.dtype()) % 8 != 0 && !(source.contiguous() && target.contiguous())) {
      return error.Fail(TENON_UNIMPLEMENTED, "Strided copies of ", DTypeName(source.dtype()), " are not possible.");
    }
    if (source.rank() > 32) return error.Fail(TENON_UNIMPLEMENTED, "Rank ", source.rank(), " is above 32.");
    CopyStrided(source, target);
    return TENON_OK;
  }
  int32_t FindLayout(std::string_view name, uint32_t& out, Error& error) override {
    if (name != "strided") return error.Fail(TENON_NOT_FOUND, "There is no layout '", name, "'.");
    out = TENON_LAYOUT_STRIDED;
    return TENON_OK;
  }

  uint32_t SpaceCount() const override { return 1; }
  Space& SpaceAt(uint32_t) override { return space_; }
  int32_t Copy(const tenon_copy& copy, Stream*, Error& error) override {
    if (copy.rows == 0 || copy.row_bytes == 0) return TENON_OK;
    const uint64_t source_pitch = copy.rows == 1 ? copy.row_bytes : copy.source_pitch;
    const uint64_t target_pitch = copy.rows == 1 ? copy.row_bytes : copy.target_pitch;
    if (source_pitch < copy.row_bytes || target_pitch < copy.row_bytes) {
      return error.Fail(TENON_INVALID_ARGUMENT, "A row of ", copy.row_bytes, " bytes does not fit pitches ",
                        source_pitch, " and ", target_pitch, ".");
    }
    const uint64_t source_end = copy.source + (copy.rows - 1) * source_pitch + copy.row_bytes;
    const uint64_t target_end = copy.target + (copy.rows - 1) * target_pitch + copy.row_bytes;
    if (copy.source < target_end && copy.target < source_end) {
      return error.Fail(TENON_INVALID_ARGUMENT, "Source and target of a copy overlap.");
    }
    uint64_t correlation_id = 0;
    if (TENON_HAS_FIELD(&copy, tenon_copy, correlation_id)) correlation_id = copy.correlation_id;  // last member
    InlineRecord record(plugin(), TENON_RECORD_COPY, correlation_id);
    record->bytes = copy.rows * copy.row_bytes;
    for (uint64_t row = 0; row < copy.rows; ++row) {
      std::memcpy(reinterpret_cast<void*>(static_cast<uintptr_t>(copy.target + row * target_pitch)),
                  reinterpret_cast<const void*>(static_cast<uintptr_t>(copy.source + row * source_pitch)),
                  static_cast<size_t>(copy.row_bytes));
    }
    return TENON_OK;
  }

  int32_t CreateStream(const tenon_stream_options&, Stream** out, Error&) override {
    *out = new HostStream(host());
    return TENON_OK;
  }
  int32_t CreateEvent(uint32_t, Event** out, Error&) override {
    *out = new HostEvent(host());
    return TENON_OK;
  }
  int32_t WrapNative(uint64_t, Stream** out, Error&) override {
    *out = new HostStream(host());
    return TENON_OK;
  }

 private:
  HostSpace space_;
};

}  // namespace tenon::sdk
