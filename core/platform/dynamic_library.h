#pragma once

#include <string>

#include "core/base/status.h"
#include "core/platform/file_identity.h"

namespace tenon {

// A shared library that stays mapped until the process ends: it is opened with every symbol resolved at once, private
// to itself, and never closed, also not by the destructor.
class DynamicLibrary {
 public:
  // `path` must be absolute. The message of an error is the dynamic linker's own text. Constructors of the library run
  // inside. Not for two threads at a time.
  static Result<DynamicLibrary> Open(const std::string& path);

  // Address of a symbol that the file itself defines. NOT_FOUND when the file has none; FAILED_PRECONDITION when the
  // name is found, but in another file (a dependency of this one), which the message names.
  Result<void*> Symbol(const char* name) const;

  const std::string& path() const { return path_; }
  // Identity of the path right before it was opened.
  FileIdentity identity() const { return identity_; }

 private:
  DynamicLibrary(void* handle, std::string path, FileIdentity identity)
      : handle_(handle), path_(std::move(path)), identity_(identity) {}
  void* handle_;
  std::string path_;
  FileIdentity identity_;
};

// Folder of the file that holds this code, a program or a shared library, links resolved. Empty when the dynamic linker
// does not know the address.
std::string FolderOfCode(const void* code);

// True when the dynamic linker has mapped this file already (as a plugin or as a dependency of one).
bool IsMapped(const std::string& path);

}  // namespace tenon
