#include "core/data/open_text.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "core/data/text_dataset.h"
#include "core/data/token_text.h"

namespace tenon {

namespace {

constexpr double kUsualTestPart = 0.1;

struct RawText {
  std::string path;
  std::vector<unsigned char> bytes;
};

Result<RawText> ReadRaw(const char* key, const ConfigPath& path) {
  const std::string place = path.resolved.string();
  const std::string doing = path.place.known() ? fmt::format("opening '{}' of {}", key, path.place.ToString())
                                               : fmt::format("opening '{}'", key);
  TENON_ASSIGN_WHILE(ByteReader reader, ByteReader::Open(place), "{}", doing);
  RawText text{place, {}};
  TENON_ASSIGN_WHILE(text.bytes, ReadTextBytes(reader), "{}", doing);
  if (text.bytes.empty()) return Error(Code::kDataLoss, "The file is empty.").At(place).While(doing);
  return text;
}

Result<Vocabulary> MakeVocabulary(const TokensConfig& tokens, const std::vector<RawText>& texts) {
  if (!tokens.vocabulary.empty()) {
    TENON_ASSIGN(Vocabulary vocabulary, Vocabulary::Load(tokens.vocabulary.resolved.string()));
    if (vocabulary.unit() != tokens.unit)
      return InvalidArgument("The vocabulary is of the other unit than 'tokens.unit'.")
          .At(tokens.vocabulary.resolved.string());
    return vocabulary;
  }
  if (tokens.unit == TextUnit::kBytes) return Vocabulary::OfBytes();
  std::vector<std::uint32_t> points;
  if (tokens.lines) points.push_back('\n');
  for (const RawText& text : texts) TENON_TRY(AddCodePoints(text.path, text.bytes, &points));
  return Vocabulary::OfCharacters(std::move(points));
}

class TextOpener {
 public:
  explicit TextOpener(const DataConfig& config) : config_(config), tokens_(config.tokens.value_or(TokensConfig{})) {}

  Result<TextParts> Open() {
    std::vector<RawText> raw;
    TENON_ASSIGN(RawText train, ReadRaw("data.path", config_.path));
    raw.push_back(std::move(train));
    if (config_.test) {
      TENON_ASSIGN(RawText test, ReadRaw("data.test.path", config_.test->path));
      raw.push_back(std::move(test));
    }
    TENON_ASSIGN(Vocabulary vocabulary, MakeVocabulary(tokens_, raw));
    parts_.vocabulary = std::make_shared<const Vocabulary>(std::move(vocabulary));
    std::vector<std::shared_ptr<const TokenText>> texts;
    for (RawText& text : raw) {
      TENON_ASSIGN(auto encoded, TokenText::Encode(text.path, text.bytes, parts_.vocabulary));
      texts.push_back(std::move(encoded));
      text.bytes = {};
    }
    if (tokens_.lines)
      TENON_TRY(MakeLines(texts));
    else
      TENON_TRY(MakeWindows(texts));
    return std::move(parts_);
  }

 private:
  using Texts = std::vector<std::shared_ptr<const TokenText>>;

  Status MakeWindows(const Texts& texts) {
    const std::int64_t all = texts[0]->size();
    const double part = config_.split.fraction > 0 ? config_.split.fraction : kUsualTestPart;
    const std::int64_t held_out = config_.test ? 0 : std::llround(static_cast<double>(all) * part);
    const std::int64_t length = tokens_.length;
    TENON_ASSIGN(parts_.train,
                 TextWindows::Create(texts[0], {0, all - held_out, length, tokens_.stride.value_or(length)}));
    const std::shared_ptr<const TokenText>& tested = texts.back();
    const std::int64_t first = config_.test ? 0 : all - held_out;
    TENON_ASSIGN(parts_.test, TextWindows::Create(tested, {first, tested->size(), length, length}));
    return {};
  }

  Status MakeLines(const Texts& texts) {
    const PadConfig pad = config_.pad.value_or(PadConfig{});
    const TextLines::Options options{tokens_.length, {pad.value, pad.label}};
    TENON_ASSIGN(parts_.train, TextLines::Create(texts[0], options));
    if (config_.test) {
      TENON_ASSIGN(parts_.test, TextLines::Create(texts[1], options));
    }
    return {};
  }

  const DataConfig& config_;
  const TokensConfig tokens_;
  TextParts parts_;
};

}  // namespace

Result<TextParts> OpenTexts(const DataConfig& config) { return TextOpener(config).Open(); }

}  // namespace tenon
