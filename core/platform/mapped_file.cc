#include "core/platform/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "core/platform/file_error.h"

namespace tenon {

Result<MappedFile> MappedFile::Open(const std::string& path) {
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return FileError("Opening", path, errno);
  struct stat info = {};
  if (fstat(descriptor, &info) != 0 || S_ISDIR(info.st_mode)) {
    const int error_number = S_ISDIR(info.st_mode) ? EISDIR : errno;
    close(descriptor);
    return FileError("Reading", path, error_number);
  }
  MappedFile file;
  file.size_ = static_cast<std::size_t>(info.st_size);
  if (file.size_ > 0) {
    void* memory = mmap(nullptr, file.size_, PROT_READ, MAP_PRIVATE, descriptor, 0);
    if (memory == MAP_FAILED) {
      const int error_number = errno;
      close(descriptor);
      return FileError("Reading", path, error_number);
    }
    static_cast<void>(madvise(memory, file.size_, MADV_SEQUENTIAL));
    const std::size_t size = file.size_;
    file.memory_ = std::shared_ptr<void>(memory, [size](void* start) { munmap(start, size); });
  }
  close(descriptor);
  return file;
}

}  // namespace tenon
