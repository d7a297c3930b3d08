#include "core/platform/dynamic_library.h"

#include <dlfcn.h>
#include <link.h>

#include <vector>  // before Boost.DLL: its library_info of 1.74 uses std::vector without including it

#ifndef BOOST_DLL_USE_STD_FS
#define BOOST_DLL_USE_STD_FS
#endif
#include <boost/dll/shared_library.hpp>

#include <exception>
#include <filesystem>
#include <memory>
#include <string_view>
#include <utility>

#include "core/platform/process.h"

namespace tenon {

namespace dll = boost::dll;

namespace {

// "boost::dll::shared_library::load() failed: /a/b.so: undefined symbol: f [...]" -> the linker's part.
std::string LinkerText(const char* what) {
  std::string text = what;
  const std::string lead = "boost::dll::shared_library::load() failed";
  if (text.compare(0, lead.size(), lead) == 0) {
    text.erase(0, lead.size());
    const std::size_t begin = text.find_first_not_of(": (");
    text.erase(0, begin == std::string::npos ? text.size() : begin);
  }
  constexpr std::string_view kSystem = "dlerror system message: ";
  if (text.compare(0, kSystem.size(), kSystem) == 0) text.erase(0, kSystem.size());
  // The appended text of the error code says "Bad file descriptor" whatever happened.
  const std::size_t code_text = text.find("): Bad file descriptor");
  if (code_text != std::string::npos) text.erase(code_text);
  const std::size_t bracket = text.rfind(": Bad file descriptor");
  if (bracket != std::string::npos) text.erase(bracket);
  return text;
}

// Code and data stay for late callers: the object that would close the library is never destroyed.
void KeepForEver(std::unique_ptr<dll::shared_library> library) {
  static auto* libraries = new std::vector<std::unique_ptr<dll::shared_library>>;
  libraries->push_back(std::move(library));
}

}  // namespace

Result<DynamicLibrary> DynamicLibrary::Open(const std::string& path) {
  // A bare name would be searched for, and by Boost.DLL in the current folder.
  TENON_INVALID_IF(path.empty() || path.front() != '/', "A library is opened by its absolute path, not by '{}'.", path);
  TENON_ASSIGN(const FileIdentity identity, IdentityOf(path));
  try {
    // RTLD_NODELETE has no enumerator there, but the value is passed on as it is. Everything is resolved at once: a
    // missing symbol must be an error here, not the end of the process at the first call.
    const auto mode = static_cast<dll::load_mode::type>(RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    std::unique_ptr<dll::shared_library> library = std::make_unique<dll::shared_library>(path, mode);
    void* handle = library->native();
    KeepForEver(std::move(library));
    return DynamicLibrary(handle, path, identity);
  } catch (const std::exception& error) {
    return Status(Code::kUnavailable, LinkerText(error.what()));
  }
}

Result<void*> DynamicLibrary::Symbol(const char* name) const {
  ::dlerror();
  void* address = ::dlsym(handle_, name);
  if (address == nullptr) return Error(Code::kNotFound, "{} has no symbol {}", path_, name);
  // dlsym also searches the dependencies of the library.
  Dl_info info{};
  if (::dladdr(address, &info) == 0 || info.dli_fname == nullptr) {
    return Error(Code::kFailedPrecondition, "the dynamic linker does not know where {} lies", name);
  }
  const Result<FileIdentity> home = IdentityOf(info.dli_fname);
  if (!home.ok() || *home != identity_) {
    return Error(Code::kFailedPrecondition, "{} lies in {}", name, info.dli_fname);
  }
  return address;
}

std::string FolderOfCode(const void* code) {
  Dl_info info{};
  void* extra = nullptr;
  if (::dladdr1(code, &info, &extra, RTLD_DL_LINKMAP) == 0 || extra == nullptr) return "";
  // The program itself has no name there, and dli_fname is what its caller typed.
  const char* file = static_cast<const link_map*>(extra)->l_name;
  if (file == nullptr || *file == '\0') return ExecutableFolder();
  std::error_code ignored;
  return std::filesystem::weakly_canonical(file, ignored).parent_path().string();
}

bool IsMapped(const std::string& path) {
  void* handle = ::dlopen(path.c_str(), RTLD_LAZY | RTLD_NOLOAD);
  if (handle == nullptr) return false;
  ::dlclose(handle);
  return true;
}

}  // namespace tenon
