#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tenon {

// Shows what is added to log files on the screen, each line with its rank in front.
class LogFollower {
 public:
  ~LogFollower();
  void Follow(const std::string& path, std::uint32_t rank);
  // Prints the whole lines that have come since; at the end also what has no line end yet.
  void Print(bool at_end);

 private:
  struct File {
    std::string path;
    std::uint32_t rank;
    int descriptor;
    std::string rest;
  };
  void PrintFile(File& file, bool at_end);
  std::vector<File> files_;
};

// The last `count` lines of a file, at most 64 KB of it.
std::vector<std::string> LastLines(const std::string& path, std::size_t count);

}  // namespace tenon
