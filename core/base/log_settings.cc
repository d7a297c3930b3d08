#include "core/base/log_settings.h"

#include <array>
#include <cctype>
#include <charconv>
#include <utility>

#include "core/base/text.h"

namespace tenon {
namespace {

constexpr std::array<const char*, 5> kLevelNames = {"debug", "info", "warning", "error", "critical"};

// Name as users of MS_SUBMODULE_LOG_v know it, and the component here that it speaks about; empty: there is none here.
struct Module {
  const char* name;
  const char* component;
};
constexpr Module kModules[] = {
    {"UNKNOWN", ""},
    {"CORE", "base"},
    {"ANALYZER", "graph"},
    {"COMMON", "base"},
    {"DEBUG", "debug"},
    {"OFFLINE_DEBUG", "debug"},
    {"DEVICE", "device"},
    {"IR", "graph"},
    {"KERNEL", "ops"},
    {"MD", "data"},
    {"ME", "train"},
    {"EXPRESS", ""},
    {"OPTIMIZER", "passes"},
    {"PARALLEL", "comm"},
    {"PARSER", "config"},
    {"PIPELINE", "passes"},
    {"PRE_ACT", "passes"},
    {"PYNATIVE", "exec"},
    {"SESSION", "exec"},
    {"UTILS", "base"},
    {"VM", "exec"},
    {"PROFILER", "profile"},
    {"PS", ""},
    {"PI", ""},
    {"FL", ""},
    {"DISTRIBUTED", "comm"},
    {"LITE", "convert"},
    {"ARMOUR", ""},
    {"RUNTIME_FRAMEWORK", "exec"},
    {"GE", ""},
    {"API", "api"},
    {"SYMBOLIC_SHAPE", "passes"},
    {"GRAPH_KERNEL", "passes"},
    {"LLM_BOOST", ""},
    {"TRACE", "profile"},
    {"INTERNAL_KERNEL", "ops"},
    {"EXTENSION", "plugin"},
    {"BASE", "base"},
    {"PLATFORM", "platform"},
    {"CONFIG", "config"},
    {"TENSOR", "tensor"},
    {"PLUGIN", "plugin"},
    {"COMM", "comm"},
    {"OPS", "ops"},
    {"GRAPH", "graph"},
    {"PASSES", "passes"},
    {"EXEC", "exec"},
    {"DATA", "data"},
    {"TRAIN", "train"},
    {"PROFILE", "profile"},
    {"CONVERT", "convert"},
    {"LAUNCH", "launch"},
    {"TOOLS", "tools"},
};

// Component of a module name; nullopt when the name is not known. Names that end in _ADPT are the adapters to device
// libraries, which are plugins here.
std::optional<std::string> ComponentOf(std::string_view name) {
  for (const Module& module : kModules) {
    if (name == module.name) return std::string(module.component);
  }
  if (name.ends_with("_ADPT")) return std::string("plugin");
  return std::nullopt;
}

std::optional<std::int64_t> ParseCount(std::string_view text, int base = 10) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc() || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return value;
}

// Reads the integer variable `name` into `target` when it is set.
template <class T>
Status ReadInteger(const EnvLookup& lookup, const char* name, std::int64_t low, std::int64_t high,
                   std::string_view meaning, T* target) {
  const std::optional<std::string> text = lookup(name);
  if (!text) return {};
  const std::optional<std::int64_t> value = ParseCount(Trim(*text));
  if (!value || *value < low || *value > high) {
    return InvalidArgument("The environment variable {} is '{}'. It takes {} ({} to {}).", name, *text, meaning, low,
                           high);
  }
  *target = static_cast<T>(*value);
  return {};
}

Status ReadMode(const EnvLookup& lookup, unsigned* mode) {
  const std::optional<std::string> text = lookup("GLOG_logfile_mode");
  if (!text) return {};
  const std::optional<std::int64_t> value = ParseCount(Trim(*text), 8);
  if (!value || *value < 0 || *value > 0777) {
    return InvalidArgument(
        "The environment variable GLOG_logfile_mode is '{}'. It takes file permissions as an octal "
        "number (0 to 0777).",
        *text);
  }
  *mode = static_cast<unsigned>(*value);
  return {};
}

// Rank in the path of log files: the first of these variables that is set.
Result<std::string> RankFolder(const EnvLookup& lookup) {
  for (const char* name : {"RANK_ID", "OMPI_COMM_WORLD_RANK", "MS_NODE_ID"}) {
    const std::optional<std::string> text = lookup(name);
    if (!text) continue;
    std::int64_t rank = 0;
    TENON_TRY(ReadInteger(lookup, name, 0, 1 << 24, "the rank of this process", &rank));
    return "rank_" + std::to_string(rank);
  }
  return std::string("rank_0");
}

// Tokens of `{NAME:DIGIT,...}`.
class PairReader {
 public:
  explicit PairReader(std::string_view text) : text_(text) {}

