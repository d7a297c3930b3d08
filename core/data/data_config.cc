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

void CheckNormalize(const ConfigNode& node, NormalizeConfig& normalize, ConfigReader& reader) {
  const std::size_t means = normalize.mean.size();
  const std::size_t stds = normalize.std.size();
  if (means != stds && means != 1 && stds != 1) {
    reader.Complain(
        node, fmt::format("has {} values in 'mean' and {} in 'std'. Give one a channel, or one for all.", means, stds));
  }
}

void CheckImage(const ConfigNode& node, ImageConfig& image, ConfigReader& reader) {
  if (image.scale == 0.0) reader.Complain(*node.Find("scale"), "must not be 0: every sample would be the same.");
}

// Keys that make no sense with the type of the source, and keys that it needs.
void CheckData(const ConfigNode& node, DataConfig& data, ConfigReader& reader) {
  const bool synthetic = data.type == "synthetic";
  const auto refuse = [&](const char* key, const char* why) {
    if (const ConfigEntry* entry = node.FindEntry(key)) {
      reader.Fail(entry->key_place, "'{}' does not go with type {}: {}.", reader.PathTo(key), data.type, why);
    }
  };
  const auto need = [&](const char* key, bool present, const char* what) {
    if (!present && reader.required_keys)
      reader.Fail(node.place(), "The key '{}' is missing: type {} needs {}.", reader.PathTo(key), data.type, what);
  };
  if (synthetic) {
    refuse("path", "it reads no files");
    need("samples", data.samples.has_value(), "to know how many to make");
    if (data.tokens) {
      refuse("image", "it has 'tokens' already");
    } else {
      need("image", data.image.has_value() && !data.image->shape.empty(),
           "the shape of a sample (image: {shape: [..]}), or 'tokens'");
      need("classes", data.classes.has_value(), "to know how many labels there are");
    }
    refuse("test", "use 'split'");
  } else {
    refuse("tokens", "they are made up, by type synthetic");
    need("path", !data.path.empty(), "a place to read from");
  }
  if (data.type.empty()) return;
  if (data.type == "npy") {
    need("labels", !data.labels.empty(), "a second file with the labels");
    if (data.test && data.test->labels.empty()) {
      reader.Fail(node.Find("test")->place(), "The key '{}' is missing: type npy needs a second file with the labels.",
                  reader.PathTo("test.labels"));
    }
  } else {
    refuse("labels", "its labels come with the samples");
    if (data.test && !data.test->labels.empty()) {
      reader.Fail(data.test->labels.place, "'{}' does not go with type {}: its labels come with the samples.",
                  reader.PathTo("test.labels"), data.type);
    }
  }
  if (data.test && !data.split.empty()) {
    reader.Fail(node.FindEntry("test")->key_place, "'{}' and '{}' both say what to test on. Keep one of the two.",
                reader.PathTo("test"), reader.PathTo("split"));
  }
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

const ConfigTable& ConfigTableOf(const NormalizeConfig*) {
  using T = NormalizeConfig;
  static const ConfigTable table = Table<T>("(value - mean) / std, a number a channel or one for all.",
                                            {
                                                Field("mean", &T::mean, Count(1, 65536), "subtracted"),
                                                Field("std", &T::std, Above(0) & Count(1, 65536), "divided by"),
                                            },
                                            CheckNormalize);
  return table;
}

const ConfigTable& ConfigTableOf(const OneHotConfig*) {
  static const ConfigTable table = Table<OneHotConfig>("A label becomes a vector with 1 at its place.", {});
  return table;
}

const ConfigTable& ConfigTableOf(const TokensConfig*) {
  using T = TokensConfig;
  static const ConfigTable table =
      Table<T>("Made-up sequences of token numbers.",
               {
                   Field("vocab", &T::vocab, Between(1, std::int64_t{1} << 31) & Required(), "tokens are below it"),
                   Field("length", &T::length, Between(1, 1 << 20) & Required(), "tokens a sample"),
               });
  return table;
}

const ConfigTable& ConfigTableOf(const DataConfig*) {
  using T = DataConfig;
  static const ConfigTable table = Table<T>(
      "What the run learns from.",
      {
          Field("type", &T::type, OneOf({"idx", "csv", "npy", "synthetic"}) & Required(), "kind of source"),
          Field(
              "path", &T::path,
              "idx: folder of the usual files; csv, npy: the file; plain or .gz; csv has the label in its last column"),
          Field("labels", &T::labels, "npy: file of the labels"),
          Field("samples", &T::samples, AtLeast(1), "at most so many; synthetic: how many"),
          Field("classes", &T::classes, AtLeast(1),
                "labels are below it; absent: from the data; synthetic images need it"),
          Field("image", &T::image, "how a sample becomes an image; absent: samples stay as stored"),
          Field("tokens", &T::tokens, "synthetic, in place of `image`; without `classes` each label is the next token"),
          Field("split", &T::split, "which parts to hold out for testing and validation"),
          Field("test", &T::test, "an own source of test samples, in place of `split`"),
          Field("batch", &T::batch, Between(1, 1 << 20), "samples a step"),
          Field("drop_last", &T::drop_last, "leave out the last batch of an epoch when it is not full"),
          Field("shuffle", &T::shuffle, "a new order each epoch, which depends on seed and epoch alone"),
          Field("workers", &T::workers, Between(0, 256), "threads that prepare batches; 0: the training thread does"),
          Field("transforms", &T::transforms, OneKeyForm(), "applied to each sample in this order"),
      },
      CheckData);
  return table;
}

}  // namespace tenon
