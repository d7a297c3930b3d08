#include "core/data/data_config.h"

#include "core/config/fields.h"

namespace tenon {

// The value of `split.test` is kept in the two members of SplitConfig, so the section is read by hand.
template <>
struct ConfigCodec<SplitConfig> {
  static ConfigType Type() {
    return {.kind = ConfigType::Kind::kStruct, .table = &ConfigTableOf(static_cast<const SplitConfig*>(nullptr))};
  }
  static void Read(const ConfigNode& node, const Bounds&, SplitConfig& out, ConfigReader& reader) {
    out = SplitConfig{};
    if (!ReadsAsNothing(node)) ReadFields(ConfigTableOf(&out), node, &out, reader);
  }
  static ConfigNode Write(const SplitConfig& value) {
    if (value.empty() && value.validation.empty()) return ConfigNode();
    return ConfigNode::Map(WriteFields(ConfigTableOf(&value), &value));
  }
};

// A scalar stands for a map with the unit alone.
template <>
struct ConfigCodec<TokensConfig> {
  static ConfigType Type() {
    return {.kind = ConfigType::Kind::kCustom,
            .table = &ConfigTableOf(static_cast<const TokensConfig*>(nullptr)),
            .spelling = "characters, bytes, or map"};
  }
  static void Read(const ConfigNode& node, const Bounds&, TokensConfig& out, ConfigReader& reader) {
    if (!node.is_scalar()) return ReadFields(ConfigTableOf(&out), node, &out, reader);
    out = TokensConfig{};
    ConfigCodec<TextUnit>::Read(node, {}, out.unit, reader);
  }
  static ConfigNode Write(const TokensConfig& value) {
    return ConfigNode::Map(WriteFields(ConfigTableOf(&value), &value));
  }
};

std::vector<std::string> ConfigNamesOf(TextUnit) { return {"characters", "bytes"}; }
std::vector<std::string> ConfigNamesOf(OnError) { return {"fail", "skip"}; }

std::int64_t LongestOf(const DataConfig& config) {
  if (!config.tokens || !config.tokens->lines) return 0;
  return config.buckets.empty() ? config.tokens->length : config.buckets.back();
}

namespace {

// `every_5` or `0.2`.
HeldOutConfig ReadHeldOut(const ConfigNode& node, ConfigReader& reader) {
  constexpr std::string_view kPrefix = "every_";
  if (node.is_scalar() && node.text().compare(0, kPrefix.size(), kPrefix) == 0) {
    std::string complaint;
    const auto count = ReadInteger(ConfigNode::Scalar(node.text().substr(kPrefix.size())), complaint);
    if (count && *count >= 2) return {*count, 0.0};
    reader.Complain(node, fmt::format("needs every_N with N of at least 2, but is {}.", node.Describe()));
    return {};
  }
  if (node.is_scalar() && node.style() != ScalarStyle::kQuoted && !IsNumberText(node.text())) {
    reader.Complain(node, fmt::format("needs every_N (every_5) or a fraction (0.2), but is {}.", node.Describe()));
    return {};
  }
  double fraction = 0;
  const std::size_t before = reader.problems().count();
  ConfigCodec<double>::Read(node, Above(0) & Below(1), fraction, reader);
  return reader.problems().count() == before ? HeldOutConfig{0, fraction} : HeldOutConfig{};
}

ConfigNode WriteHeldOut(const HeldOutConfig& part) {
  if (part.empty()) return ConfigNode();
  if (part.every > 0) return ConfigNode::Scalar(fmt::format("every_{}", part.every));
  return ConfigCodec<double>::Write(part.fraction);
}

ConfigField HeldOutField(std::string name, std::string sentence, HeldOutConfig (*get)(const SplitConfig&),
                         void (*set)(SplitConfig&, const HeldOutConfig&)) {
  ConfigField field;
  field.name = std::move(name);
  field.type = {.kind = ConfigType::Kind::kCustom, .spelling = "every_N or a fraction"};
  field.sentence = std::move(sentence);
  field.read = [set](const ConfigNode& node, void* object, ConfigReader& reader) {
    set(*static_cast<SplitConfig*>(object), ReadHeldOut(node, reader));
  };
  field.write = [get](const void* object) { return WriteHeldOut(get(*static_cast<const SplitConfig*>(object))); };
  return field;
}

ConfigField TestField() {
  return HeldOutField(
      "test", "every_5 holds out the rows 4, 9, 14 ... counted from 0; 0.2 a fifth of the samples, chosen by the seed",
      [](const SplitConfig& split) {
        return HeldOutConfig{split.every, split.fraction};
      },
      [](SplitConfig& split, const HeldOutConfig& part) {
        split.every = part.every;
        split.fraction = part.fraction;
      });
}

ConfigField ValidationField() {
  return HeldOutField(
      "validation", "part of what is left for training, held out in the same way; an early stop looks at it",
      [](const SplitConfig& split) { return split.validation; },
      [](SplitConfig& split, const HeldOutConfig& part) { split.validation = part; });
}

void CheckSplit(const ConfigNode& node, SplitConfig& split, ConfigReader& reader) {
  if (split.empty() && split.validation.empty()) reader.Complain(node, "needs 'test' or 'validation'.");
}

void CheckImage(const ConfigNode& node, ImageConfig& image, ConfigReader& reader) {
  if (image.scale == 0.0) reader.Complain(*node.Find("scale"), "must not be 0: every sample would be the same.");
}

// Checks of the keys of `data` against each other, one idea a function.
class DataRules {
 public:
  DataRules(const ConfigNode& node, const DataConfig& data, ConfigReader& reader)
      : node_(node), data_(data), reader_(reader) {}

