#include "core/tensor/dtype.h"

#include <array>

namespace tenon {
namespace {

struct Info {
  DType dtype;
  std::int64_t bytes;
  std::string_view name;
  std::string_view short_name;
};

constexpr std::array<Info, 13> kInfos = {{
    {DType::kF32, 4, "float32", "f32"},
    {DType::kU8, 1, "uint8", "u8"},
    {DType::kI8, 1, "int8", "i8"},
    {DType::kU16, 2, "uint16", "u16"},
    {DType::kI16, 2, "int16", "i16"},
    {DType::kI32, 4, "int32", "i32"},
    {DType::kI64, 8, "int64", "i64"},
    {DType::kBool, 1, "bool", "bool"},
    {DType::kF16, 2, "float16", "f16"},
    {DType::kF64, 8, "float64", "f64"},
    {DType::kU32, 4, "uint32", "u32"},
    {DType::kU64, 8, "uint64", "u64"},
    {DType::kBF16, 2, "bfloat16", "bf16"},
}};

const Info* Find(DType dtype) {
  for (const Info& info : kInfos) {
    if (info.dtype == dtype) return &info;
  }
  return nullptr;
}

}  // namespace

std::int64_t SizeOf(DType dtype) {
  const Info* info = Find(dtype);
  return info ? info->bytes : 0;
}

std::string_view NameOf(DType dtype) {
  const Info* info = Find(dtype);
  return info ? info->name : "undefined";
}

std::string_view ShortNameOf(DType dtype) {
  const Info* info = Find(dtype);
  return info ? info->short_name : "undefined";
}

std::optional<DType> ParseDType(std::string_view name) {
  for (const Info& info : kInfos) {
    if (info.name == name || info.short_name == name) return info.dtype;
  }
  return std::nullopt;
}

bool IsFloating(DType dtype) {
  return dtype == DType::kF32 || dtype == DType::kF64 || dtype == DType::kF16 || dtype == DType::kBF16;
}
bool IsSignedInteger(DType dtype) {
  return dtype == DType::kI8 || dtype == DType::kI16 || dtype == DType::kI32 || dtype == DType::kI64;
}
bool IsUnsignedInteger(DType dtype) {
  return dtype == DType::kU8 || dtype == DType::kU16 || dtype == DType::kU32 || dtype == DType::kU64;
}

}  // namespace tenon
