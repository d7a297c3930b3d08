#include <cstring>

#include "core/api/dlpack.h"
#include "core/api/internal.h"
#include "core/data/byte_reader.h"
#include "core/data/npy_reader.h"
#include "core/platform/atomic_file.h"

namespace tenon::api {

const char* NameOf(DType dtype) { return tenon::NameOf(static_cast<tenon::DType>(dtype)).data(); }
std::int64_t SizeOf(DType dtype) { return tenon::SizeOf(static_cast<tenon::DType>(dtype)); }

tenon::Shape ToShape(const Shape& shape) { return Value(tenon::Shape::Make(shape)); }

tenon::Tensor HostView(DType dtype, const tenon::Shape& shape, const void* values) {
  if (SizeOf(dtype) == 0) Throw(InvalidArgument("There is no element type {}.", static_cast<std::uint32_t>(dtype)));
  return tenon::Tensor::FromOwner(static_cast<tenon::DType>(dtype), shape, nullptr,
                                  const_cast<void*>(values));  // only read
}

const exec::EagerValue& Tensor::Access::Required(const Tensor& tensor) {
  if (tensor.value_ == nullptr) Throw(tenon::Error(Code::kFailedPrecondition, "The tensor is empty."));
  return *ValueOf(tensor);
}

Tensor::Tensor(const Tensor& other) : value_(other.value_) {
  if (value_ != nullptr) ++Access::ValueOf(*this)->block->references;
}

Tensor& Tensor::operator=(const Tensor& other) {
  Tensor copy(other);
  std::swap(value_, copy.value_);
  return *this;
}

void Tensor::Release() { exec::EagerTensor::Adopt(Access::ValueOf(*this)); }

Tensor Tensor::FromHost(const Runtime& runtime, DType dtype, const Shape& shape, const void* values) {
  return Access::Wrap(Value(runtime.core()->engine->FromHost(HostView(dtype, ToShape(shape), values))));
}

Tensor Tensor::OfCounted(const Runtime& runtime, DType dtype, const Shape& shape, const void* values,
                         std::size_t count) {
  const tenon::Shape dims = ToShape(shape);
  if (static_cast<std::size_t>(dims.elements()) != count)
    Throw(InvalidArgument("A tensor of shape {} has {} elements; {} values are given.", dims, dims.elements(), count));
  return FromHost(runtime, dtype, shape, values);
}

DType Tensor::dtype() const { return static_cast<DType>(Access::Required(*this).type->value.dtype); }

Shape Tensor::shape() const {
  const auto dims = Access::Required(*this).type->shape.dims();
  return Shape(dims.begin(), dims.end());
}

std::int64_t Tensor::elements() const { return Access::Required(*this).type->shape.elements(); }
std::int64_t Tensor::bytes() const { return Access::Required(*this).type->bytes; }

std::int64_t Tensor::ElementsOf(DType wanted) const {
  if (dtype() != wanted)
    Throw(InvalidArgument("The tensor holds {} values; {} values were asked for.", NameOf(dtype()), NameOf(wanted)));
  return elements();
}

void Tensor::CopyTo(void* target, std::int64_t bytes) const {
  Access::Required(*this);
  Check(Access::EngineOf(*this).CopyToHost(Access::Handle(*this), target, bytes));
}

Tensor Tensor::RequireGradient() const {
  const tenon::DType type = Access::Required(*this).type->value.dtype;
  if (!IsFloating(type))
    Throw(
        InvalidArgument("Only floating-point tensors have gradients; this one holds {} values.", tenon::NameOf(type)));
  return Access::Wrap(Access::EngineOf(*this).Leaf(Access::Handle(*this), true));
}

Tensor Tensor::Detached() const {
  Access::Required(*this);
  return Access::Wrap(Access::EngineOf(*this).Leaf(Access::Handle(*this), false));
}

bool Tensor::requires_gradient() const { return Access::Required(*this).requires_gradient; }

// ---- .npy

namespace {

// numpy's name of a dtype; empty when numpy has none.
std::string NpyDescription(DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return "<f4";
    case DType::kF64:
      return "<f8";
    case DType::kF16:
      return "<f2";
    case DType::kI8:
      return "|i1";
    case DType::kU8:
      return "|u1";
    case DType::kBool:
      return "|b1";
    case DType::kI16:
      return "<i2";
    case DType::kI32:
      return "<i4";
    case DType::kI64:
      return "<i8";
    case DType::kU16:
      return "<u2";
    case DType::kU32:
      return "<u4";
    case DType::kU64:
      return "<u8";
    case DType::kBF16:
      return "";
  }
  return "";
}

// Version 1.0: magic, two bytes of header length, a Python dict, padding to 64 bytes.
std::string NpyHeader(DType dtype, const Shape& shape) {
  std::string dims;
  for (const std::int64_t dim : shape) dims += fmt::format("{},", dim);
  std::string dict =
      fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", NpyDescription(dtype), dims);
  dict.append(63 - (10 + dict.size()) % 64, ' ');
  dict += '\n';
  std::string header("\x93NUMPY\x01\x00", 8);
  header += static_cast<char>(dict.size() & 0xffu);
  header += static_cast<char>(dict.size() >> 8);
  return header + dict;
}

Result<tenon::Tensor> ReadNpyFile(const std::string& path) {
  TENON_ASSIGN(ByteReader reader, ByteReader::Open(path));
  TENON_ASSIGN(NpyArray array, ReadNpy(reader));
  return std::move(array.values);
}

}  // namespace