  void Check() {
    if (data_.type == "synthetic") {
      Synthetic();
    } else {
      Need("path", !data_.path.empty(), "a place to read from");
    }
    if (data_.type.empty()) return;
    Labels();
    Tokens();
    Images();
    TestParts();
    TransformOrder();
    MixedLabels();
    BucketOrder();
  }

 private:
  // Complains about a key that is written, and has another value than when it is left out (`given`).
  void Refuse(const char* key, const char* why, bool given = true) {
    const ConfigEntry* entry = node_.FindEntry(key);
    if (entry && given)
      reader_.Fail(entry->key_place, "'{}' does not go with type {}: {}.", reader_.PathTo(key), data_.type, why);
  }
  void RefuseIn(const char* section, const char* key, const char* why, bool given) {
    const ConfigNode* map = node_.Find(section);
    const ConfigEntry* entry = map ? map->FindEntry(key) : nullptr;
    if (entry && given)
      reader_.Fail(entry->key_place, "'{}.{}' does not go with type {}: {}.", reader_.PathTo(section), key, data_.type,
                   why);
  }
  void Need(const char* key, bool present, const char* what) {
    if (!present && reader_.required_keys)
      reader_.Fail(node_.place(), "The key '{}' is missing: type {} needs {}.", reader_.PathTo(key), data_.type, what);
  }

  void Synthetic() {
    // A path may stay where --set data.type=synthetic tries a run without its data; the log says that nobody reads it.
    Need("samples", data_.samples.has_value(), "to know how many to make");
    if (data_.tokens) {
      Refuse("image", "it has 'tokens' already");
      Need("tokens.vocab", data_.tokens->vocab > 0, "a bound of the made-up tokens");
      const TokensConfig& tokens = *data_.tokens;
      RefuseIn("tokens", "unit", "only a text has it", tokens.unit != TextUnit::kCharacters);
      RefuseIn("tokens", "stride", "only a text has it", tokens.stride.has_value());
      RefuseIn("tokens", "vocabulary", "only a text has it", !tokens.vocabulary.empty());
      RefuseIn("tokens", "lines", "only a text has it", tokens.lines);
    } else {
      Need("image", data_.image.has_value() && !data_.image->shape.empty(),
           "the shape of a sample (image: {shape: [..]}), or 'tokens'");
      Need("classes", data_.classes.has_value(), "to know how many labels there are");
    }
    Refuse("test", "use 'split'");
  }

  void Labels() {
    if (data_.type == "npy") {
      Need("labels", !data_.labels.empty(), "a second file with the labels");
      if (data_.test && data_.test->labels.empty()) {
        reader_.Fail(node_.Find("test")->place(),
                     "The key '{}' is missing: type npy needs a second file with the labels.",
                     reader_.PathTo("test.labels"));
      }
      return;
    }
    Refuse("labels", "its labels come with the samples");
    if (data_.test && !data_.test->labels.empty()) {
      reader_.Fail(data_.test->labels.place, "'{}' does not go with type {}: its labels come with the samples.",
                   reader_.PathTo("test.labels"), data_.type);
    }
  }

