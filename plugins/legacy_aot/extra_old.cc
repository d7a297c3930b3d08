// The form with the std::string of before C++11, which libraries have by default.
#define _GLIBCXX_USE_CXX11_ABI 0
#define TENON_AOT_FORM old_string
#define TENON_AOT_MAKE MakeOldExtra
#include "plugins/legacy_aot/extra_form.inc"
