// One operator of a legacy library: its functions, and the tables that describe it to the host. Lives as long as the process.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "plugins/legacy_aot/extra.h"
#include "plugins/legacy_aot/signature.h"
#include "tenon/sdk/sdk.h"

namespace tenon::aot {

namespace sdk = tenon::sdk;

// Domain of all legacy operators, and the kind of device whose memory they can read.
inline constexpr char kDomain[] = "aot";
inline constexpr char kDeviceKind[] = "cpu";

// Operands in the order inputs, outputs, workspaces; of workspaces only the address counts. `extra` is a LegacyExtra.
using RunFunction = int (*)(int count, void** params, int* ndims, int64_t** shapes, const char** dtypes, void* stream,
                            void* extra);
using InitFunction = int (*)(int* ndims, int64_t** shapes, const char** dtypes, void* extra);
// InferShape and InferType return a C++ vector, of vectors when there are several outputs; infer.cc calls them.
using AnyFunction = void (*)();

struct Functions {
  RunFunction run = nullptr;
  InitFunction init = nullptr;        // optional
  AnyFunction infer_shape = nullptr;  // optional
  AnyFunction infer_type = nullptr;   // optional
};

// Attributes of one node, copied: the list that they come from need not live on.
class NodeAttributes final : public AttributeSource {
 public:
  // find(name) gives a record or NULL.
  template <typename Find>
  NodeAttributes(const std::vector<AttributeSpec>& specs, Find&& find) {
    for (const AttributeSpec& spec : specs) {
      if (const tenon_attribute* record = find(spec.name)) Add(spec, *record);
    }
  }
  bool Has(std::string_view name) const override;
  bool Flag(std::string_view name) const override;
  int64_t Int(std::string_view name) const override;
  float Float(std::string_view name) const override;
  std::string_view Text(std::string_view name) const override;
  std::vector<int64_t> Ints(std::string_view name) const override;
  std::vector<float> Floats(std::string_view name) const override;
  std::vector<std::vector<int64_t>> IntRows(std::string_view name) const override;
  std::vector<std::vector<float>> FloatRows(std::string_view name) const override;

 private:
  struct Entry {
    std::string name;
    AttributeType type{};
    int64_t number = 0;
    double real = 0;
    std::string text;
    std::vector<int64_t> ints;
    std::vector<float> floats;
    size_t row = 0;  // numbers in a row
  };
  void Add(const AttributeSpec& spec, const tenon_attribute& record);
  const Entry& Find(std::string_view name, AttributeType type) const;
  std::vector<Entry> entries_;
};

class Operator {
 public:
  Operator(std::string name, std::string file, Functions functions, StringAbi string_abi, Signature signature);
  Operator(const Operator&) = delete;
  Operator& operator=(const Operator&) = delete;

  const std::string& name() const { return name_; }
  const std::string& file() const { return file_; }  // of the library, for messages
  const Functions& functions() const { return functions_; }
  StringAbi string_abi() const { return string_abi_; }
  const Signature& signature() const { return signature_; }
  const tenon_operator_def& def() const { return def_; }
  const tenon_kernel_def& kernel() const { return kernel_; }
  // Makes `backward`, which is an operator of the same library, the gradient of this one.
  void SetGradient(const Operator& backward);

 private:
  std::string name_, file_;
  Functions functions_;
  StringAbi string_abi_;
  Signature signature_;
  std::vector<tenon_param_def> inputs_, outputs_;
  std::vector<tenon_attribute> defaults_;
  std::vector<tenon_attribute_def> attributes_;
  std::vector<tenon_gradient_source> sources_;
  std::vector<uint32_t> grad_inputs_;
  tenon_paired_gradient paired_{};
  tenon_operator_def def_{};
  tenon_kernel_def kernel_{};
};

// Name of a dtype in the legacy interface ("float32"); empty for one that it does not have.
const char* LegacyName(uint32_t dtype);

// Shape and type rule of any legacy operator (infer.cc).
int32_t InferLegacy(const tenon_operator_def* def, const tenon_infer_api* api, tenon_infer* infer);

// Kernel definition of any legacy operator (kernel.cc); `user` is the operator.
tenon_kernel_def MakeLegacyKernel(const std::string& name, const Operator* op);

}  // namespace tenon::aot
