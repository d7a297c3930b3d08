#include "core/tensor/dim.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <tuple>

namespace tenon {

enum class DimOp : std::uint8_t { kSymbol, kAdd, kSub, kMul, kFloorDiv, kCeilDiv, kMod, kMin, kMax };

struct DimNode {
  DimOp op;
  std::string name;  // of a symbol
  Dim a, b;
};

Dim MakeDim(const DimNode* node) {
  Dim dim;
  dim.node_ = node;
  return dim;
}

namespace {

using Operand = std::pair<std::int64_t, const DimNode*>;
using Key = std::tuple<DimOp, Operand, Operand>;

struct Table {
  std::mutex mutex;
  std::map<std::string, std::unique_ptr<DimNode>, std::less<>> symbols;
  std::map<Key, std::unique_ptr<DimNode>> expressions;
};

Table& Interned() {
  static Table* table = new Table;  // never destroyed: dims may outlive static destructors
  return *table;
}

Operand OperandOf(Dim dim) { return {dim.known() ? dim.value() : 0, dim.node()}; }

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

// Results beyond 64 bits stay at the end that they passed: far above what a shape may have, so that operators refuse them.
std::int64_t Add(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? (a < 0 ? -kMost : kMost) : sum;
}

std::int64_t Negate(std::int64_t a) { return a < -kMost ? kMost : -a; }

std::int64_t Multiply(std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? ((a < 0) == (b < 0) ? kMost : -kMost) : product;
}

std::int64_t FloorDivInt(std::int64_t a, std::int64_t b) {
  if (b == -1) return Negate(a);
  const std::int64_t quotient = a / b;
  return (a % b != 0 && ((a < 0) != (b < 0))) ? quotient - 1 : quotient;
}

std::int64_t Apply(DimOp op, std::int64_t a, std::int64_t b) {
  switch (op) {
    case DimOp::kAdd:
      return Add(a, b);
    case DimOp::kSub:
      return Add(a, Negate(b));
    case DimOp::kMul:
      return Multiply(a, b);
    case DimOp::kFloorDiv:
      return b == 0 ? 0 : FloorDivInt(a, b);
    case DimOp::kCeilDiv:
      return b == 0 ? 0 : Negate(FloorDivInt(Negate(a), b));
    case DimOp::kMod:
      return b == 0 ? 0 : Add(a, Negate(Multiply(FloorDivInt(a, b), b)));
    case DimOp::kMin:
      return std::min(a, b);
    case DimOp::kMax:
      return std::max(a, b);
    case DimOp::kSymbol:
      break;
  }
  return 0;
}

bool Commutes(DimOp op) { return op == DimOp::kAdd || op == DimOp::kMul || op == DimOp::kMin || op == DimOp::kMax; }

Dim Combine(DimOp op, Dim a, Dim b) {
  if (a.known() && b.known()) return Apply(op, a.value(), b.value());
  if (Commutes(op) && OperandOf(b) < OperandOf(a)) std::swap(a, b);
  Table& table = Interned();
  const std::lock_guard lock(table.mutex);
  std::unique_ptr<DimNode>& slot = table.expressions[Key{op, OperandOf(a), OperandOf(b)}];
  if (!slot) slot = std::make_unique<DimNode>(DimNode{op, {}, a, b});
  return MakeDim(slot.get());
}

std::string_view SignOf(DimOp op) {
  switch (op) {
    case DimOp::kAdd:
      return "+";
    case DimOp::kSub:
      return "-";
    case DimOp::kMul:
      return "*";
    case DimOp::kFloorDiv:
      return "//";
    case DimOp::kCeilDiv:
      return "/^";
    case DimOp::kMod:
      return "mod";
    case DimOp::kMin:
      return "min";
    case DimOp::kMax:
      return "max";
    case DimOp::kSymbol:
      break;
  }
  return "";
}

}  // namespace

Dim Dim::Unknown() {
  static const Dim unknown = Symbol("?");
  return unknown;
}

Dim Dim::Symbol(std::string_view name) {
  Table& table = Interned();
  const std::lock_guard lock(table.mutex);
  const auto found = table.symbols.find(name);
  if (found != table.symbols.end()) return MakeDim(found->second.get());
  auto node = std::make_unique<DimNode>(DimNode{DimOp::kSymbol, std::string(name), {}, {}});
  const DimNode* raw = node.get();
  table.symbols.emplace(std::string(name), std::move(node));
  return MakeDim(raw);
}

std::string Dim::ToString() const {
  if (known()) return std::to_string(value_);
  if (node_->op == DimOp::kSymbol) return node_->name;
  if (node_->op == DimOp::kMin || node_->op == DimOp::kMax)
    return fmt::format("{}({},{})", SignOf(node_->op), node_->a.ToString(), node_->b.ToString());
  return fmt::format("({} {} {})", node_->a.ToString(), SignOf(node_->op), node_->b.ToString());
}

Dim operator+(Dim a, Dim b) {
  if (a.Is(0)) return b;
  if (b.Is(0)) return a;
  return Combine(DimOp::kAdd, a, b);
}
Dim operator-(Dim a, Dim b) {
  if (b.Is(0)) return a;
  if (a == b) return 0;
  return Combine(DimOp::kSub, a, b);
}
Dim operator*(Dim a, Dim b) {
  if (a.Is(1)) return b;
  if (b.Is(1)) return a;
  if (a.Is(0) || b.Is(0)) return 0;
  return Combine(DimOp::kMul, a, b);
}
Dim FloorDiv(Dim a, Dim b) { return b.Is(1) ? a : Combine(DimOp::kFloorDiv, a, b); }
Dim CeilDiv(Dim a, Dim b) { return b.Is(1) ? a : Combine(DimOp::kCeilDiv, a, b); }
Dim Mod(Dim a, Dim b) { return b.Is(1) ? Dim(0) : Combine(DimOp::kMod, a, b); }
Dim Min(Dim a, Dim b) { return a == b ? a : Combine(DimOp::kMin, a, b); }
Dim Max(Dim a, Dim b) { return a == b ? a : Combine(DimOp::kMax, a, b); }

std::optional<std::int64_t> Evaluate(Dim dim, SymbolLookup lookup, void* user) {
  if (dim.known()) return dim.value();
  const DimNode& node = *dim.node();
  if (node.op == DimOp::kSymbol) return lookup(user, node.name);
  const auto a = Evaluate(node.a, lookup, user);
  const auto b = Evaluate(node.b, lookup, user);
  if (!a || !b) return std::nullopt;
  return Apply(node.op, *a, *b);
}

SymShape::SymShape(std::initializer_list<Dim> dims) : SymShape(std::span<const Dim>(dims.begin(), dims.size())) {}

SymShape::SymShape(std::span<const Dim> dims) : rank_(static_cast<int>(dims.size())) {
  if (dims.size() > kMaxRank) std::abort();  // a bug in the caller
  std::copy(dims.begin(), dims.end(), dims_.begin());
}

SymShape::SymShape(const Shape& shape) : rank_(shape.rank()) {
  for (int axis = 0; axis < rank_; ++axis) set_dim(axis, shape[axis]);
}

void SymShape::push_back(Dim dim) {
  if (rank_ >= kMaxRank) std::abort();  // a bug in the caller
  dims_[static_cast<std::size_t>(rank_++)] = dim;
}

bool SymShape::operator==(const SymShape& other) const {
  const auto a = dims(), b = other.dims();
  return std::equal(a.begin(), a.end(), b.begin(), b.end());
}

bool SymShape::known() const {
  return std::all_of(dims().begin(), dims().end(), [](Dim dim) { return dim.known(); });
}

Shape SymShape::Concrete() const {
  Shape shape;
  for (const Dim dim : dims()) shape.push_back(dim.value());
  return shape;
}

Dim SymShape::Elements() const {
  Dim count = 1;
  for (const Dim dim : dims()) count = count * dim;
  return count;
}

std::string SymShape::ToString() const {
  std::string text = "[";
  for (int axis = 0; axis < rank_; ++axis) {
    if (axis > 0) text += ",";
    text += (*this)[axis].ToString();
  }
  return text + "]";
}

Result<SymShape> Broadcast(const SymShape& a, const SymShape& b) {
  SymShape out = a.rank() >= b.rank() ? a : b;
  for (int k = 1; k <= out.rank(); ++k) {
    const Dim da = k <= a.rank() ? a[a.rank() - k] : Dim(1);
    const Dim db = k <= b.rank() ? b[b.rank() - k] : Dim(1);
    TENON_INVALID_IF(!(da == db) && !da.Is(1) && !db.Is(1), "Shapes {} and {} do not broadcast: {} against {}.", a, b,
                     da, db);
    out.set_dim(out.rank() - k, da.Is(1) ? db : da);
  }
  return out;
}

}  // namespace tenon
