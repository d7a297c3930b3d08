#include "tests/support/tensor.h"

#include "support/numbers.h"

namespace testing {

int64_t Tensor::size() const {
  int64_t count = present ? 1 : 0;
  for (const int64_t dim : dims) count *= dim;
  return count;
}

std::vector<char> Tensor::Bytes() const {
  std::vector<char> bytes(tenon::sdk::DTypeBytes(dtype, size()) + 1);
  support::Store(dtype, values.data(), size(), bytes.data());
  return bytes;
}

void Tensor::SetBytes(const std::vector<char>& bytes) {
  values.resize(static_cast<size_t>(size()));
  support::Load(dtype, bytes.data(), size(), values.data());
}

Tensor MakeTensor(uint32_t dtype, std::vector<int64_t> dims) {
  Tensor tensor;
  tensor.dtype = dtype;
  tensor.dims = std::move(dims);
  tensor.present = true;
  tensor.values.assign(static_cast<size_t>(tensor.size()), 0);
  return tensor;
}

uint32_t DTypeOf(const std::string& name) {
  struct Row {
    const char* name;
    uint32_t dtype;
  };
  static constexpr Row kRows[] = {
      {"float", TENON_DTYPE_F32},   {"float32", TENON_DTYPE_F32},   {"fp32", TENON_DTYPE_F32},
      {"half", TENON_DTYPE_F16},    {"float16", TENON_DTYPE_F16},   {"fp16", TENON_DTYPE_F16},
      {"bf16", TENON_DTYPE_BF16},   {"bfloat16", TENON_DTYPE_BF16}, {"double", TENON_DTYPE_F64},
      {"float64", TENON_DTYPE_F64}, {"int8", TENON_DTYPE_I8},       {"int16", TENON_DTYPE_I16},
      {"int32", TENON_DTYPE_I32},   {"int64", TENON_DTYPE_I64},     {"uint8", TENON_DTYPE_U8},
      {"uint16", TENON_DTYPE_U16},  {"uint32", TENON_DTYPE_U32},    {"uint64", TENON_DTYPE_U64},
      {"bool", TENON_DTYPE_BOOL},
  };
  for (const Row& row : kRows) {
    if (name == row.name || name == tenon::sdk::DTypeName(row.dtype)) return row.dtype;
  }
  return 0;
}

double ToleranceOf(uint32_t dtype) {
  switch (dtype) {
    case TENON_DTYPE_F64:
      return 1e-9;
    case TENON_DTYPE_F32:
      return 1e-5;
    case TENON_DTYPE_F16:
      return 2e-3;
    case TENON_DTYPE_BF16:
      return 1.6e-2;
    default:
      return 0;
  }
}

std::string ToText(const std::vector<int64_t>& dims) {
  std::string text = "[";
  for (size_t i = 0; i < dims.size(); ++i) text += (i == 0 ? "" : ",") + std::to_string(dims[i]);
  return text + "]";
}

}  // namespace testing
