#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "core/base/status.h"
#include "core/tensor/tensor.h"
#include "tenon/abi/types.h"

namespace tenon {

// The dtype of a number that a plugin gave; nothing for one that this host has no tensors of.
std::optional<DType> DTypeFromAbi(std::uint32_t number);

// Read-only view of a tensor in host memory. Points into it.
tenon_tensor ViewOfContent(const Tensor& tensor);

// Dense host memory of a plugin's record, copied. `what` names it in messages.
Result<Tensor> ReadAbiTensor(const tenon_tensor& record, std::string_view what);

}  // namespace tenon