Tensor Tensor::LoadNpy(const Runtime& runtime, const std::string& path) {
  auto array = ReadNpyFile(path);
  if (!array.ok()) Throw(std::move(array).status().While(fmt::format("loading '{}'", path)));
  return Access::Wrap(Value(runtime.core()->engine->FromHost(*array)));
}

void Tensor::SaveNpy(const std::string& path) const {
  if (NpyDescription(dtype()).empty()) Throw(InvalidArgument("A .npy file cannot hold {} values.", NameOf(dtype())));
  std::string text = NpyHeader(dtype(), shape());
  const std::size_t start = text.size();
  text.resize(start + static_cast<std::size_t>(bytes()));
  CopyTo(text.data() + start, bytes());
  Check(WriteFileAtomically(path, text));
}

// ---- DLPack

namespace {

constexpr std::int32_t kHostMemory = 1;

DLDataType ToDlType(DType dtype) {
  const auto bits = static_cast<std::uint8_t>(8 * SizeOf(dtype));
  switch (dtype) {
    case DType::kI8:
    case DType::kI16:
    case DType::kI32:
    case DType::kI64:
      return {0, bits, 1};
    case DType::kU8:
    case DType::kU16:
    case DType::kU32:
    case DType::kU64:
      return {1, bits, 1};
    case DType::kF16:
    case DType::kF32:
    case DType::kF64:
      return {2, bits, 1};
    case DType::kBF16:
      return {4, bits, 1};
    case DType::kBool:
      return {6, bits, 1};
  }
  return {};
}

Result<DType> FromDlType(const DLDataType& type) {
  for (const DType dtype : {DType::kF32, DType::kU8, DType::kI8, DType::kU16, DType::kI16, DType::kI32, DType::kI64,
                            DType::kBool, DType::kF16, DType::kF64, DType::kU32, DType::kU64, DType::kBF16}) {
    const DLDataType known = ToDlType(dtype);
    if (known.code == type.code && known.bits == type.bits && known.lanes == type.lanes) return dtype;
  }
  return InvalidArgument("The DLPack tensor has element type (code {}, {} bits, {} lanes), which Tenon does not have.",
                         type.code, type.bits, type.lanes);
}

bool IsRowMajor(const DLTensor& tensor) {
  if (tensor.strides == nullptr) return true;
  std::int64_t stride = 1;
  for (std::int32_t axis = tensor.ndim - 1; axis >= 0; --axis) {
    if (tensor.shape[axis] != 1 && tensor.strides[axis] != stride) return false;
    stride *= tensor.shape[axis];
  }
  return true;
}

// Row-major copy of a tensor with any strides.
tenon::Tensor Packed(const DLTensor& tensor, tenon::DType dtype, const tenon::Shape& shape, const char* data) {
  tenon::Tensor packed(dtype, shape);
  const auto size = static_cast<std::size_t>(tenon::SizeOf(dtype));
  std::int64_t index[kMaxRank] = {};
  for (std::int64_t i = 0; i < shape.elements(); ++i) {
    std::int64_t at = 0;
    for (int axis = 0; axis < shape.rank(); ++axis) at += index[axis] * tensor.strides[axis];
    std::memcpy(static_cast<char*>(packed.raw()) + static_cast<std::size_t>(i) * size,
                data + at * static_cast<std::int64_t>(size), size);
    for (int axis = shape.rank() - 1; axis >= 0 && ++index[axis] == shape[axis]; --axis) index[axis] = 0;
  }
  return packed;
}

Result<exec::EagerTensor> Import(exec::EagerEngine& engine, const std::shared_ptr<void>& owner,
                                 const DLManagedTensorVersioned& managed) {
  const DLTensor& tensor = managed.dl_tensor;
  TENON_INVALID_IF(managed.version.major != 1, "The DLPack tensor has version {}.{}; version 1 is read.",
                   managed.version.major, managed.version.minor);
  TENON_INVALID_IF(tensor.device.device_type != kHostMemory,
                   "The DLPack tensor is on device type {}; only host memory (1) is read.", tensor.device.device_type);
  TENON_INVALID_IF(tensor.ndim < 0 || (tensor.ndim > 0 && tensor.shape == nullptr), "The DLPack tensor has no shape.");
  TENON_ASSIGN(const DType type, FromDlType(tensor.dtype));
  TENON_ASSIGN(const tenon::Shape shape, tenon::Shape::Make({tensor.shape, static_cast<std::size_t>(tensor.ndim)}));
  const auto dtype = static_cast<tenon::DType>(type);
  char* data = static_cast<char*>(tensor.data) + tensor.byte_offset;
  const auto address = reinterpret_cast<std::uint64_t>(data);
  if (shape.elements() > 0 && !IsRowMajor(tensor)) return engine.FromHost(Packed(tensor, dtype, shape, data));
  if (engine.device().host_accessible() && address % 64 == 0 && shape.elements() > 0)
    return engine.Wrap({dtype, SymShape(shape)}, address, owner);
  return engine.FromHost(HostView(type, shape, data));
}

// What a view that was given out keeps.
struct Exported {
  exec::EagerTensor tensor;
  tenon::Tensor copy;
  Shape shape;
  DLManagedTensorVersioned managed;
};

}  // namespace

