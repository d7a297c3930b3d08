#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/data/byte_reader.h"
#include "core/data/vocabulary.h"
#include "core/tensor/tensor.h"

namespace tenon {

// The bytes of a whole text file, plain or unpacked.
Result<std::vector<unsigned char>> ReadTextBytes(ByteReader& reader);

// Adds the code points of a text to a sorted list without repeats. Bytes that are not UTF-8 are an error with `name`,
// byte offset, line, and the bytes.
Status AddCodePoints(const std::string& name, std::span<const unsigned char> text, std::vector<std::uint32_t>* points);

// A text as numbers of a vocabulary, 1, 2 or 4 bytes each, whichever is enough. Immutable, any thread.
class TokenText {
 public:
  // A character outside the vocabulary is an error with `name`, byte offset and the character.
  static Result<std::shared_ptr<const TokenText>> Encode(std::string name, std::span<const unsigned char> text,
                                                         std::shared_ptr<const Vocabulary> vocabulary);

  const std::string& name() const { return name_; }
  const Vocabulary& vocabulary() const { return *vocabulary_; }
  std::int64_t size() const { return tokens_.elements(); }
  // The tokens [first, first + count), all within size().
  void Read(std::int64_t first, std::int64_t count, std::int64_t* out) const;

 private:
  std::string name_;
  std::shared_ptr<const Vocabulary> vocabulary_;
  Tensor tokens_;
};

}  // namespace tenon
