#include "plugins/device_cpu/onednn/library.h"

#include <dlfcn.h>

#include "tenon/sdk/error.h"

namespace tenon::cpu::onednn {
namespace {

template <class Function>
bool Find(void* library, const char* name, Function& out, std::string& problem) {
  out = reinterpret_cast<Function>(dlsym(library, name));
  if (out == nullptr) problem = std::string("oneDNN (" TENON_ONEDNN_LIBRARY ") has no function ") + name + ".";
  return out != nullptr;
}

const char* NameOf(dnnl_status_t status) {
  switch (status) {
    case dnnl_success:
      return "success";
    case dnnl_out_of_memory:
      return "out of memory";
    case dnnl_invalid_arguments:
      return "invalid arguments";
    case dnnl_unimplemented:
      return "unimplemented";
    case dnnl_runtime_error:
      return "runtime error";
    default:
      return "failure";
  }
}

}  // namespace

void Check(dnnl_status_t status, const char* what) {
  if (status == dnnl_success) return;
  const int32_t code = status == dnnl_out_of_memory ? TENON_RESOURCE_EXHAUSTED : TENON_INTERNAL;
  throw sdk::Failure(code, "oneDNN: ", std::string_view(what), " failed: ", std::string_view(NameOf(status)), " (",
                     static_cast<int>(status), ").");
}

bool Library::Open() {
  void* const library = dlopen(TENON_ONEDNN_LIBRARY, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    problem_ = std::string("oneDNN cannot be opened: ") + dlerror() + ".";
    return false;
  }
#define TENON_ONEDNN_FIND(name) \
  if (!Find(library, #name, functions_.name, problem_)) return false;
  TENON_ONEDNN_COMMON(TENON_ONEDNN_FIND)
  TENON_ONEDNN_VERSIONED(TENON_ONEDNN_FIND)
  TENON_ONEDNN_FIND(omp_set_num_threads)
  TENON_ONEDNN_FIND(omp_get_max_threads)
#undef TENON_ONEDNN_FIND
  const dnnl_version_t& version = *functions_.dnnl_version();
  if (version.major != DNNL_VERSION_MAJOR) {
    problem_ = "oneDNN (" TENON_ONEDNN_LIBRARY ") has version " + std::to_string(version.major) +
               "; the plugin was built for version " + std::to_string(DNNL_VERSION_MAJOR) + ".";
    return false;
  }
  return true;
}

Library::Library(std::string_view isa) {
  if (!Open()) return;
  if (isa == "sse2") functions_.dnnl_set_max_cpu_isa(dnnl_cpu_isa_sse41);
  if (isa == "avx2") functions_.dnnl_set_max_cpu_isa(dnnl_cpu_isa_avx2);
  const dnnl_status_t status = functions_.dnnl_engine_create(&engine_, dnnl_cpu, 0);
  if (status != dnnl_success) problem_ = std::string("oneDNN has no engine: ") + NameOf(status) + ".";
}

const Library& Library::Get(std::string_view isa) {
  static const Library* const library = new Library(isa);
  return *library;
}

}  // namespace tenon::cpu::onednn
