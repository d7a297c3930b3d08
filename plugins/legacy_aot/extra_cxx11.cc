// The form with today's std::string.
#define _GLIBCXX_USE_CXX11_ABI 1
#define TENON_AOT_FORM cxx11_string
#define TENON_AOT_MAKE MakeCxx11Extra
#include "plugins/legacy_aot/extra_form.inc"

namespace tenon::aot {

std::unique_ptr<Extra> Extra::Make(StringAbi abi, const AttributeSource& source) {
  return abi == StringAbi::kOld ? MakeOldExtra(source) : MakeCxx11Extra(source);
}

}  // namespace tenon::aot
