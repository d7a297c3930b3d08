// The object through which an operator of the legacy interface reads its attributes and asks for workspace. It is a C++
// class with std::string in its virtual functions, so that there are two incompatible forms of it: extra_form.inc is
// compiled once for each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

namespace tenon::aot {

// Where the values come from. Asking for an attribute that is not there, or is of another type, throws.
class AttributeSource {
 public:
  virtual ~AttributeSource() = default;
  virtual bool Has(std::string_view name) const = 0;
  virtual bool Flag(std::string_view name) const = 0;
  virtual int64_t Int(std::string_view name) const = 0;
  virtual float Float(std::string_view name) const = 0;
  virtual std::string_view Text(std::string_view name) const = 0;
  virtual std::vector<int64_t> Ints(std::string_view name) const = 0;
  virtual std::vector<float> Floats(std::string_view name) const = 0;
  virtual std::vector<std::vector<int64_t>> IntRows(std::string_view name) const = 0;
  virtual std::vector<std::vector<float>> FloatRows(std::string_view name) const = 0;
};

// Layout of std::string that a library was compiled for.
enum class StringAbi { kOld, kCxx11 };

// One object of the legacy class; what the operator stores in it lives as long.
class Extra {
 public:
  virtual ~Extra() = default;
  virtual void* object() = 0;  // handed to the library
  virtual const std::vector<size_t>& workspaces() const = 0;

  // `source` outlives the result.
  static std::unique_ptr<Extra> Make(StringAbi abi, const AttributeSource& source);
};

std::unique_ptr<Extra> MakeOldExtra(const AttributeSource& source);
std::unique_ptr<Extra> MakeCxx11Extra(const AttributeSource& source);

}  // namespace tenon::aot
