#include "core/data/token_text.h"

#include <algorithm>
#include <set>
#include <utility>

#include "core/data/utf8.h"

namespace tenon {

namespace {

std::int64_t LineOf(std::span<const unsigned char> text, std::size_t at) {
  return 1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n');
}

Status NotUtf8(const std::string& name, std::span<const unsigned char> text, std::size_t at) {
  std::string bytes;
  for (std::size_t i = at; i < std::min(at + 4, text.size()); ++i) bytes += fmt::format(" {:02x}", text[i]);
  return Error(Code::kDataLoss, "The text is not UTF-8: at byte {} (line {}) it has{}. 'tokens: bytes' takes any file.",
               at, LineOf(text, at), bytes)
      .At(name);
}

DType NarrowestFor(std::int64_t count) {
  if (count <= 256) return DType::kU8;
  return count <= 65536 ? DType::kU16 : DType::kU32;
}

}  // namespace

Result<std::vector<unsigned char>> ReadTextBytes(ByteReader& reader) {
  constexpr std::int64_t kChunk = std::int64_t{1} << 20;
  std::vector<unsigned char> text;
  if (!reader.packed()) text.reserve(static_cast<std::size_t>(reader.bound() + kChunk));
  while (true) {
    const std::size_t before = text.size();
    text.resize(before + static_cast<std::size_t>(kChunk));
    TENON_ASSIGN(const std::int64_t got, reader.Read(text.data() + before, kChunk));
    text.resize(before + static_cast<std::size_t>(got));
    if (got < kChunk) return text;
  }
}

Status AddCodePoints(const std::string& name, std::span<const unsigned char> text, std::vector<std::uint32_t>* points) {
  std::set<std::uint32_t> found(points->begin(), points->end());
  std::uint32_t last = 0x110000;
  for (std::size_t at = 0; at < text.size();) {
    const std::optional<std::uint32_t> point = NextCodePoint(text, at);
    if (!point) return NotUtf8(name, text, at);
    if (*point != last) found.insert(*point);
    last = *point;
  }
  points->assign(found.begin(), found.end());
  return {};
}

Result<std::shared_ptr<const TokenText>> TokenText::Encode(std::string name, std::span<const unsigned char> text,
                                                           std::shared_ptr<const Vocabulary> vocabulary) {
  auto tokens = std::make_shared<TokenText>();
  tokens->name_ = std::move(name);
  tokens->vocabulary_ = std::move(vocabulary);
  const Vocabulary& known = *tokens->vocabulary_;
  if (known.unit() == TextUnit::kBytes) {
    tokens->tokens_ = Tensor(DType::kU8, Shape{static_cast<std::int64_t>(text.size())});
    std::copy(text.begin(), text.end(), tokens->tokens_.data<std::uint8_t>());
    return std::shared_ptr<const TokenText>(tokens);
  }
  // A code point starts at each byte that does not continue one.
  const std::int64_t count =
      std::count_if(text.begin(), text.end(), [](unsigned char byte) { return (byte & 0xc0) != 0x80; });
  tokens->tokens_ = Tensor(NarrowestFor(known.size()), Shape{count});
  Status status;
  ForInteger(tokens->tokens_.dtype(), [&]<class T>() {
    T* out = tokens->tokens_.data<T>();
    for (std::size_t at = 0; at < text.size() && status.ok();) {
      const std::size_t start = at;
      const std::optional<std::uint32_t> point = NextCodePoint(text, at);
      const std::optional<std::int64_t> token = point ? known.Find(*point) : std::nullopt;
      if (token) {
        *out++ = static_cast<T>(*token);
      } else {
        status =
            !point ? NotUtf8(tokens->name_, text, start)
                   : InvalidArgument("The character {} at byte {} (line {}) is not in the vocabulary of {} characters.",
                                     DescribeCodePoint(*point), start, LineOf(text, start), known.size())
                         .At(tokens->name_);
      }
    }
  });
  TENON_TRY(std::move(status));
  return std::shared_ptr<const TokenText>(tokens);
}

void TokenText::Read(std::int64_t first, std::int64_t count, std::int64_t* out) const {
  ForInteger(tokens_.dtype(), [&]<class T>() {
    const T* from = tokens_.data<T>() + first;
    for (std::int64_t i = 0; i < count; ++i) out[i] = static_cast<std::int64_t>(from[i]);
  });
}

}  // namespace tenon
