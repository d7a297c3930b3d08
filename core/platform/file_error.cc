#include "core/platform/file_error.h"

#include <cerrno>
#include <csignal>
#include <mutex>
#include <system_error>

namespace tenon {
namespace {

Code CodeOf(int error_number) {
  switch (error_number) {
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
    case EMFILE:
    case ENFILE:
    case ENOMEM:
      return Code::kResourceExhausted;
    case ENOENT:
    case ENOTDIR:
      return Code::kNotFound;
    case EACCES:
    case EPERM:
    case EROFS:
      return Code::kPermissionDenied;
    case EISDIR:
    case ENAMETOOLONG:
      return Code::kInvalidArgument;
    default:
      return Code::kUnknown;
  }
}

// What to add to the system's text, which names the cause but not always what it means here.
std::string_view Explanation(int error_number) {
  switch (error_number) {
    case ENOSPC:
      return "the disk is full: ";
    case EDQUOT:
      return "the disk quota is used up: ";
    case EFBIG:
      return "the file would exceed the limit on file sizes (ulimit -f): ";
    default:
      return "";
  }
}

}  // namespace

Status FileError(std::string_view doing, std::string_view path, int error_number) {
  return Error(CodeOf(error_number), "{} '{}' failed: {}{}.", doing, path, Explanation(error_number),
               std::generic_category().message(error_number));
}

void TurnFileSizeSignalIntoError() {
  static std::once_flag once;
  std::call_once(once, [] {
    struct sigaction action = {};
    if (sigaction(SIGXFSZ, nullptr, &action) == 0 && action.sa_handler == SIG_DFL) {
      action.sa_handler = SIG_IGN;
      sigaction(SIGXFSZ, &action, nullptr);
    }
  });
}

}  // namespace tenon
