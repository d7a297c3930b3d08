#pragma once

#include <zlib.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <string>
#include <vector>

namespace tenon::testing {

// A folder of its own for one test, removed at the end.
class Folder {
 public:
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "tenon_data_XXXXXX").string();
    if (!mkdtemp(name.data())) std::abort();
    path_ = name;
  }
  ~Folder() {
    std::error_code error;
    std::filesystem::remove_all(path_, error);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  std::string path() const { return path_; }
  std::string Path(const std::string& name) const { return path_ + "/" + name; }
  std::string Write(const std::string& name, const std::string& bytes) const {
    std::ofstream(Path(name), std::ios::binary) << bytes;
    return Path(name);
  }

 private:
  std::string path_;
};

// The bytes as one gzip member.
inline std::string Gzip(const std::string& bytes) {
  z_stream stream{};
  deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
  std::string out(deflateBound(&stream, bytes.size()) + 64, '\0');
  stream.next_in = reinterpret_cast<unsigned char*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<unsigned>(bytes.size());
  stream.next_out = reinterpret_cast<unsigned char*>(out.data());
  stream.avail_out = static_cast<unsigned>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

inline std::string Bytes(std::initializer_list<int> values) {
  std::string bytes;
  for (const int value : values) bytes.push_back(static_cast<char>(value));
  return bytes;
}

// An IDX file: type byte, dims, values of one byte.
inline std::string Idx(int type, const std::vector<std::uint32_t>& dims, const std::string& values) {
  std::string bytes = Bytes({0, 0, type, static_cast<int>(dims.size())});
  for (const std::uint32_t dim : dims) {
    for (int shift = 24; shift >= 0; shift -= 8) bytes.push_back(static_cast<char>((dim >> shift) & 255));
  }
  return bytes + values;
}

// A .npy file of version 1.0 to 3.0.
inline std::string Npy(const std::string& dictionary, const std::string& values, int version = 1) {
  std::string header = dictionary;
  while ((header.size() + 1 + (version == 1 ? 10 : 12)) % 64 != 0) header.push_back(' ');
  header.push_back('\n');
  std::string bytes = "\x93NUMPY" + Bytes({version, 0});
  for (int i = 0; i < (version == 1 ? 2 : 4); ++i) bytes.push_back(static_cast<char>((header.size() >> (8 * i)) & 255));
  return bytes + header + values;
}

template <class T>
std::string Raw(std::initializer_list<T> values) {
  std::string bytes(values.size() * sizeof(T), '\0');
  std::size_t at = 0;
  for (const T value : values) {
    std::memcpy(bytes.data() + at, &value, sizeof(T));
    at += sizeof(T);
  }
  return bytes;
}

}  // namespace tenon::testing
