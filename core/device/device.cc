#include "core/device/device.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/plugin/abi_trace.h"
#include "core/plugin/error_sink.h"

namespace tenon {
namespace {

constexpr std::uint64_t kMinimumAlign = 64;  // bytes; what every allocation asks for

}  // namespace

Buffer::Buffer(Buffer&& other) noexcept
    : device_(std::exchange(other.device_, nullptr)),
      handle_(std::exchange(other.handle_, nullptr)),
      address_(std::exchange(other.address_, 0)),
      bytes_(std::exchange(other.bytes_, 0)) {}

Buffer& Buffer::operator=(Buffer&& other) noexcept {
  std::swap(device_, other.device_);
  std::swap(handle_, other.handle_);
  std::swap(address_, other.address_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

Buffer::~Buffer() {
  if (device_ != nullptr) device_->Free(handle_, bytes_);
}

tenon_tensor ViewOf(DType dtype, const Shape& shape, std::uint32_t layout, std::uint64_t address,
                    bool host_accessible) {
  tenon_tensor view = TENON_INIT(tenon_tensor);
  if (host_accessible) view.flags |= TENON_TENSOR_HOST_ACCESSIBLE;
  if (shape.elements() == 0) view.flags |= TENON_TENSOR_EMPTY;
  view.address = address;
  view.dtype = static_cast<std::uint32_t>(dtype);
  view.rank = static_cast<std::uint32_t>(shape.rank());
  view.dims = shape.data();
  view.layout = layout;
  return view;
}

Result<std::unique_ptr<Device>> Device::Open(const PluginHandle& plugin, std::uint32_t index) {
  std::unique_ptr<Device> device(new Device(plugin));
  TENON_TRY_WHILE(device->Initialise(index), "opening device {} of plugin {} ({})", index, plugin.id, plugin.file_name);
  return device;
}

// A call that returned OK and left its result empty.
Status Device::NothingGiven(std::string_view call, std::string_view result) const {
  return Error(Code::kInternal, "Plugin {} ({}) reports success for {} and gives no {}. Report it to the vendor.",
               plugin_.id, plugin_.file_name, call, result);
}

std::string Device::Subject() const { return fmt::format("plugin {}", plugin_.id); }

Status Device::Initialise(std::uint32_t index) {
  index_ = index;
  if (plugin_.device == nullptr || plugin_.memory == nullptr || plugin_.stream == nullptr)
    return Error(Code::kInternal, "Plugin {} offers no complete device interface.", plugin_.id);
  tenon_error error;
  tenon_device_info info = TENON_INIT(tenon_device_info);
  TENON_TRY(ToStatus(
      CallAbi("tenon.device", "device_info", plugin_.device->device_info, plugin_.instance, index, &info, &error),
      error, Subject()));
  kind_ = View(info.kind);
  name_ = View(info.name);
  native_stream_kind_ = View(info.native_stream_kind);
  native_memory_kind_ = View(info.native_memory_kind);
  inline_streams_ = (info.flags & TENON_DEVICE_INLINE_STREAMS) != 0;
  TENON_TRY(ToStatus(CallAbi("tenon.device", "open", plugin_.device->open, plugin_.instance, index, &device_, &error),
                     error, Subject()));
  if (device_ == nullptr) return NothingGiven("opening device", "device");
  tenon_stream_options options = TENON_INIT(tenon_stream_options);
  options.role = TENON_STREAM_COMPUTE;
  TENON_TRY(ToStatus(
      CallAbi("tenon.stream", "stream_create", plugin_.stream->stream_create, device_, &options, &stream_, &error),
      error, Subject()));
  if (stream_ == nullptr) return NothingGiven("creating a stream", "stream");
  return PickSpace();
}

Status Device::PickSpace() {
  tenon_error error;
  std::uint32_t count = 0;
  TENON_TRY(ToStatus(CallAbi("tenon.memory", "space_count", plugin_.memory->space_count, device_, &count, &error),
                     error, Subject()));
  for (std::uint32_t i = 0; i < count; ++i) {
    tenon_space_info info = TENON_INIT(tenon_space_info);
    tenon_space* space = nullptr;
    TENON_TRY(
        ToStatus(CallAbi("tenon.memory", "space_get", plugin_.memory->space_get, device_, i, &space, &info, &error),
                 error, Subject()));
    if ((info.flags & TENON_SPACE_DEFAULT) == 0) continue;
    space_ = space;
    host_accessible_ = (info.flags & TENON_SPACE_HOST_ACCESSIBLE) != 0;
  }
  if (space_ == nullptr) return Error(Code::kInternal, "Plugin {} names no default memory space.", plugin_.id);
  return {};
}

Device::~Device() {
  if (stream_ != nullptr) CallAbi("tenon.stream", "stream_destroy", plugin_.stream->stream_destroy, stream_);
  if (device_ != nullptr) CallAbi("tenon.device", "close", plugin_.device->close, device_);
}

Result<Buffer> Device::Allocate(std::int64_t bytes, std::uint32_t hint) {
  Buffer buffer;
  tenon_error error;
  const std::int32_t code =
      CallAbi("tenon.memory", "alloc", plugin_.memory->alloc, space_, static_cast<std::uint64_t>(bytes), kMinimumAlign,
              nullptr, hint, &buffer.handle_, &buffer.address_, &error);
  TENON_TRY_WHILE(ToStatus(code, error, Subject()), "allocating {} bytes on device {}:{}", bytes, kind_, index_);
  if (bytes > 0 && (buffer.address_ == 0 || buffer.address_ % kMinimumAlign != 0)) {
    const std::uint64_t address = std::exchange(buffer.address_, 0);
    Free(std::exchange(buffer.handle_, nullptr), 0);
    return Error(
        Code::kInternal,
        "Plugin {} ({}) reports success for an allocation of {} bytes aligned to {} and gives the address {:#x}. "
        "Report it to the vendor.",
        plugin_.id, plugin_.file_name, bytes, kMinimumAlign, address);
  }
  buffer.device_ = this;
  buffer.bytes_ = bytes;
  current_bytes_ += bytes;
  peak_bytes_ = std::max(peak_bytes_, current_bytes_);
  return buffer;
}

void Device::Free(tenon_buffer* buffer, std::int64_t bytes) {
  current_bytes_ -= bytes;
  // Behind the work on the stream, which may still use it.
  if (buffer != nullptr) CallAbi("tenon.memory", "free", plugin_.memory->free, buffer, stream_);
}

Result<LayoutFacts> Device::Facts(std::uint32_t layout, DType dtype, const Shape& shape) const {
  LayoutFacts facts;
  if (layout == TENON_LAYOUT_STRIDED) {
    facts.bytes = shape.elements() * SizeOf(dtype);
    return facts;
  }
  if (plugin_.device->layout_info == nullptr)
    return Error(Code::kInternal, "Plugin {} chose layout {} but describes no layouts.", plugin_.id, layout);
  tenon_error error;
  tenon_layout_info info = TENON_INIT(tenon_layout_info);
  const std::int32_t code =
      plugin_.device->layout_info(device_, layout, static_cast<std::uint32_t>(dtype),
                                  static_cast<std::uint32_t>(shape.rank()), shape.data(), &info, &error);
  TENON_TRY_WHILE(ToStatus(code, error, Subject()), "asking for layout {} of {}{}", layout, NameOf(dtype), shape);
  facts.bytes = static_cast<std::int64_t>(info.bytes);
  facts.align = static_cast<std::int64_t>(info.align);
  facts.name = View(info.name);
  return facts;
}

std::string Device::LayoutName(std::uint32_t layout) const {
  if (layout == TENON_LAYOUT_STRIDED) return "strided";
  const Shape probe{1, 1, 1, 1};
  for (int rank = 4; rank >= 1; --rank) {
    const auto facts = Facts(layout, DType::kF32, Shape(probe.dims().first(static_cast<std::size_t>(rank))));
    if (facts.ok()) return facts->name;
  }
  return fmt::format("layout{}", layout);
}

Status Device::Reorder(const tenon_tensor& source, const tenon_tensor& target) {
  if (plugin_.device->reorder == nullptr)
    return Error(Code::kInternal, "Plugin {} uses layouts but converts none.", plugin_.id);
  tenon_error error;
  const std::int32_t code =
      CallAbi("tenon.device", "reorder", plugin_.device->reorder, device_, &source, &target, stream_, &error);
  if (code == TENON_OK) return {};
  return ToStatus(code, error, Subject())
      .While(fmt::format("converting a tensor from layout '{}' to '{}'", LayoutName(source.layout),
                         LayoutName(target.layout)));
}

namespace {

ActivityKind KindOfCopy(const tenon_space* source, const tenon_space* target) {
  if (source == nullptr) return ActivityKind::kCopyToDevice;
  return target == nullptr ? ActivityKind::kCopyToHost : ActivityKind::kCopyOnDevice;
}

}  // namespace

Status Device::Copy(tenon_space* source_space, std::uint64_t source, tenon_space* target_space, std::uint64_t target,
                    std::int64_t bytes) {
  if (bytes == 0) return {};
  tenon_copy copy = TENON_INIT(tenon_copy);
  copy.host_source = TENON_HOST_SOURCE_DURING_CALL;
  copy.source_space = source_space;
  copy.target_space = target_space;
  copy.source = source;
  copy.target = target;
  copy.row_bytes = static_cast<std::uint64_t>(bytes);
  copy.rows = 1;
  if (activity_ != nullptr) copy.correlation_id = activity_->NextCorrelation();
  const ActivityScope scope(activity_, KindOfCopy(source_space, target_space), copy.correlation_id, bytes);
  tenon_error error;
  const std::int32_t code = CallAbi("tenon.memory", "copy", plugin_.memory->copy, device_, &copy, stream_, &error);
  if (code == TENON_OK) return {};
  return ToStatus(code, error, Subject()).While(fmt::format("copying {} bytes on device {}:{}", bytes, kind_, index_));
}

Status Device::CopyOnDevice(std::uint64_t source, std::uint64_t target, std::int64_t bytes) {
  if (host_accessible_ && inline_streams_) {
    std::memcpy(reinterpret_cast<void*>(target), reinterpret_cast<const void*>(source),
                static_cast<std::size_t>(bytes));
    return {};
  }
  return Copy(space_, source, space_, target, bytes);
}

Status Device::CopyFromHost(const void* source, std::uint64_t target, std::int64_t bytes) {
  if (!host_accessible_) {
    ++copies_.to_device;
    copies_.to_device_bytes += bytes;
  }
  return Copy(nullptr, reinterpret_cast<std::uint64_t>(source), space_, target, bytes);
}

Status Device::CopyToHost(std::uint64_t source, void* target, std::int64_t bytes) {
  if (!host_accessible_) {
    ++copies_.to_host;
    copies_.to_host_bytes += bytes;
  }
  TENON_TRY(Copy(space_, source, nullptr, reinterpret_cast<std::uint64_t>(target), bytes));
  return Synchronize();
}

Status Device::Store(const Tensor& source, std::uint32_t layout, std::uint64_t target) {
  if (layout == TENON_LAYOUT_STRIDED) return CopyFromHost(source.raw(), target, source.bytes());
  TENON_ASSIGN(const Buffer staged, Allocate(source.bytes(), TENON_ALLOC_TEMPORARY));
  TENON_TRY(CopyFromHost(source.raw(), staged.address(), source.bytes()));
  const Shape shape = source.shape();
  return Reorder(ViewOf(source.dtype(), shape, TENON_LAYOUT_STRIDED, staged.address(), host_accessible_),
                 ViewOf(source.dtype(), shape, layout, target, host_accessible_));
}

Result<Tensor> Device::Load(DType dtype, const Shape& shape, std::uint32_t layout, std::uint64_t source) {
  Tensor tensor(dtype, shape);
  if (layout == TENON_LAYOUT_STRIDED) {
    TENON_TRY(CopyToHost(source, tensor.raw(), tensor.bytes()));
    return tensor;
  }
  TENON_ASSIGN(const Buffer staged, Allocate(tensor.bytes(), TENON_ALLOC_TEMPORARY));
  TENON_TRY(Reorder(ViewOf(dtype, shape, layout, source, host_accessible_),
                    ViewOf(dtype, shape, TENON_LAYOUT_STRIDED, staged.address(), host_accessible_)));
  TENON_TRY(CopyToHost(staged.address(), tensor.raw(), tensor.bytes()));
  return tensor;
}

Status Device::Synchronize() {
  if (inline_streams_) return {};
  const ActivityScope scope(activity_, ActivityKind::kDeviceWait);
  tenon_error error;
  const std::int32_t code = CallAbi("tenon.stream", "stream_synchronize", plugin_.stream->stream_synchronize, stream_,
                                    ~std::uint64_t{0}, &error);
  if (code == TENON_OK) return {};
  return ToStatus(code, error, Subject()).While(fmt::format("waiting for device {}:{}", kind_, index_));
}

}  // namespace tenon