  void Tokens() {
    if (data_.type != "text") {
      if (data_.type != "synthetic") Refuse("tokens", "only a text and made-up data have tokens");
      Refuse("buckets", "its samples are all of one size", !data_.buckets.empty());
      Refuse("pad", "its samples are all of one size", data_.pad.has_value());
      return;
    }
    Refuse("image", "a text has no pixels");
    Refuse("classes", "the vocabulary says how many there are");
    Refuse("transforms", "a token is used as it is", !data_.transforms.empty());
    RefuseIn("tokens", "vocab", "the vocabulary comes from the text", data_.tokens && data_.tokens->vocab > 0);
    const bool lines = data_.tokens && data_.tokens->lines;
    if (lines) {
      RefuseIn("tokens", "stride", "with 'lines' a sample is a line", data_.tokens->stride.has_value());
    } else {
      const ConfigEntry* entry = node_.FindEntry("buckets");
      if (entry && !data_.buckets.empty())
        reader_.Fail(entry->key_place, "'{}' needs samples of different length ('tokens.lines').",
                     reader_.PathTo("buckets"));
    }
    if (data_.split.every > 0 && !lines)
      reader_.Fail(
          node_.Find("split")->place(),
          "'{}' cannot be every_{} for a running text: it is cut once, at the end. Use a fraction, such as 0.1.",
          reader_.PathTo("split.test"), data_.split.every);
  }

  void Images() {
    const ImageConfig image = data_.image.value_or(ImageConfig{});
    if (data_.type == "images") {
      RefuseIn("image", "shape", "the size comes from each file", !image.shape.empty());
      RefuseIn("image", "pad", "use 'random_crop' with 'pad'", image.pad > 0);
      RefuseIn("image", "resize", "use the transform 'resize'", image.resize.has_value());
      return;
    }
    RefuseIn("image", "orientation", "only files of images have it", image.orientation);
    RefuseIn("image", "fast_shrink", "only files of images have it", !image.fast_shrink);
    Refuse("on_error", "it is read as a whole when the run starts", data_.on_error != OnError::kFail);
    Refuse("skip_limit", "it is read as a whole when the run starts", data_.skip_limit.has_value());
  }

  void TestParts() {
    if (data_.test && !data_.split.empty()) {
      reader_.Fail(node_.FindEntry("test")->key_place, "'{}' and '{}' both say what to test on. Keep one of the two.",
                   reader_.PathTo("test"), reader_.PathTo("split"));
    }
  }

  const Place& PlaceOfTransform(std::size_t index) const { return node_.Find("transforms")->items()[index].place(); }

  void TransformOrder() {
    int last = 0;
    const char* last_name = "";
    for (std::size_t i = 0; i < data_.transforms.size(); ++i) {
      const TransformConfig& transform = data_.transforms[i];
      const int place = PlaceInOrder(transform);
      if (place == 0) continue;
      if (place <= last) {
        reader_.Fail(
            PlaceOfTransform(i),
            "'{}.{}' is {} after {}; a sample goes once through: resize or random_resized_crop, center_crop or "
            "random_crop, random_flip, color_jitter, normalize.",
            reader_.PathTo("transforms"), i, NameOf(transform), last_name);
        return;
      }
      last = place;
      last_name = NameOf(transform);
    }
  }

  void MixedLabels() {
    bool one_hot = false;
    for (const TransformConfig& transform : data_.transforms)
      one_hot |= std::holds_alternative<OneHotConfig>(transform);
    for (std::size_t i = 0; i < data_.transforms.size(); ++i) {
      if (std::holds_alternative<MixupConfig>(data_.transforms[i]) && !one_hot)
        reader_.Fail(PlaceOfTransform(i), "'{}.{}' mixes label vectors; add 'one_hot', which makes them.",
                     reader_.PathTo("transforms"), i);
    }
  }

  void BucketOrder() {
    for (std::size_t i = 1; i < data_.buckets.size(); ++i) {
      if (data_.buckets[i] > data_.buckets[i - 1]) continue;
      reader_.Fail(node_.Find("buckets")->items()[i].place(), "'{}.{}' is {} after {}; the lengths must increase.",
                   reader_.PathTo("buckets"), i, data_.buckets[i], data_.buckets[i - 1]);
      return;
    }
  }

