#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/data/dataset.h"
#include "core/data/token_text.h"

namespace tenon {

// Windows of a running text: sample i is the `length` tokens from first + i * stride on, the label of each position is
// the token that follows it. The part used is [first, end).
class TextWindows final : public Dataset {
 public:
  struct Options {
    std::int64_t first = 0;
    std::int64_t end = 0;
    std::int64_t length = 0;
    std::int64_t stride = 0;
  };
  // Refuses a part that has no room for one sample and the token behind it.
  static Result<std::shared_ptr<const TextWindows>> Create(std::shared_ptr<const TokenText> text,
                                                           const Options& options);

  std::int64_t size() const override { return size_; }
  const SampleLayout& layout() const override { return layout_; }
  std::int64_t classes() const override { return text_->vocabulary().size(); }
  Status ReadBatch(std::span<const std::int64_t> indices, void* samples, void* labels) const override;
  std::string Place(std::int64_t index) const override;
  std::string description() const override;

 private:
  TextWindows() = default;

  std::shared_ptr<const TokenText> text_;
  Options options_;
  SampleLayout layout_;
  std::int64_t size_ = 0;
};

// Lines of a text: a sample is one line that is not empty, the label of each position is the token that follows, of the
// last one the end of the line. Behind the end stands the padding, up to the longest line.
class TextLines final : public Dataset {
 public:
  struct Options {
    std::int64_t most = 0;  // a longer line is an error
    Padding padding;
  };
  static Result<std::shared_ptr<const TextLines>> Create(std::shared_ptr<const TokenText> text, const Options& options);

  std::int64_t size() const override { return static_cast<std::int64_t>(lines_.size()); }
  const SampleLayout& layout() const override { return layout_; }
  std::int64_t classes() const override { return text_->vocabulary().size(); }
  Status ReadBatch(std::span<const std::int64_t> indices, void* samples, void* labels) const override;
  std::int64_t Length(std::int64_t index) const override { return lines_[static_cast<std::size_t>(index)].length; }
  bool varies() const override { return true; }
  Padding padding() const override { return options_.padding; }
  std::string Place(std::int64_t index) const override;
  std::string description() const override;

 private:
  struct Line {
    std::int64_t first;   // token
    std::int64_t length;  // without the end of the line
    std::int64_t number;  // from 1
  };
  TextLines() = default;

  std::shared_ptr<const TokenText> text_;
  Options options_;
  SampleLayout layout_;
  std::vector<Line> lines_;
  std::int64_t end_of_line_ = 0;
  std::int64_t empty_lines_ = 0;
};

}  // namespace tenon
