#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/tensor/shape.h"

namespace tenon {

struct DimNode;  // an interned symbolic expression; lives as long as the process

// One dimension: a known count, or a symbolic expression over named symbols. Arithmetic folds known values, so the same
// shape rule serves compile time (symbols) and run time (all known). Expressions are interned: two dims are equal
// exactly when they are the same expression. A value of two words; any thread.
class Dim {
 public:
  constexpr Dim() = default;                            // 0
  constexpr Dim(std::int64_t value) : value_(value) {}  // NOLINT: counts are dims
  static Dim Symbol(std::string_view name);             // the same name is the same symbol
  static Dim Unknown();  // what a shape rule answers where the extent depends on values; a graph gives it a name

  bool known() const { return node_ == nullptr; }
  std::int64_t value() const { return value_; }  // requires known()
  bool Is(std::int64_t value) const { return known() && value_ == value; }
  const DimNode* node() const { return node_; }
  bool operator==(const Dim&) const = default;
  std::string ToString() const;  // "32", "N", "(N * 2)"

 private:
  friend Dim MakeDim(const DimNode* node);
  std::int64_t value_ = 0;
  const DimNode* node_ = nullptr;
};

Dim operator+(Dim a, Dim b);
Dim operator-(Dim a, Dim b);
Dim operator*(Dim a, Dim b);
Dim FloorDiv(Dim a, Dim b);  // b must not be a known 0
Dim CeilDiv(Dim a, Dim b);
Dim Mod(Dim a, Dim b);
Dim Min(Dim a, Dim b);
Dim Max(Dim a, Dim b);

// Value of an expression once its symbols are known through `lookup(name)`; nullopt when one is not.
using SymbolLookup = std::optional<std::int64_t> (*)(void* user, std::string_view name);
std::optional<std::int64_t> Evaluate(Dim dim, SymbolLookup lookup, void* user);

// Dims that may be symbolic; the rank is always known in the core (an unknown rank exists only across the plugin ABI).
class SymShape {
 public:
  SymShape() = default;
  SymShape(std::initializer_list<Dim> dims);
  SymShape(const Shape& shape);  // NOLINT: a concrete shape is a symbolic one
  explicit SymShape(std::span<const Dim> dims);

  int rank() const { return rank_; }
  Dim operator[](int axis) const { return dims_[static_cast<std::size_t>(axis)]; }
  void set_dim(int axis, Dim dim) { dims_[static_cast<std::size_t>(axis)] = dim; }
  void push_back(Dim dim);
  std::span<const Dim> dims() const { return {dims_.data(), static_cast<std::size_t>(rank_)}; }
  bool operator==(const SymShape& other) const;
  bool known() const;            // all dims known
  Shape Concrete() const;        // requires known()
  Dim Elements() const;          // product
  std::string ToString() const;  // "[N,3,28]"

 private:
  std::array<Dim, kMaxRank> dims_{};
  int rank_ = 0;
};

// numpy broadcasting over symbolic dims. A symbol against 1 gives the symbol; a symbol against another dim must be
// equal to it or an error naming both is returned.
Result<SymShape> Broadcast(const SymShape& a, const SymShape& b);

}  // namespace tenon

template <>
struct fmt::formatter<tenon::SymShape> : fmt::formatter<std::string> {
  template <class Context>
  auto format(const tenon::SymShape& shape, Context& context) const {
    return fmt::formatter<std::string>::format(shape.ToString(), context);
  }
};
template <>
struct fmt::formatter<tenon::Dim> : fmt::formatter<std::string> {
  template <class Context>
  auto format(const tenon::Dim& dim, Context& context) const {
    return fmt::formatter<std::string>::format(dim.ToString(), context);
  }
};