  bool Take(char expected) {
    SkipBlanks();
    if (at_ < text_.size() && text_[at_] == expected) {
      ++at_;
      return true;
    }
    return Fail(fmt::format("'{}'", expected));
  }
  bool Peek(char c) {
    SkipBlanks();
    return at_ < text_.size() && text_[at_] == c;
  }
  bool Name(std::string* name) {
    SkipBlanks();
    const std::size_t start = at_;
    if (at_ >= text_.size() || !std::isalpha(static_cast<unsigned char>(text_[at_]))) return Fail("a module name");
    while (at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) || text_[at_] == '_')) ++at_;
    *name = text_.substr(start, at_ - start);
    return true;
  }
  bool Digits(std::string* digits) {
    SkipBlanks();
    const std::size_t start = at_;
    while (at_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[at_]))) ++at_;
    if (at_ == start) return Fail("a level");
    *digits = text_.substr(start, at_ - start);
    return true;
  }
  bool End() {
    SkipBlanks();
    return at_ == text_.size() || Fail("the end");
  }
  const std::string& error() const { return error_; }

 private:
  void SkipBlanks() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t')) ++at_;
  }
  bool Fail(const std::string& expected) {
    const std::string found = at_ < text_.size() ? fmt::format("'{}'", text_[at_]) : "the end";
    error_ = fmt::format("expected {} at character {}, found {}", expected, at_ + 1, found);
    return false;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::string error_;
};

bool ReadPairs(PairReader* reader, std::vector<std::pair<std::string, std::string>>* pairs) {
  if (!reader->Take('{')) return false;
  while (true) {
    std::string name, digits;
    if (!reader->Name(&name) || !reader->Take(':') || !reader->Digits(&digits)) return false;
    pairs->emplace_back(std::move(name), std::move(digits));
    if (reader->Peek('}')) break;
    if (!reader->Take(',')) return false;
  }
  return reader->Take('}') && reader->End();
}

}  // namespace

Result<LogLevel> ParseLogLevel(std::string_view text) {
  for (std::size_t i = 0; i < kLevelNames.size(); ++i) {
    if (text == kLevelNames[i]) return static_cast<LogLevel>(i);
  }
  return InvalidArgument("'{}' is not a log level. The levels are debug, info, warning, error and critical.", text);
}

void ReadComponentLevels(std::string_view text, LogSettings* settings) {
  PairReader reader(text);
  std::vector<std::pair<std::string, std::string>> pairs;
  if (!ReadPairs(&reader, &pairs)) {
    settings->warnings.push_back(fmt::format(
        "MS_SUBMODULE_LOG_v is ignored: {} in '{}'. Its form is {{MODULE:LEVEL,MODULE:LEVEL}}.", reader.error(), text));
    return;
  }
  for (const auto& pair : pairs) {
    const std::optional<std::string> component = ComponentOf(pair.first);
    if (!component) {
      settings->warnings.push_back(fmt::format("Undefined module name {}, ignore it", pair.first));
    } else if (pair.second.size() != 1 || pair.second[0] > '4') {
      settings->warnings.push_back(
          fmt::format("Illegal log level value {} for {}, ignore it.", pair.second, pair.first));
    } else if (!component->empty()) {
      settings->component_levels[*component] = static_cast<LogLevel>(pair.second[0] - '0');
    }
  }
}

Result<LogSettings> ReadLogSettings(const LogOptions& options, const EnvLookup& lookup) {
  LogSettings settings;
  settings.level = options.level;
  settings.file = options.file;
  constexpr std::string_view kLevels = "0 debug, 1 info, 2 warning, 3 error or 4 critical";
  TENON_TRY(ReadInteger(lookup, "GLOG_v", 0, 4, kLevels, &settings.level));
  settings.file_level = std::min(options.file_level, settings.level);

  int to_screen = 1;
  TENON_TRY(ReadInteger(lookup, "GLOG_logtostderr", 0, 1, "1 for the screen or 0 for files", &to_screen));
  settings.to_screen = to_screen == 1;
  TENON_TRY(ReadInteger(lookup, "GLOG_stderrthreshold", 0, 4, kLevels, &settings.screen_threshold));
  std::int64_t megabytes = 0;
  TENON_TRY(ReadInteger(lookup, "logger_maxBytes", 1, std::int64_t{1} << 40, "a number of bytes", &settings.max_bytes));
  TENON_TRY(ReadInteger(lookup, "GLOG_max_log_size", 1, 1 << 20, "a number of megabytes", &megabytes));
  if (megabytes > 0) settings.max_bytes = megabytes << 20;
  TENON_TRY(ReadInteger(lookup, "logger_backupCount", 0, 100000, "a number of files", &settings.backups));
  TENON_TRY(ReadMode(lookup, &settings.mode));

  if (!settings.to_screen) {
    const std::optional<std::string> folder = lookup("GLOG_log_dir");
    if (!folder || folder->empty()) {
      return InvalidArgument(
          "GLOG_logtostderr=0 sends the log to files, but GLOG_log_dir, the folder for them, is not "
          "set. Set it, or leave GLOG_logtostderr at 1.");
    }
    TENON_ASSIGN(const std::string rank, RankFolder(lookup));
    settings.folder = *folder + "/" + rank + "/logs";
  }
  const std::optional<std::string> modules = lookup("MS_SUBMODULE_LOG_v");
  if (modules && !Trim(*modules).empty()) ReadComponentLevels(*modules, &settings);
  return settings;
}

}  // namespace tenon