  const ConfigNode& node_;
  const DataConfig& data_;
  ConfigReader& reader_;
};

void CheckData(const ConfigNode& node, DataConfig& data, ConfigReader& reader) {
  DataRules(node, data, reader).Check();
}

}  // namespace

const ConfigTable& ConfigTableOf(const ImageConfig*) {
  using T = ImageConfig;
  static const ConfigTable table =
      Table<T>("How a stored sample becomes an image: scaled, then resized, then padded.",
               {
                   Field("shape", &T::shape, AtLeast(1) & Count(0, 3),
                         "channels, height, width of a stored sample; empty: as in the file"),
                   Field("scale", &T::scale, "each stored value is multiplied by it"),
                   Field("pad", &T::pad, Between(0, 4096), "zeros on each side"),
                   Field("resize", &T::resize, Between(1, 65536) & Count(2), "height, width"),
                   Field("orientation", &T::orientation, "images: turn a picture as the camera noted (EXIF)"),
                   Field("fast_shrink", &T::fast_shrink,
                         "images: decode a JPEG at 1/2, 1/4 or 1/8 when it is shrunk at least so much anyway"),
               },
               CheckImage);
  return table;
}

const ConfigTable& ConfigTableOf(const SplitConfig*) {
  static const ConfigTable table =
      Table<SplitConfig>("Which part of the source is held out.", {TestField(), ValidationField()}, CheckSplit);
  return table;
}

const ConfigTable& ConfigTableOf(const TestDataConfig*) {
  using T = TestDataConfig;
  static const ConfigTable table = Table<T>("An own source of test samples, read like the one around it.",
                                            {
                                                Field("path", &T::path, Required(), "file or folder, as `data.path`"),
                                                Field("labels", &T::labels, "npy: file of the labels"),
                                                Field("samples", &T::samples, AtLeast(1), "at most so many"),
                                            });
  return table;
}

const ConfigTable& ConfigTableOf(const TokensConfig*) {
  using T = TokensConfig;
  static const ConfigTable table =
      Table<T>("Sequences of token numbers. A scalar stands for {unit: ...}.",
               {
                   Field("vocab", &T::vocab, Between(0, std::int64_t{1} << 31),
                         "synthetic, required there: tokens are below it"),
                   Field("length", &T::length, Between(1, 1 << 20), "tokens a sample; with `lines` at most so many"),
                   Field("unit", &T::unit, "text: what a token is; characters are Unicode code points"),
                   Field("stride", &T::stride, AtLeast(1),
                         "text: tokens from the start of one training sample to the next; absent: `length`"),
                   Field("vocabulary", &T::vocabulary,
                         "text: a vocabulary.txt that another run wrote; absent: the characters of the text"),
                   Field("lines", &T::lines,
                         "text: each line is a sample; shorter ones are padded to the length of their batch"),
               });
  return table;
}

const ConfigTable& ConfigTableOf(const PadConfig*) {
  using T = PadConfig;
  static const ConfigTable table =
      Table<T>("What stands behind the end of a sample that is shorter than its batch.",
               {
                   Field("value", &T::value, AtLeast(0), "in place of tokens"),
                   Field("label", &T::label, "in place of labels; a loss that ignores it leaves these places out"),
               });
  return table;
}

const ConfigTable& ConfigTableOf(const DataConfig*) {
  using T = DataConfig;
  static const ConfigTable table = Table<T>(
      "What the run learns from.",
      {
          Field(
              "type", &T::type,
              OneOf({"idx", "cifar", "cifar10", "cifar100", "csv", "npy", "text", "images", "synthetic"}) & Required(),
              "kind of source"),
          Field("path", &T::path,
                "idx, cifar: folder of the usual files; csv, npy, text: the file; plain or .gz; images: a folder with "
                "one "
                "folder a class"),
          Field("labels", &T::labels, "npy: file of the labels"),
          Field("samples", &T::samples, AtLeast(1), "at most so many; synthetic: how many"),
          Field("classes", &T::classes, AtLeast(1),
                "labels are below it; absent: from the data; synthetic images need it"),
          Field("image", &T::image, "how a sample becomes an image; absent: samples stay as stored"),
          Field("tokens", &T::tokens,
                "text; synthetic in place of `image`. Each label is the next token; synthetic with `classes`: a class"),
          Field(
              "buckets", &T::buckets, Between(1, 1 << 20) & Count(0, 64),
              "lines: lengths that batches are padded to, each of lines that fit it; empty: each batch to its longest"),
          Field("pad", &T::pad, "lines: what stands behind the end of a short one"),
          Field("split", &T::split, "which parts to hold out for testing and validation"),
          Field("test", &T::test, "an own source of test samples, in place of `split`"),
          Field("batch", &T::batch, Between(1, 1 << 20), "samples a step, on each rank"),
          Field("drop_last", &T::drop_last, "leave out the last batch of an epoch when it is not full"),
          Field("shuffle", &T::shuffle, "a new order each epoch, which depends on seed and epoch alone"),
          Field("shard", &T::shard,
                "several ranks: exact gives each sample once, wrap repeats some so that all ranks have equally many"),
          Field("workers", &T::workers, Between(0, 256), "threads that prepare batches; 0: the training thread does"),
          Field("on_error", &T::on_error,
                "images: skip gives the place of a file that cannot be read to the next sample of its batch"),
          Field("skip_limit", &T::skip_limit, AtLeast(0), "images: more skipped in one epoch end the run; absent: 100"),
          Field("transforms", &T::transforms, OneKeyForm(), "applied to each sample in this order"),
      },
      CheckData);
  return table;
}

}  // namespace tenon
