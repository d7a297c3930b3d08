#include "tools/conform/clash_library.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

// The bytes of the library, placed here by the assembler.
extern "C" const char tenon_clash_begin[];
extern "C" const char tenon_clash_end[];
asm(".section .rodata\n"
    ".global tenon_clash_begin\n"
    ".global tenon_clash_end\n"
    "tenon_clash_begin:\n"
    ".incbin \"" TENON_CLASH_FILE
    "\"\n"
    "tenon_clash_end:\n"
    ".byte 0\n"
    ".previous\n");

namespace tenon::conform {

std::string WriteClashLibrary(Context& context) {
  const int file = ::memfd_create("tenon_clash", 0);
  const auto bytes = static_cast<std::size_t>(tenon_clash_end - tenon_clash_begin);
  if (file < 0 || ::write(file, tenon_clash_begin, bytes) != static_cast<ssize_t>(bytes))
    context.Fail("The library with clashing names cannot be written.");
  return fmt::format("/proc/self/fd/{}", file);
}

}  // namespace tenon::conform
