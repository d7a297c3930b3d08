#include "core/train/npz.h"

#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "core/base/digest.h"
#include "core/data/npy_reader.h"

namespace tenon {
namespace {

constexpr std::uint32_t kEndSignature = 0x06054b50;
constexpr std::uint32_t kEnd64Signature = 0x06064b50;
constexpr std::uint32_t kLocator64Signature = 0x07064b50;
constexpr std::uint32_t kEntrySignature = 0x02014b50;
constexpr std::uint32_t kLocalSignature = 0x04034b50;
constexpr std::size_t kEndBytes = 22;
constexpr std::size_t kEnd64Bytes = 56;
constexpr std::size_t kLocator64Bytes = 20;
constexpr std::size_t kEntryBytes = 46;
constexpr std::size_t kLocalBytes = 30;
constexpr std::size_t kMaxComment = 65535;
constexpr std::uint16_t kExtra64 = 1;
constexpr std::uint64_t kMaxRatio = 1032;  // deflate makes no more of a byte

using Bytes = std::span<const std::uint8_t>;

// A little-endian number; the caller has checked the bounds.
template <class T>
T Get(Bytes bytes, std::size_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof(T));
  return value;
}

struct Entry {
  std::string name;
  std::uint16_t method = 0;  // 0 stored, 8 deflated
  std::uint32_t crc = 0;
  std::uint64_t packed = 0;
  std::uint64_t size = 0;
  std::uint64_t offset = 0;  // of the local header
};

struct Directory {
  std::uint64_t entries = 0;
  std::uint64_t offset = 0;
};

Status Damaged(std::string_view what) { return Error(Code::kDataLoss, "The .npz archive is damaged: {}.", what); }

Result<Directory> FindDirectory(Bytes file) {
  if (file.size() < kEndBytes) return Damaged("it is too short");
  const std::size_t last = file.size() - kEndBytes;
  const std::size_t first = last - std::min(last, kMaxComment);
  std::size_t at = last;
  while (Get<std::uint32_t>(file, at) != kEndSignature) {
    if (at == first) return Damaged("it has no end record");
    --at;
  }
  Directory directory{Get<std::uint16_t>(file, at + 10), Get<std::uint32_t>(file, at + 16)};
  const bool has_64 = at >= kLocator64Bytes && Get<std::uint32_t>(file, at - kLocator64Bytes) == kLocator64Signature;
  if (!has_64) return directory;
  const std::uint64_t end_64 = Get<std::uint64_t>(file, at - kLocator64Bytes + 8);
  if (file.size() < kEnd64Bytes || end_64 > file.size() - kEnd64Bytes ||
      Get<std::uint32_t>(file, static_cast<std::size_t>(end_64)) != kEnd64Signature) {
    return Damaged("its end record points nowhere");
  }
  const std::size_t place = static_cast<std::size_t>(end_64);
  return Directory{Get<std::uint64_t>(file, place + 32), Get<std::uint64_t>(file, place + 48)};
}

// Numbers of an entry beyond 32 bits stand in its extra field, in this order and only when needed.
Status ReadExtra64(Bytes extra, Entry* entry) {
  for (std::size_t at = 0; at + 4 <= extra.size();) {
    const std::uint16_t id = Get<std::uint16_t>(extra, at);
    const std::size_t size = Get<std::uint16_t>(extra, at + 2);
    at += 4;
    if (size > extra.size() - at) return Damaged("an extra field is cut");
    if (id == kExtra64) {
      std::size_t used = 0;
      for (std::uint64_t* number : {&entry->size, &entry->packed, &entry->offset}) {
        if (*number != 0xffffffff) continue;
        if (used + 8 > size) return Damaged("an extra field is cut");
        *number = Get<std::uint64_t>(extra, at + used);
        used += 8;
      }
    }
    at += size;
  }
  return {};
}

Result<std::vector<Entry>> ReadDirectory(Bytes file) {
  TENON_ASSIGN(const Directory directory, FindDirectory(file));
  std::vector<Entry> entries;
  std::uint64_t at = directory.offset;
  for (std::uint64_t i = 0; i < directory.entries; ++i) {
    if (at > file.size() || file.size() - at < kEntryBytes) return Damaged("its directory is cut");
    const Bytes head = file.subspan(static_cast<std::size_t>(at));
    if (Get<std::uint32_t>(head, 0) != kEntrySignature) return Damaged("its directory is broken");
    Entry entry;
    entry.method = Get<std::uint16_t>(head, 10);
    entry.crc = Get<std::uint32_t>(head, 16);
    entry.packed = Get<std::uint32_t>(head, 20);
    entry.size = Get<std::uint32_t>(head, 24);
    entry.offset = Get<std::uint32_t>(head, 42);
    const std::size_t name = Get<std::uint16_t>(head, 28);
    const std::size_t extra = Get<std::uint16_t>(head, 30);
    const std::size_t comment = Get<std::uint16_t>(head, 32);
    const std::size_t total = kEntryBytes + name + extra + comment;
    if (head.size() < total) return Damaged("its directory is cut");
    entry.name.assign(reinterpret_cast<const char*>(head.data()) + kEntryBytes, name);
    TENON_TRY(ReadExtra64(head.subspan(kEntryBytes + name, extra), &entry));
    entries.push_back(std::move(entry));
    at += total;
  }
  return entries;
}

Result<Bytes> PackedBytes(Bytes file, const Entry& entry) {
  if (file.size() < kLocalBytes || entry.offset > file.size() - kLocalBytes) return Damaged("an entry lies outside");
  const Bytes head = file.subspan(static_cast<std::size_t>(entry.offset));
  if (Get<std::uint32_t>(head, 0) != kLocalSignature) return Damaged("an entry has no header");
  const std::size_t skip = kLocalBytes + Get<std::uint16_t>(head, 26) + Get<std::uint16_t>(head, 28);
  if (skip > head.size() || entry.packed > head.size() - skip) return Damaged("an entry is cut");
  return head.subspan(skip, static_cast<std::size_t>(entry.packed));
}

Result<std::vector<std::uint8_t>> Inflate(Bytes packed, std::uint64_t size) {
  if (size / kMaxRatio > packed.size()) return Damaged("an entry claims more bytes than it can hold");
  std::vector<std::uint8_t> out(static_cast<std::size_t>(size));
  z_stream stream{};
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK)
    return Error(Code::kResourceExhausted, "There is no memory to unpack.");
  std::size_t given = 0, taken = 0;
  int result = Z_OK;
  constexpr std::size_t kPiece = std::size_t{1} << 30;
  std::uint8_t nothing = 0;  // zlib wants a place to write to, also for nothing
  while (result == Z_OK) {
    const std::size_t in = std::min(packed.size() - given, kPiece);
    const std::size_t room = std::min(out.size() - taken, kPiece);
    stream.next_in = const_cast<Bytef*>(packed.data() + given);
    stream.avail_in = static_cast<uInt>(in);
    stream.next_out = room > 0 ? out.data() + taken : &nothing;
    stream.avail_out = static_cast<uInt>(room);
    result = inflate(&stream, Z_NO_FLUSH);
    given += in - stream.avail_in;
    taken += room - stream.avail_out;
  }
  inflateEnd(&stream);
  if (result != Z_STREAM_END || taken != out.size()) return Damaged("an entry cannot be unpacked");
  return out;
}

