#include "core/launch/log_follower.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <fstream>

#include "core/base/text.h"

namespace tenon {

LogFollower::~LogFollower() {
  for (const File& file : files_) {
    if (file.descriptor >= 0) close(file.descriptor);
  }
}

void LogFollower::Follow(const std::string& path, std::uint32_t rank) {
  const bool known = std::any_of(files_.begin(), files_.end(), [&](const File& file) { return file.path == path; });
  if (!known) files_.push_back({path, rank, open(path.c_str(), O_RDONLY | O_CLOEXEC), ""});
}

void LogFollower::Print(bool at_end) {
  for (File& file : files_) PrintFile(file, at_end);
  std::fflush(stdout);
}

void LogFollower::PrintFile(File& file, bool at_end) {
  if (file.descriptor < 0) return;
  char chunk[1 << 16];
  for (;;) {
    const ssize_t count = read(file.descriptor, chunk, sizeof(chunk));
    if (count <= 0) break;
    file.rest.append(chunk, static_cast<std::size_t>(count));
    std::size_t begin = 0;
    for (std::size_t end = file.rest.find('\n'); end != std::string::npos; end = file.rest.find('\n', begin)) {
      std::printf("[rank %u] %.*s\n", file.rank, static_cast<int>(end - begin), file.rest.data() + begin);
      begin = end + 1;
    }
    file.rest.erase(0, begin);
  }
  if (at_end && !file.rest.empty()) std::printf("[rank %u] %s\n", file.rank, file.rest.c_str());
  if (at_end) file.rest.clear();
}

std::vector<std::string> LastLines(const std::string& path, std::size_t count) {
  constexpr std::streamoff kMost = 1 << 16;
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file) return {};
  const std::streamoff bytes = file.tellg();
  file.seekg(std::max<std::streamoff>(0, bytes - kMost));
  std::string text(static_cast<std::size_t>(std::min(bytes, kMost)), '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  while (!text.empty() && text.back() == '\n') text.pop_back();
  std::vector<std::string> lines = text.empty() ? std::vector<std::string>() : Split(text, '\n');
  if (lines.size() > count) lines.erase(lines.begin(), lines.end() - static_cast<std::ptrdiff_t>(count));
  return lines;
}

}  // namespace tenon
