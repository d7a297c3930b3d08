#include "core/base/host_name.h"

#include <unistd.h>

#include <array>

namespace tenon {

std::string HostName() {
  std::array<char, 256> name{};
  const bool known = gethostname(name.data(), name.size() - 1) == 0 && name[0] != '\0';
  return known ? name.data() : "localhost";
}

}  // namespace tenon