Result<Tensor> ReadEntry(Bytes file, const Entry& entry) {
  TENON_ASSIGN(Bytes content, PackedBytes(file, entry));
  std::vector<std::uint8_t> unpacked;
  if (entry.method == 8) {
    TENON_ASSIGN(unpacked, Inflate(content, entry.size));
    content = unpacked;
  } else if (entry.method != 0) {
    return InvalidArgument(
        "It is packed with the method {}, which Tenon does not read; numpy's savez and savez_compressed "
        "write files that it reads.",
        entry.method);
  }
  if (content.size() != entry.size) return Damaged("an entry has another size than the directory says");
  if (Crc32(0, content.data(), content.size()) != entry.crc) return Damaged("the checksum of an entry is wrong");
  TENON_ASSIGN(ByteReader reader, ByteReader::FromMemory(entry.name, std::as_bytes(content)));
  TENON_ASSIGN(NpyArray array, ReadNpy(reader));
  return std::move(array.values);
}

}  // namespace

Result<Checkpoint> ReadNpz(Bytes file) {
  TENON_ASSIGN(const std::vector<Entry> entries, ReadDirectory(file));
  Checkpoint checkpoint;
  std::unordered_set<std::string> names;
  for (const Entry& entry : entries) {
    if (!entry.name.ends_with(".npy")) {
      return InvalidArgument("The archive holds '{}', which is no .npy file; it was not written by numpy.savez.",
                             entry.name);
    }
    TENON_ASSIGN_WHILE(Tensor tensor, ReadEntry(file, entry), "reading '{}' of the archive", entry.name);
    const std::string name = entry.name.substr(0, entry.name.size() - 4);
    if (!names.insert(name).second) return Damaged("two entries have one name");
    checkpoint.Add(name, std::move(tensor));
  }
  return checkpoint;
}

}  // namespace tenon
