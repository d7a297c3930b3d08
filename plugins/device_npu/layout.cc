// Layouts of the device: what they are, and conversions.
#include "layout.h"

#include <cstring>
#include <utility>

#include "device.h"

namespace tenon::npu {
namespace {

// A side of a reorder, copied out of its view: the view is borrowed for the call only.
struct Side {
  std::byte* data = nullptr;
  uint32_t layout = 0;
  int64_t strides[kMaxRank] = {};  // of a strided side, in elements
};

// Element of a strided side by its index in row-major order of the outer dims.
int64_t OuterPlace(const Side& side, const int64_t* dims, uint32_t outer, int64_t stack) {
  int64_t place = 0;
  for (uint32_t axis = outer; axis-- > 0;) {
    place += stack % dims[axis] * side.strides[axis];
    stack /= dims[axis];
  }
  return place;
}

// dims of at least two axes; width in bytes.
template <class Unit>
void Convert(const Side& from, const Side& to, const int64_t* dims, uint32_t rank) {
  const Tiling tiling = Tiling::Of({dims, rank});
  const auto* source = reinterpret_cast<const Unit*>(from.data);
  auto* target = reinterpret_cast<Unit*>(to.data);
  if (to.layout == kTiled) std::memset(to.data, 0, static_cast<size_t>(tiling.elements()) * sizeof(Unit));
  for (int64_t stack = 0; stack < tiling.stack; ++stack) {
    const auto base = [&](const Side& side) {
      return side.layout == kTiled ? stack * tiling.matrix() : OuterPlace(side, dims, rank - 2, stack);
    };
    const int64_t from_base = base(from), to_base = base(to);
    for (int64_t row = 0; row < tiling.rows; ++row) {
      for (int64_t column = 0; column < tiling.columns; ++column) {
        const auto at = [&](const Side& side) {
          return side.layout == kTiled ? tiling.At(row, column)
                                       : row * side.strides[rank - 2] + column * side.strides[rank - 1];
        };
        target[to_base + at(to)] = source[from_base + at(from)];
      }
    }
  }
}

using ConvertFn = void (*)(const Side&, const Side&, const int64_t*, uint32_t);

ConvertFn ConverterOf(uint32_t bits) {
  switch (bits) {
    case 8:
      return &Convert<uint8_t>;
    case 16:
      return &Convert<uint16_t>;
    case 32:
      return &Convert<uint32_t>;
    case 64:
      return &Convert<uint64_t>;
    default:
      return nullptr;
  }
}

// Elements from the first to the last of a view.
int64_t Span(sdk::Tensor tensor, const int64_t* strides) {
  if (tensor.layout() == kTiled) return Tiling::Of(tensor.dims()).elements();
  int64_t last = 0;
  for (uint32_t axis = 0; axis < tensor.rank(); ++axis) last += (tensor.dim(axis) - 1) * strides[axis];
  return last + 1;
}

int32_t SideOf(sdk::Tensor tensor, Memory& memory, Side& out, sdk::Error& error) {
  out.layout = tensor.layout();
  int64_t next = 1;
  for (uint32_t axis = tensor.rank(); axis-- > 0;) {
    out.strides[axis] = tensor.strides() != nullptr ? tensor.strides()[axis] : next;
    next *= tensor.dim(axis);
  }
  const uint64_t bytes = sdk::DTypeBytes(tensor.dtype(), Span(tensor, out.strides));
  out.data = memory.Resolve(tensor.address(), bytes);
  if (out.data != nullptr) return TENON_OK;
  return error.Fail(TENON_INVALID_ARGUMENT, "A tensor of ", bytes, " bytes at address ", tensor.address(),
                    " does not lie in one allocation of the device.");
}

}  // namespace

int32_t NpuDevice::LayoutInfo(uint32_t layout, uint32_t dtype, sdk::Dims dims, tenon_layout_info& out,
                              sdk::Error& error) {
  if (layout > kTiled) return error.Fail(TENON_NOT_FOUND, "There is no layout ", layout, ".");
  out.align = Memory::kAlign;
  if (layout == kTiled) {
    if (dims.size() < 2)
      return error.Fail(TENON_INVALID_ARGUMENT, "Layout ", kTiledName, " is for matrices; the tensor has shape ", dims,
                        ".");
    if (sdk::DTypeBits(dtype) % 8 != 0)
      return error.Fail(TENON_INVALID_ARGUMENT, "Layout ", kTiledName, " is not for ", sdk::DTypeName(dtype), ".");
    out.flags = TENON_LAYOUT_ZERO_PADDED;
    out.bytes = sdk::DTypeBytes(dtype, Tiling::Of(dims).elements());
    sdk::NameLayout(out, kTiledName);
    return TENON_OK;
  }
  out.flags = TENON_LAYOUT_IS_STRIDED;
  out.bytes = sdk::DTypeBytes(dtype, dims.Elements());
  sdk::NameLayout(out, "strided");
  int64_t next = 1;
  for (uint32_t axis = dims.size(); out.strides != nullptr && axis-- > 0;) {
    out.strides[axis] = next;
    next *= dims[axis];
  }
  return TENON_OK;
}

int32_t NpuDevice::FindLayout(std::string_view name, uint32_t& out, sdk::Error& error) {
  if (name != "strided" && name != kTiledName)
    return error.Fail(TENON_NOT_FOUND, "There is no layout '", name, "'; known are strided and ", kTiledName, ".");
  out = name == kTiledName ? uint32_t{kTiled} : uint32_t{TENON_LAYOUT_STRIDED};
  return TENON_OK;
}

int32_t NpuDevice::Reorder(sdk::Tensor source, sdk::Tensor target, sdk::Stream* stream, sdk::Error& error) {
  if (source.dtype() != target.dtype() || source.dims() != target.dims()) {
    return error.Fail(TENON_INVALID_ARGUMENT, "A reorder from ", sdk::DTypeName(source.dtype()), source.dims(), " to ",
                      sdk::DTypeName(target.dtype()), target.dims(), " changes more than the layout.");
  }
  if (source.layout() > kTiled || target.layout() > kTiled) {
    return error.Fail(TENON_UNIMPLEMENTED, "There is no conversion from layout ", source.layout(), " to layout ",
                      target.layout(), ".");
  }
  const ConvertFn convert = ConverterOf(sdk::DTypeBits(source.dtype()));
  if (convert == nullptr || source.rank() > kMaxRank)
    return error.Fail(TENON_UNIMPLEMENTED, "Tensors of ", sdk::DTypeName(source.dtype()), " and rank ", source.rank(),
                      " cannot be converted; the greatest rank is ", kMaxRank, ".");
  if (source.dims().Elements() == 0) return TENON_OK;
  Side from, to;
  int32_t code = SideOf(source, *memory_, from, error);
  if (code == TENON_OK) code = SideOf(target, *memory_, to, error);
  if (code != TENON_OK) return code;
  // Lower ranks gain leading dims of size 1.
  std::vector<int64_t> dims(source.dims().begin(), source.dims().end());
  while (dims.size() < 2) {
    dims.insert(dims.begin(), 1);
    for (Side* side : {&from, &to}) {
      side->strides[1] = side->strides[0];
      side->strides[0] = 0;
    }
  }
  const Cost cost{0, 0, 2 * source.bytes()};
  Command command;
  command.name = "reorder";
  command.recorded = {TENON_RECORD_COPY, cost.Cycles(), 2 * source.bytes()};
  command.run = [this, convert, from, to, dims, cost](uint64_t& cycles) {
    convert(from, to, dims.data(), static_cast<uint32_t>(dims.size()));
    counters_.Add(cost);
    cycles += cost.Cycles();
  };
  return Launch(stream, std::move(command), error);
}

}  // namespace tenon::npu
