#include "core/data/text_dataset.h"

#include <algorithm>
#include <utility>

namespace tenon {

namespace {

SampleLayout TokenLayout(std::int64_t length) {
  SampleLayout layout;
  layout.shape = Shape{length};
  layout.dtype = DType::kI64;
  layout.label_shape = layout.shape;
  return layout;
}

std::string Describe(const TokenText& text) {
  return fmt::format("text {} ({} {}, vocabulary of {})", text.name(), text.size(),
                     text.vocabulary().unit() == TextUnit::kBytes ? "bytes" : "characters", text.vocabulary().size());
}

}  // namespace

Result<std::shared_ptr<const TextWindows>> TextWindows::Create(std::shared_ptr<const TokenText> text,
                                                               const Options& options) {
  const std::int64_t room = options.end - options.first;
  if (room <= options.length) {
    return InvalidArgument(
               "The part of the text from token {} on has {} tokens; one sample of length {} and the token behind it "
               "need "
               "{}.",
               options.first, room, options.length, options.length + 1)
        .At(text->name());
  }
  auto windows = std::shared_ptr<TextWindows>(new TextWindows());
  windows->text_ = std::move(text);
  windows->options_ = options;
  windows->layout_ = TokenLayout(options.length);
  windows->size_ = (room - 1 - options.length) / options.stride + 1;
  return std::shared_ptr<const TextWindows>(std::move(windows));
}

Status TextWindows::ReadBatch(std::span<const std::int64_t> indices, void* samples, void* labels) const {
  std::int64_t* sample = static_cast<std::int64_t*>(samples);
  std::int64_t* label = static_cast<std::int64_t*>(labels);
  for (const std::int64_t index : indices) {
    const std::int64_t first = options_.first + index * options_.stride;
    if (sample) text_->Read(first, options_.length, sample);
    if (label) text_->Read(first + 1, options_.length, label);
    if (sample) sample += options_.length;
    if (label) label += options_.length;
  }
  return {};
}

std::string TextWindows::Place(std::int64_t index) const {
  return fmt::format("{}: token {}", text_->name(), options_.first + index * options_.stride);
}

std::string TextWindows::description() const { return Describe(*text_); }

Result<std::shared_ptr<const TextLines>> TextLines::Create(std::shared_ptr<const TokenText> text,
                                                           const Options& options) {
  auto lines = std::shared_ptr<TextLines>(new TextLines());
  const std::optional<std::int64_t> end_of_line = text->vocabulary().Find('\n');
  if (!end_of_line) return InvalidArgument("The vocabulary has no end of line (U+000A).").At(text->name());
  std::vector<std::int64_t> chunk(65536);
  Line line{0, 0, 1};
  std::int64_t longest = 0;
  const auto close = [&](std::int64_t end) {
    line.length = end - line.first;
    longest = std::max(longest, line.length);
    if (line.length > 0) lines->lines_.push_back(line);
    lines->empty_lines_ += line.length == 0;
    const Line closed = line;
    line = {end + 1, 0, line.number + 1};
    if (closed.length <= options.most) return Status();
    return InvalidArgument("The line has {} tokens; 'tokens.length' allows {}.", closed.length, options.most)
        .At(fmt::format("{}:{}", text->name(), closed.number));
  };
  for (std::int64_t at = 0; at < text->size(); at += static_cast<std::int64_t>(chunk.size())) {
    const std::int64_t count = std::min(static_cast<std::int64_t>(chunk.size()), text->size() - at);
    text->Read(at, count, chunk.data());
    for (std::int64_t i = 0; i < count; ++i) {
      if (chunk[static_cast<std::size_t>(i)] == *end_of_line) TENON_TRY(close(at + i));
    }
  }
  if (line.first < text->size()) TENON_TRY(close(text->size()));
  if (lines->lines_.empty()) return InvalidArgument("The text has no line that is not empty.").At(text->name());
  lines->text_ = std::move(text);
  lines->options_ = options;
  lines->layout_ = TokenLayout(longest);
  lines->end_of_line_ = *end_of_line;
  return std::shared_ptr<const TextLines>(std::move(lines));
}

Status TextLines::ReadBatch(std::span<const std::int64_t> indices, void* samples, void* labels) const {
  const std::int64_t width = layout_.shape.dim(0);
  std::int64_t* sample = static_cast<std::int64_t*>(samples);
  std::int64_t* label = static_cast<std::int64_t*>(labels);
  for (const std::int64_t index : indices) {
    const Line& line = lines_[static_cast<std::size_t>(index)];
    if (sample) {
      text_->Read(line.first, line.length, sample);
      std::fill(sample + line.length, sample + width, options_.padding.value);
      sample += width;
    }
    if (label) {
      text_->Read(line.first + 1, line.length - 1, label);
      label[line.length - 1] = end_of_line_;
      std::fill(label + line.length, label + width, options_.padding.label);
      label += width;
    }
  }
  return {};
}

std::string TextLines::Place(std::int64_t index) const {
  return fmt::format("{}:{}", text_->name(), lines_[static_cast<std::size_t>(index)].number);
}

std::string TextLines::description() const {
  std::string text = fmt::format("{}, lines of at most {}", Describe(*text_), layout_.shape.dim(0));
  if (empty_lines_ > 0) text += fmt::format(", {} empty ones left out", empty_lines_);
  return text;
}

}  // namespace tenon
