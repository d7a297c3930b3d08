// The library under test, opened as a host opens it: one exported function, tables behind it.
#pragma once

#include <string>
#include <vector>

#include "tests/support/attribute_list.h"
#include "tests/support/tensor.h"

// What the interface leaves to the host: here the last message.
struct tenon_error {
  std::string text;
};

namespace testing {

class Library {
 public:
  // Throws std::runtime_error with the reason.
  explicit Library(const std::string& file);
  ~Library();
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  const tenon_plugin_descriptor& descriptor() const { return *descriptor_; }
  // NULL when there is none.
  const tenon_operator_def* Operator(const std::string& domain, const std::string& type) const;
  const tenon_kernel_def* Kernel(const std::string& domain, const std::string& type, const std::string& device) const;

  // Outputs of one call of the operator's cpu kernel; types and dims are those of `outputs`.
  void Run(const std::string& domain, const std::string& type, const AttributeList& attributes,
           const std::vector<Tensor>& inputs, std::vector<Tensor>& outputs) const;

 private:
  const tenon_plugin_descriptor* descriptor_ = nullptr;
  tenon_plugin* plugin_ = nullptr;
  std::vector<const tenon_operator_def*> operators_;
  std::vector<const tenon_kernel_def*> kernels_;
};

}  // namespace testing
