#include "plugins/device_cpu/onednn/descriptors.h"

#include <string_view>

namespace tenon::cpu::onednn {
namespace {

// The library counts the zeros between taps.
std::vector<int64_t> Gaps(const std::vector<int64_t>& dilations) {
  std::vector<int64_t> gaps;
  for (const int64_t dilation : dilations) gaps.push_back(dilation - 1);
  return gaps;
}

constexpr const char* kNames[] = {"creating a convolution", "creating the data gradient of a convolution",
                                  "creating the weight gradient of a convolution"};

bool IsAvoided(const Functions& f, const_dnnl_primitive_desc_t desc, const char* avoided) {
  const char* name = nullptr;
  return avoided != nullptr && f.dnnl_primitive_desc_query(desc, dnnl_query_impl_info_str, 0, &name) == dnnl_success &&
         std::string_view(name).substr(0, std::string_view(avoided).size()) == avoided;
}

}  // namespace

#if DNNL_VERSION_MAJOR >= 3

MemoryDesc::MemoryDesc(const Functions& functions, const std::vector<int64_t>& dims, dnnl_data_type_t dtype,
                       const std::vector<int64_t>& strides)
    : functions_(functions) {
  const int rank = static_cast<int>(dims.size());
  Check(strides.empty()
            ? functions.dnnl_memory_desc_create_with_tag(&desc_, rank, dims.data(), dtype, dnnl_format_tag_any)
            : functions.dnnl_memory_desc_create_with_strides(&desc_, rank, dims.data(), dtype, strides.data()),
        "describing a tensor");
}
MemoryDesc::~MemoryDesc() { functions_.dnnl_memory_desc_destroy(desc_); }
DescArg MemoryDesc::get() const { return desc_; }

dnnl_primitive_desc_t CreateConvolution(const Library& library, Direction direction, const ConvDescs& d,
                                        const_dnnl_primitive_attr_t attr, const_dnnl_primitive_desc_t forward,
                                        const char* avoided) {
  const Functions& f = library.functions();
  const std::vector<int64_t> gaps = Gaps(d.dilations);
  dnnl_primitive_desc_t out = nullptr;
  dnnl_status_t status = dnnl_success;
  switch (direction) {
    case Direction::kForward:
      status = f.dnnl_convolution_forward_primitive_desc_create(
          &out, library.engine(), dnnl_forward_training, dnnl_convolution_direct, d.x, d.weights, d.bias, d.y,
          d.strides.data(), gaps.data(), d.pads_begin.data(), d.pads_end.data(), attr);
      break;
    case Direction::kData:
      status = f.dnnl_convolution_backward_data_primitive_desc_create(
          &out, library.engine(), dnnl_convolution_direct, d.x, d.weights, d.y, d.strides.data(), gaps.data(),
          d.pads_begin.data(), d.pads_end.data(), forward, attr);
      break;
    case Direction::kWeights:
      status = f.dnnl_convolution_backward_weights_primitive_desc_create(
          &out, library.engine(), dnnl_convolution_direct, d.x, d.weights, d.bias, d.y, d.strides.data(), gaps.data(),
          d.pads_begin.data(), d.pads_end.data(), forward, attr);
      break;
  }
  while (status == dnnl_success && IsAvoided(f, out, avoided)) status = f.dnnl_primitive_desc_next_impl(out);
  if (status != dnnl_success && out != nullptr) f.dnnl_primitive_desc_destroy(out);
  Check(status, kNames[static_cast<int>(direction)]);
  return out;
}

#else

MemoryDesc::MemoryDesc(const Functions& functions, const std::vector<int64_t>& dims, dnnl_data_type_t dtype,
                       const std::vector<int64_t>& strides)
    : functions_(functions) {
  const int rank = static_cast<int>(dims.size());
  Check(strides.empty() ? functions.dnnl_memory_desc_init_by_tag(&desc_, rank, dims.data(), dtype, dnnl_format_tag_any)
                        : functions.dnnl_memory_desc_init_by_strides(&desc_, rank, dims.data(), dtype, strides.data()),
        "describing a tensor");
}
MemoryDesc::~MemoryDesc() = default;
DescArg MemoryDesc::get() const { return &desc_; }

dnnl_primitive_desc_t CreateConvolution(const Library& library, Direction direction, const ConvDescs& d,
                                        const_dnnl_primitive_attr_t attr, const_dnnl_primitive_desc_t forward,
                                        const char* avoided) {
  const Functions& f = library.functions();
  const std::vector<int64_t> gaps = Gaps(d.dilations);
  dnnl_convolution_desc_t desc;
  dnnl_status_t status = dnnl_success;
  switch (direction) {
    case Direction::kForward:
      status = f.dnnl_dilated_convolution_forward_desc_init(&desc, dnnl_forward_training, dnnl_convolution_direct, d.x,
                                                            d.weights, d.bias, d.y, d.strides.data(), gaps.data(),
                                                            d.pads_begin.data(), d.pads_end.data());
      break;
    case Direction::kData:
      status = f.dnnl_dilated_convolution_backward_data_desc_init(&desc, dnnl_convolution_direct, d.x, d.weights, d.y,
                                                                  d.strides.data(), gaps.data(), d.pads_begin.data(),
                                                                  d.pads_end.data());
      break;
    case Direction::kWeights:
      status = f.dnnl_dilated_convolution_backward_weights_desc_init(&desc, dnnl_convolution_direct, d.x, d.weights,
                                                                     d.bias, d.y, d.strides.data(), gaps.data(),
                                                                     d.pads_begin.data(), d.pads_end.data());
      break;
  }
  Check(status, kNames[static_cast<int>(direction)]);
  dnnl_primitive_desc_iterator_t implementations = nullptr;
  status = f.dnnl_primitive_desc_iterator_create(&implementations, &desc, attr, library.engine(), forward);
  dnnl_primitive_desc_t out = nullptr;
  while (status == dnnl_success) {
    out = f.dnnl_primitive_desc_iterator_fetch(implementations);
    if (!IsAvoided(f, out, avoided)) break;
    f.dnnl_primitive_desc_destroy(out);
    status = f.dnnl_primitive_desc_iterator_next(implementations);
  }
  if (implementations != nullptr) f.dnnl_primitive_desc_iterator_destroy(implementations);
  Check(status, kNames[static_cast<int>(direction)]);
  return out;
}

#endif

}  // namespace tenon::cpu::onednn
