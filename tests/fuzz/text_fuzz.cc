// Texts and vocabularies: whatever the bytes, reading ends in tokens or in an error.
#include <cstddef>
#include <cstdint>
#include <span>

#include "core/data/text_dataset.h"
#include "tests/fuzz/seeds.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tenon;  // NOLINT: a program of one file
  const std::span<const unsigned char> bytes(data, size);
  static_cast<void>(Vocabulary::Parse({reinterpret_cast<const char*>(data), size}, "fuzz").ok());
  std::vector<std::uint32_t> points{'\n'};
  if (!AddCodePoints("fuzz", bytes, &points).ok()) return 0;
  auto vocabulary = Vocabulary::OfCharacters(points);
  if (!vocabulary.ok()) return 0;
  auto text = TokenText::Encode("fuzz", bytes, std::make_shared<const Vocabulary>(*vocabulary));
  if (!text.ok()) std::abort();  // its own characters
  auto lines = TextLines::Create(*text, {20, {}});
  for (std::int64_t i = 0; lines.ok() && i < (*lines)->size(); ++i) {
    std::vector<std::int64_t> tokens(20), labels(20);
    if (!(*lines)->ReadBatch({&i, 1}, tokens.data(), labels.data()).ok()) std::abort();
  }
  return 0;
}

std::vector<std::string> tenon::fuzz::Seeds() {
  return {"one\ntwo\n\nthree \xe2\x82\xac \xf0\x9f\x98\x80", "characters 2\nU+0041\nU+20AC\n", "bytes 256\n"};
}
