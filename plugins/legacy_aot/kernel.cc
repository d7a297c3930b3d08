#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include "plugins/legacy_aot/operator.h"

namespace tenon::aot {
namespace {

// One node that runs a legacy operator. The arrays of a call are made once for its shapes.
class LegacyKernel : public sdk::Kernel {
 public:
  static bool Supports(const sdk::Query& query, sdk::Reason& reason) {
    for (uint32_t i = 0; i < query.input_count() + query.output_count(); ++i) {
      const sdk::Value value = i < query.input_count() ? query.input(i) : query.output(i - query.input_count());
      if (*LegacyName(value.dtype()) == '\0')
        return reason.No("the legacy interface has no dtype ", sdk::DTypeName(value.dtype()));
    }
    return true;
  }

  int32_t Create(const sdk::Query& query, sdk::Error&) {
    const sdk::Attributes attributes = query.attributes();
    attributes_.emplace(op().signature().attributes, [&](std::string_view name) { return attributes.Find(name); });
    return TENON_OK;
  }

  // Init is asked again for every new shape, with an object of its own.
  int32_t Plan(const sdk::PlanArgs& args, sdk::PlanResult& result, sdk::Error& error) {
    extra_ = Extra::Make(op().string_abi(), *attributes_);
    dims_.clear(), ndims_.clear(), shapes_.clear(), dtypes_.clear();
    for (uint32_t i = 0; i < args.input_count(); ++i) AddOperand(args.input(i));
    for (uint32_t i = 0; i < args.output_count(); ++i) AddOperand(args.output(i));
    for (std::vector<int64_t>& dims : dims_) shapes_.push_back(dims.data());
    if (op().functions().init != nullptr) {
      const int code = op().functions().init(ndims_.data(), shapes_.data(), dtypes_.data(), extra_->object());
      if (code != 0) return Returned(error, "Init", code);
    }
    uint64_t bytes = 0;
    workspaces_.clear();
    for (const size_t size : extra_->workspaces()) {
      workspaces_.push_back(bytes);
      bytes += (size + 63) / 64 * 64;
      ndims_.push_back(0), shapes_.push_back(nullptr), dtypes_.push_back("");
    }
    if (bytes > 0) result.Workspace(bytes);
    params_.resize(ndims_.size());
    return TENON_OK;
  }

  int32_t Execute(const sdk::Call& call, sdk::Error& error) {
    size_t at = 0;
    for (uint32_t i = 0; i < call.input_count(); ++i) params_[at++] = const_cast<char*>(call.in<char>(i));
    for (uint32_t i = 0; i < call.output_count(); ++i) params_[at++] = call.out<char>(i);
    for (const uint64_t offset : workspaces_) params_[at++] = call.workspace<char>() + offset;
    const int code = op().functions().run(static_cast<int>(params_.size()), params_.data(), ndims_.data(),
                                          shapes_.data(), dtypes_.data(), nullptr, extra_->object());
    return code == 0 ? TENON_OK : Returned(error, "", code);
  }

 private:
  const Operator& op() const { return *static_cast<const Operator*>(def().user); }

  void AddOperand(const sdk::Value& value) {
    std::vector<int64_t>& dims = dims_.emplace_back();
    for (uint32_t axis = 0; axis < value.dims().size(); ++axis) dims.push_back(value.dims()[axis]);
    ndims_.push_back(static_cast<int>(dims.size()));
    dtypes_.push_back(LegacyName(value.dtype()));
  }
  int32_t Returned(sdk::Error& error, std::string_view function, int code) const {
    return error.Fail(TENON_INTERNAL, "The function ", op().name(), function, " of ", op().file(), " returned ", code,
                      "; 0 would be success.");
  }

  std::optional<NodeAttributes> attributes_;
  std::unique_ptr<Extra> extra_;
  std::vector<std::vector<int64_t>> dims_;
  std::vector<int> ndims_;
  std::vector<int64_t*> shapes_;
  std::vector<const char*> dtypes_;
  std::vector<uint64_t> workspaces_;  // offsets
  std::vector<void*> params_;
};

}  // namespace

tenon_kernel_def MakeLegacyKernel(const std::string& name, const Operator* op) {
  sdk::KernelOptions options;
  options.traits = TENON_TRAIT_ONE_CALL;
  options.user = op;
  return sdk::MakeKernel<LegacyKernel>(kDomain, name, kDeviceKind, name, options);
}

}  // namespace tenon::aot
