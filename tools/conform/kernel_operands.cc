// The operands of a kernel's call in memory: placed between guards or beside pages that nobody may touch, filled, read back.
#include <algorithm>
#include <cstring>

#include "tools/conform/kernel_run.h"

namespace tenon::conform {
namespace {

constexpr std::uint64_t kGuard = 256;
constexpr std::uint8_t kGuardByte = 0xA5;

std::uint64_t AlignDown(std::uint64_t value, std::uint64_t align) { return value / align * align; }

}  // namespace

std::uint64_t KernelRun::Operand::start() const {
  if (fence != nullptr) return fence->address() + shift;
  const std::uint64_t base = on_host ? reinterpret_cast<std::uintptr_t>(host.data()) : block.address;
  // Host vectors may lie anywhere; the guard before the data takes what alignment needs.
  const std::uint64_t aligned = on_host ? (base + 63) / 64 * 64 : base;
  return aligned + kGuard;
}

void KernelRun::Measure(Operand* operand, const char* what, std::uint64_t* align) {
  if (operand->layout == TENON_LAYOUT_STRIDED) {
    std::int64_t count = operand->shape.elements();
    if (!operand->strides.empty() && count > 0) {
      count = 1;
      for (int axis = 0; axis < operand->shape.rank(); ++axis)
        count += (operand->shape[axis] - 1) * operand->strides[static_cast<std::size_t>(axis)];
    }
    operand->bytes = static_cast<std::uint64_t>(count * SizeOf(operand->dtype));
    *align = static_cast<std::uint64_t>(SizeOf(operand->dtype));
    return;
  }
  tenon_layout_info info = TENON_INIT(tenon_layout_info);
  session_.context().Require(session_.devices().layout_info != nullptr,
                             "{}: layout {} is offered, but the device describes no layouts.", text_, operand->layout);
  const std::int32_t code =
      TENON_CALL(tenon.device, &session_.devices(), layout_info, session_.device(), operand->layout,
                 static_cast<std::uint32_t>(operand->dtype), static_cast<std::uint32_t>(operand->shape.rank()),
                 operand->shape.data(), &info, &error_);
  session_.Ok(code, error_, fmt::format("describe layout {} of {} {}", operand->layout, what, text_));
  operand->bytes = info.bytes;
  *align = std::max<std::uint64_t>(1, info.align);
}

// The block is memory of the host's own, wrapped for the device.
void KernelRun::PlaceAtFence(Operand* operand, std::uint64_t align) {
  operand->fence = std::make_shared<FencedBytes>(operand->bytes + align);
  FencedBytes& fence = *operand->fence;
  operand->shift = way_.fence == Fence::kBehind ? AlignDown(fence.bytes() - operand->bytes, align) : 0;
  std::memset(fence.begin(), kGuardByte, fence.bytes());
  std::memset(fence.begin() + operand->shift, way_.poison, operand->bytes);
  if (operand->on_host) return;
  operand->block.address = fence.address();
  operand->block.bytes = fence.bytes();
  const std::int32_t code =
      TENON_CALL(tenon.memory, &session_.memory(), wrap_external, session_.space(), fence.address(), fence.bytes(),
                 nullptr, nullptr, &operand->block.buffer, &error_);
  session_.Ok(code, error_, "wrap host memory");
}

void KernelRun::Place(Operand* operand, const char* what) {
  if (operand->absent) return;
  std::uint64_t align = 1;
  Measure(operand, what, &align);
  session_.context().Require(align <= kGuard, "{}: the layout wants alignment {}.", text_, align);
  if (way_.fence != Fence::kNone) return PlaceAtFence(operand, align);
  const std::uint64_t whole = operand->bytes + 2 * kGuard;
  if (operand->on_host) {
    operand->host.assign(whole + 64, std::byte{kGuardByte});
    return;
  }
  operand->block = session_.Allocate(whole);
  session_.context().Require(operand->block.address % 64 == 0 || session_.space_info().min_align < 64,
                             "{}: memory is aligned to less than the space says.", text_);
  session_.Fill(operand->block, kGuardByte, way_.stream);
  std::vector<std::uint8_t> poison(operand->bytes, way_.poison);
  session_.Upload(poison.data(), operand->start(), operand->bytes, way_.stream, TENON_HOST_SOURCE_DURING_CALL);
}

tenon_tensor KernelRun::View(const Operand& operand) const {
  tenon_tensor view = TENON_INIT(tenon_tensor);
  if (operand.absent) {
    view.flags = TENON_TENSOR_ABSENT;
    return view;
  }
  if (operand.on_host || session_.host_accessible()) view.flags |= TENON_TENSOR_HOST_ACCESSIBLE;
  if (operand.shape.elements() == 0) view.flags |= TENON_TENSOR_EMPTY;
  view.address = operand.start();
  // Addresses are aligned as allocations are; offsets are whole elements.
  if (operand.fence != nullptr) {
    view.byte_offset = view.address % 64;
  } else if (way_.byte_offset) {
    view.byte_offset = kGuard;
  }
  view.address -= view.byte_offset;
  view.dtype = static_cast<std::uint32_t>(operand.dtype);
  view.rank = static_cast<std::uint32_t>(operand.shape.rank());
  view.dims = operand.shape.data();
  view.strides = operand.strides.empty() ? nullptr : operand.strides.data();
  view.layout = operand.layout;
  if (!operand.on_host) {
    view.device = session_.device();
    view.space = session_.space();
  }
  return view;
}

void KernelRun::Upload(Operand* operand) {
  if (operand->absent || operand->bytes == 0) return;
  const Tensor& content = operand->content;
  const auto width = static_cast<std::size_t>(SizeOf(operand->dtype));
  const auto* from = static_cast<const std::uint8_t*>(content.raw());
  std::vector<std::uint8_t> bytes(from, from + content.bytes());
  if (!operand->strides.empty()) {
    bytes.assign(operand->bytes, way_.poison);
    std::vector<std::int64_t> index(operand->strides.size(), 0);
    for (std::int64_t element = 0; element < content.elements(); ++element) {
      std::int64_t place = 0;
      for (std::size_t axis = 0; axis < index.size(); ++axis) place += index[axis] * operand->strides[axis];
      std::memcpy(bytes.data() + static_cast<std::size_t>(place) * width,
                  from + static_cast<std::size_t>(element) * width, width);
      for (std::size_t axis = index.size(); axis-- > 0;) {
        if (++index[axis] < operand->shape[static_cast<int>(axis)]) break;
        index[axis] = 0;
      }
    }
  }
  if (operand->on_host) {
    std::memcpy(reinterpret_cast<void*>(operand->start()), bytes.data(), bytes.size());
  } else if (operand->layout == TENON_LAYOUT_STRIDED) {
    session_.Upload(bytes.data(), operand->start(), bytes.size(), way_.stream, TENON_HOST_SOURCE_DURING_CALL);
  } else {
    Operand plain;
    plain.dtype = operand->dtype, plain.shape = operand->shape;
    Place(&plain, "a plain copy of");
    session_.Upload(bytes.data(), plain.start(), bytes.size(), way_.stream, TENON_HOST_SOURCE_DURING_CALL);
    const tenon_tensor source = View(plain), target = View(*operand);
    session_.context().Require(session_.devices().reorder != nullptr, "{}: the device has layouts but no reorder.",
                               text_);
    const std::int32_t code = TENON_CALL(tenon.device, &session_.devices(), reorder, session_.device(), &source,
                                         &target, way_.stream, &error_);
    session_.Ok(code, error_, "reorder an input of " + text_);
    session_.Synchronize(way_.stream);
    session_.Free(plain.block);
  }
  operand->before = Raw(*operand);
}

std::vector<std::uint8_t> KernelRun::Raw(Operand& operand) {
  std::vector<std::uint8_t> bytes(operand.bytes);
  if (operand.on_host) {
    std::memcpy(bytes.data(), reinterpret_cast<const void*>(operand.start()), bytes.size());
    return bytes;
  }
  session_.Download(operand.start(), bytes.data(), bytes.size(), way_.stream);
  session_.Synchronize(way_.stream);
  return bytes;
}

Tensor KernelRun::Download(Operand& operand) {
  if (operand.absent) return {};
  Tensor tensor(operand.dtype, operand.shape);
  if (operand.layout == TENON_LAYOUT_STRIDED) {
    const auto bytes = Raw(operand);
    if (!bytes.empty()) std::memcpy(tensor.raw(), bytes.data(), bytes.size());
    return tensor;
  }
  Operand plain;
  plain.dtype = operand.dtype, plain.shape = operand.shape;
  Place(&plain, "a plain copy of");
  const tenon_tensor source = View(operand), target = View(plain);
  const std::int32_t code =
      TENON_CALL(tenon.device, &session_.devices(), reorder, session_.device(), &source, &target, way_.stream, &error_);
  session_.Ok(code, error_, "reorder an output of " + text_);
  const auto bytes = Raw(plain);
  if (!bytes.empty()) std::memcpy(tensor.raw(), bytes.data(), bytes.size());
  CheckGuards(plain, "a reordered output");
  session_.Free(plain.block);
  return tensor;
}

void KernelRun::CheckGuards(Operand& operand, const std::string& what) {
  if (operand.absent) return;
  std::vector<std::uint8_t> bytes;
  std::uint64_t begin = kGuard;
  if (operand.fence != nullptr) {
    bytes.assign(operand.fence->begin(), operand.fence->end());
    begin = operand.shift;
  } else if (operand.on_host) {
    const auto* first = reinterpret_cast<const std::uint8_t*>(operand.start() - kGuard);
    bytes.assign(first, first + operand.bytes + 2 * kGuard);
  } else {
    bytes = session_.Read(operand.block, way_.stream);
  }
  const std::uint64_t end = begin + operand.bytes;
  for (std::uint64_t i = 0; i < bytes.size(); ++i) {
    if (i >= begin && i < end) continue;
    const bool intact = bytes[i] == kGuardByte;
    if (intact) continue;
    session_.context().Require(false, "{}: it wrote {} bytes {} {} ({} bytes).", text_,
                               i < begin ? begin - i : i - end + 1, i < begin ? "before" : "past the end of", what,
                               operand.bytes);
  }
  session_.context().Require(true, "{}", text_);
}

void KernelRun::PutOperands() {
  for (Operand& operand : inputs_) {
    Place(&operand, "an input of");
    Upload(&operand);
  }
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    if (i == 0 && way_.in_place_input >= 0) continue;
    Place(&outputs_[i], "an output of");
  }
  workspace_.dtype = DType::kU8;
  workspace_.shape = Shape{static_cast<std::int64_t>(plan_.workspace_bytes)};
  workspace_.bytes = plan_.workspace_bytes;
  if (workspace_.bytes == 0) return;
  if (way_.fence != Fence::kNone) return PlaceAtFence(&workspace_, std::max<std::uint64_t>(1, plan_.workspace_align));
  workspace_.block = session_.Allocate(workspace_.bytes + 2 * kGuard);
  session_.Fill(workspace_.block, kGuardByte, way_.stream);
  // Exactly the size asked for, poisoned, between guards.
  std::vector<std::uint8_t> poison(workspace_.bytes, way_.poison);
  session_.Upload(poison.data(), workspace_.start(), workspace_.bytes, way_.stream, TENON_HOST_SOURCE_DURING_CALL);
}

}  // namespace tenon::conform