Tensor Tensor::FromDLPack(const Runtime& runtime, DLManagedTensorVersioned* tensor) {
  if (tensor == nullptr) Throw(InvalidArgument("There is no DLPack tensor."));
  const std::shared_ptr<void> owner(tensor, [tensor](void*) {
    if (tensor->deleter != nullptr) tensor->deleter(tensor);
  });
  auto imported = Import(*runtime.core()->engine, owner, *tensor);
  if (!imported.ok()) Throw(std::move(imported).status().While("importing a DLPack tensor"));
  return Access::Wrap(std::move(imported).value());
}

DLManagedTensorVersioned* Tensor::ToDLPack() const {
  Access::Required(*this);
  exec::EagerEngine& engine = Access::EngineOf(*this);
  auto exported = std::make_unique<Exported>();
  exported->tensor = Access::Handle(*this);
  exported->shape = shape();
  void* data = reinterpret_cast<void*>(exported->tensor.address());
  if (!engine.device().host_accessible()) {
    exported->copy = Value(engine.ToHost(exported->tensor));
    data = exported->copy.raw();
  }
  DLManagedTensorVersioned& managed = exported->managed;
  managed.version = {1, 0};
  managed.manager_ctx = exported.get();
  managed.deleter = [](DLManagedTensorVersioned* self) { delete static_cast<Exported*>(self->manager_ctx); };
  managed.flags = 1;
  managed.dl_tensor = {data,
                       {kHostMemory, 0},
                       static_cast<std::int32_t>(exported->shape.size()),
                       ToDlType(dtype()),
                       exported->shape.data(),
                       nullptr,
                       0};
  return &exported.release()->managed;
}

}  // namespace tenon::api
