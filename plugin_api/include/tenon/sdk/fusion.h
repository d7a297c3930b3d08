// Fused operators by pattern (tenon.subgraph).
//
//   bool Accept(const tenon::sdk::Match& match, tenon::sdk::Reason& reason);
//   constexpr tenon_fused_def kFused[] = {
//       tenon::sdk::FusedBuilder("conv_relu_pool", "pattern(%x, %w) { ... return %p }", "com.vendor", "ConvReluPool", "npu")
//           .Saved(kSaved).Gradient(&kGradient).Match<&Accept>()};
#pragma once

#include "tenon/abi/subgraph.h"
#include "tenon/sdk/kernel.h"

namespace tenon::sdk {

// A candidate match.
class Match {
 public:
  Match(tenon_plugin* plugin, const tenon_fused_def* def, const tenon_match& raw)
      : plugin_(plugin), def_(def), raw_(&raw) {}
  // Value of the pattern by its name without %. Throws Failure for a name that the pattern does not have.
  Value operator[](std::string_view name) const {
    for (uint32_t index = 0; index < raw_->value_count; ++index) {
      const tenon_match_value& value = AtStride(raw_->values, raw_->value_stride, index);
      if (Text(value.name) == name) return Value(*value.desc);
    }
    throw Failure(TENON_INTERNAL, "The pattern has no value %", name, ".");
  }
  // "<value>.<attribute>"
  Attributes attributes() const { return {raw_->attributes, raw_->attribute_count, raw_->attribute_stride}; }
  bool training() const { return (raw_->math_flags & TENON_MATH_TRAINING) != 0; }
  uint32_t math_flags() const { return raw_->math_flags; }
  // NULL before create.
  Plugin* plugin() const { return plugin_ == nullptr ? nullptr : Plugin::From(plugin_); }
  const tenon_fused_def& def() const { return *def_; }
  const tenon_match& raw() const { return *raw_; }

 private:
  tenon_plugin* plugin_;
  const tenon_fused_def* def_;
  const tenon_match* raw_;
};

// tenon_match_fn around bool Predicate(const Match&, Reason&).
template <auto Predicate>
int32_t MatchSlot(tenon_plugin* plugin, const tenon_fused_def* def, const tenon_match* match, uint32_t* accept,
                  const tenon_reason_sink* sink) noexcept {
  *accept = 0;
  Reason reason(sink);
  try {
    *accept = Predicate(Match(plugin, def, *match), reason) ? 1 : 0;
    return TENON_OK;
  } catch (const Failure& failure) {
    reason.No(std::string_view(failure.what()));
    return TENON_OK;
  } catch (...) {
    return FailFromException(nullptr, nullptr);
  }
}

// A saved value with the dims of pattern value like (and extra_dims behind); dtype 0: that of like.
constexpr tenon_saved_def SavedValue(std::string_view name, uint32_t dtype, std::string_view like,
                                     Dims extra_dims = {}) {
  tenon_saved_def def = TENON_INIT(tenon_saved_def);
  def.dtype = dtype;
  def.name = Str(name);
  def.like = Str(like);
  def.extra_dims = extra_dims.data();
  def.extra_dim_count = extra_dims.size();
  return def;
}

// tenon_fused_def, part by part. All tables and texts must be static.
class FusedBuilder {
 public:
  constexpr FusedBuilder(std::string_view name, std::string_view pattern, std::string_view domain,
                         std::string_view op_type, std::string_view device_kind) {
    def_.name = Str(name);
    def_.pattern = Str(pattern);
    def_.domain = Str(domain);
    def_.op_type = Str(op_type);
    def_.device_kind = Str(device_kind);
    def_.version = 1;
    def_.stage = TENON_FUSED_BEFORE_AUTODIFF;
    def_.saved_stride = sizeof(tenon_saved_def);
    def_.traits = TENON_TRAIT_PURE;
  }
  constexpr FusedBuilder& AfterAutodiff() {
    def_.stage = TENON_FUSED_AFTER_AUTODIFF;
    return *this;
  }
  constexpr FusedBuilder& Priority(int32_t priority) {
    def_.priority = priority;
    return *this;
  }
  constexpr FusedBuilder& Saved(Table<tenon_saved_def> table) {
    def_.saved = table.first;
    def_.saved_count = static_cast<uint32_t>(table.count);
    return *this;
  }
  constexpr FusedBuilder& Aliases(Table<tenon_alias_pair> table) {
    def_.aliases = table.first;
    def_.alias_count = static_cast<uint32_t>(table.count);
    return *this;
  }
  constexpr FusedBuilder& Gradient(const tenon_paired_gradient* gradient) {
    def_.gradient = gradient;
    return *this;
  }
  constexpr FusedBuilder& Traits(uint64_t traits) {
    def_.traits = traits;
    return *this;
  }
  template <auto Predicate>
  constexpr FusedBuilder& Match() {
    def_.match = &MatchSlot<Predicate>;
    return *this;
  }
  constexpr FusedBuilder& User(const void* user) {
    def_.user = user;
    return *this;
  }
  constexpr operator tenon_fused_def() const { return def_; }  // NOLINT: implicit on purpose

 private:
  tenon_fused_def def_ = TENON_INIT(tenon_fused_def);
};

// tenon.subgraph for a class with static Table<tenon_fused_def> Fused().
template <typename Tables>
struct FusedSlots {
  static int32_t ListFused(tenon_plugin* plugin, const tenon_fused_def** first, uint64_t* count, uint64_t* stride,
                           tenon_error* sink) noexcept {
    return Guard(Plugin::HostOf(plugin), sink, [&](Error&) -> int32_t {
      const Table<tenon_fused_def> table = Tables::Fused();
      *first = table.first;
      *count = table.count;
      *stride = sizeof(tenon_fused_def);
      return TENON_OK;
    });
  }
  static constexpr tenon_subgraph_vtable Vtable() {
    tenon_subgraph_vtable table = TENON_INIT(tenon_subgraph_vtable);
    table.list_fused = &ListFused;
    return table;
  }
  static constexpr tenon_subgraph_vtable kVtable = Vtable();
};

template <typename Tables>
constexpr tenon_interface FusedInterface() {
  return Interface(TENON_INTERFACE_SUBGRAPH, &FusedSlots<Tables>::kVtable);
}

}  // namespace tenon::sdk
