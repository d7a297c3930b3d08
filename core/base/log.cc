// The process-wide logger: what goes where is decided here, formatting of lines and writing is done by spdlog sinks.
#include "core/base/log.h"

#include <pwd.h>
#include <spdlog/details/file_helper.h>
#include <spdlog/details/log_msg.h>
#include <spdlog/details/os.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <mutex>
#include <vector>

#include "core/base/env.h"
#include "core/base/host_name.h"
#include "core/base/log_settings.h"

namespace tenon {
namespace {

constexpr std::array<const char*, 5> kUpperNames = {"DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"};
constexpr std::array<spdlog::level::level_enum, 5> kSpdlogLevels = {
    spdlog::level::debug, spdlog::level::info, spdlog::level::warn, spdlog::level::err, spdlog::level::critical};

std::size_t IndexOf(LogLevel level) { return static_cast<std::size_t>(level); }

std::size_t IndexOf(spdlog::level::level_enum level) {
  return level <= spdlog::level::debug ? 0 : static_cast<std::size_t>(level) - 1;
}

void Append(spdlog::memory_buf_t* out, std::string_view text) { out->append(text.data(), text.data() + text.size()); }

std::atomic<void (*)()> before_screen_line{nullptr};

// Short lines for people: "warning: text", plain text at level info.
class ScreenFormatter final : public spdlog::formatter {
 public:
  void format(const spdlog::details::log_msg& message, spdlog::memory_buf_t& out) override {
    if (message.level == spdlog::level::debug) {
      fmt::format_to(std::back_inserter(out),
                     "debug: {}: ", std::string_view(message.logger_name.data(), message.logger_name.size()));
    } else if (message.level == spdlog::level::warn) {
      Append(&out, "warning: ");
    } else if (message.level == spdlog::level::err) {
      Append(&out, "error: ");
    } else if (message.level == spdlog::level::critical) {
      Append(&out, "critical: ");
    }
    Append(&out, std::string_view(message.payload.data(), message.payload.size()));
    Append(&out, "\n");
  }
  std::unique_ptr<spdlog::formatter> clone() const override { return std::make_unique<ScreenFormatter>(); }
};

// "core/plugin/loader.cc" of an absolute path of the build machine.
std::string_view PathInRepository(std::string_view path) {
  for (const std::string_view folder : {"/core/", "/tools/", "/plugins/", "/tests/"}) {
    const std::size_t at = path.rfind(folder);
    if (at != std::string_view::npos) return path.substr(at + 1);
  }
  return path.substr(path.rfind('/') + 1);
}

// [LEVEL] COMPONENT(pid,thread,process):YYYY-MM-DD-HH:MM:SS.mmm.uuu [file:line] function] text
class FileFormatter final : public spdlog::formatter {
 public:
  void format(const spdlog::details::log_msg& message, spdlog::memory_buf_t& out) override {
    using std::chrono::duration_cast;
    const auto since_epoch = message.time.time_since_epoch();
    const auto micros = duration_cast<std::chrono::microseconds>(since_epoch).count() % 1000000;
    const std::time_t seconds = static_cast<std::time_t>(duration_cast<std::chrono::seconds>(since_epoch).count());
    const std::tm time = spdlog::details::os::localtime(seconds);
    std::string component(message.logger_name.data(), message.logger_name.size());
    for (char& c : component) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    const std::string_view file =
        message.source.filename != nullptr ? PathInRepository(message.source.filename) : std::string_view("-");
    fmt::format_to(std::back_inserter(out),
                   "[{}] {}({},{:x},{}):{:04}-{:02}-{:02}-{:02}:{:02}:{:02}.{:03}.{:03} [{}:{}] {}] ",
                   kUpperNames[IndexOf(message.level)], component, spdlog::details::os::pid(), message.thread_id,
                   program_invocation_short_name, time.tm_year + 1900, time.tm_mon + 1, time.tm_mday, time.tm_hour,
                   time.tm_min, time.tm_sec, micros / 1000, micros % 1000, file, message.source.line,
                   message.source.funcname != nullptr ? message.source.funcname : "-");
    Append(&out, std::string_view(message.payload.data(), message.payload.size()));
    Append(&out, "\n");
  }
  std::unique_ptr<spdlog::formatter> clone() const override { return std::make_unique<FileFormatter>(); }
};

std::string UserName() {
  if (const auto name = GetEnv("USER"); name && !name->empty()) return *name;
  const passwd* entry = getpwuid(geteuid());
  return entry != nullptr ? entry->pw_name : std::to_string(geteuid());
}

// One file for each level, each with the messages of that level and above; a link tenon.<LEVEL> points to the newest.
// A file that would grow beyond the limit becomes <name>.1, older ones .2 and so on. The file is created by its first
// message.
class LevelFileSink final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  LevelFileSink(const LogSettings& settings, LogLevel level)
      : settings_(settings), level_name_(kUpperNames[IndexOf(level)]) {
    const std::tm now = spdlog::details::os::localtime();
    name_ = fmt::format("tenon.{}.{}.log.{}.{:04}{:02}{:02}-{:02}{:02}{:02}.{}", HostName(), UserName(), level_name_,
                        now.tm_year + 1900, now.tm_mon + 1, now.tm_mday, now.tm_hour, now.tm_min, now.tm_sec,
                        spdlog::details::os::pid());
    path_ = settings.folder + "/" + name_;
  }
  ~LevelFileSink() override {
    file_.close();
    if (opened_) Restrict(path_, settings_.mode & 0444);
  }

 private:
  void sink_it_(const spdlog::details::log_msg& message) override {
    spdlog::memory_buf_t line;
    formatter_->format(message, line);
    const std::int64_t bytes = static_cast<std::int64_t>(line.size());
    if (opened_ && size_ > 0 && size_ + bytes > settings_.max_bytes) Rotate();
    if (!opened_) Open();
    file_.write(line);
    size_ += bytes;
  }
  void flush_() override {
    if (opened_) file_.flush();
  }

  static void Restrict(const std::string& path, unsigned mode) { static_cast<void>(chmod(path.c_str(), mode)); }

  void Open() {
    file_.open(path_, false);
    size_ = static_cast<std::int64_t>(file_.size());
    opened_ = true;
    Restrict(path_, settings_.mode);
    const std::string link = settings_.folder + "/tenon." + level_name_;
    std::error_code ignored;
    std::filesystem::remove(link, ignored);
    std::filesystem::create_symlink(name_, link, ignored);
  }

  void Rotate() {
    file_.close();
    opened_ = false;
    std::error_code ignored;
    std::filesystem::remove(Backup(settings_.backups), ignored);
    for (int i = settings_.backups; i > 1; --i) std::filesystem::rename(Backup(i - 1), Backup(i), ignored);
    if (settings_.backups > 0) {
      std::filesystem::rename(path_, Backup(1), ignored);
      Restrict(Backup(1), settings_.mode & 0444);
    } else {
      std::filesystem::remove(path_, ignored);
    }
  }
  std::string Backup(int number) const { return path_ + "." + std::to_string(number); }

  const LogSettings settings_;
  const std::string level_name_;
  std::string name_;
  std::string path_;
  spdlog::details::file_helper file_;
  std::int64_t size_ = 0;
  bool opened_ = false;
};

// A message already written whose repetitions are counted.
struct Recent {
  LogLevel level;
  std::string component;
  std::string text;
  LogPlace place;
  std::int64_t repeats = 0;
};
constexpr std::size_t kRecentMessages = 32;

// Everything behind Log. Replaced as a whole by ConfigureLog.
class Logger {
 public:
  explicit Logger(LogSettings settings) : settings_(std::move(settings)) {
    screen_ = std::make_shared<spdlog::sinks::stderr_sink_mt>();
    screen_->set_formatter(std::make_unique<ScreenFormatter>());
  }

  // Opens files. The error names the file or folder.
  Status Open() {
    try {
      if (!settings_.file.empty()) {
        file_ = std::make_shared<spdlog::sinks::basic_file_sink_mt>(settings_.file, false);
        file_->set_formatter(std::make_unique<FileFormatter>());
      }
      if (!settings_.to_screen) TENON_TRY(OpenFolder());
    } catch (const spdlog::spdlog_ex& error) {
      return Error(Code::kPermissionDenied, "The log file '{}' cannot be opened: {}.", settings_.file, error.what());
    }
    return {};
  }

  LogLevel LevelOf(std::string_view component) const {
    if (settings_.component_levels.empty()) return settings_.level;
    const auto found = settings_.component_levels.find(component);
    return found != settings_.component_levels.end() ? found->second : settings_.level;
  }

  bool Enabled(LogLevel level, std::string_view component) const {
    return level >= LevelOf(component) || (file_ != nullptr && level >= settings_.file_level);
  }

  void Log(LogLevel level, std::string_view component, std::string_view text, const LogPlace& place) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (Count(level, component, text)) return;
    if (!recent_.empty() && recent_.back().level < LogLevel::kWarning) {
      Report(&recent_.back());
      recent_.pop_back();
    }
    if (recent_.size() == kRecentMessages) {
      Report(&recent_.front());
      recent_.pop_front();
    }
    recent_.push_back({level, std::string(component), std::string(text), place});
    Write(level, component, text, place);
  }

  void Flush() {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (Recent& message : recent_) Report(&message);
    ForEachFile([](spdlog::sinks::sink* sink) { sink->flush(); });
  }

 private:
  Status OpenFolder() {
    std::error_code error;
    std::filesystem::create_directories(settings_.folder, error);
    if (error || access(settings_.folder.c_str(), W_OK) != 0) {
      return Error(Code::kPermissionDenied, "The log folder '{}' cannot be used: {}.", settings_.folder,
                   error ? error.message() : std::generic_category().message(errno));
    }
    for (std::size_t i = std::min(IndexOf(settings_.level), IndexOf(LogLevel::kInfo)); i < level_files_.size(); ++i) {
      level_files_[i] = std::make_shared<LevelFileSink>(settings_, static_cast<LogLevel>(i));
      level_files_[i]->set_formatter(std::make_unique<FileFormatter>());
    }
    return {};
  }

  // True when the message is a repetition, which is counted.
  bool Count(LogLevel level, std::string_view component, std::string_view text) {
    for (Recent& message : recent_) {
      if (message.level == level && message.component == component && message.text == text) {
        ++message.repeats;
        return true;
      }
    }
    return false;
  }

  void Report(Recent* message) {
    if (message->repeats == 0) return;
    const std::string text =
        fmt::format("{} (repeated {} time{})", message->text, message->repeats, message->repeats == 1 ? "" : "s");
    message->repeats = 0;
    Write(message->level, message->component, text, message->place);
  }

  void Write(LogLevel level, std::string_view component, std::string_view text, const LogPlace& place) {
    const spdlog::details::log_msg message(
        spdlog::details::os::now(), spdlog::source_loc(place.file, place.line, place.function),
        spdlog::string_view_t(component.data(), component.size()), kSpdlogLevels[IndexOf(level)],
        spdlog::string_view_t(text.data(), text.size()));
    const bool wanted = level >= LevelOf(component);
    if (wanted && (settings_.to_screen || level >= settings_.screen_threshold)) {
      if (void (*hook)() = before_screen_line.load(); hook != nullptr) hook();
      Send(screen_.get(), message);
    }
    if (file_ != nullptr && (wanted || level >= settings_.file_level)) Send(file_.get(), message);
    if (wanted && !settings_.to_screen) {
      for (std::size_t i = 0; i <= IndexOf(level); ++i) {
        if (level_files_[i] != nullptr) Send(level_files_[i].get(), message);
      }
    }
  }

  // Writes to one sink; a log that cannot be written is no reason to end a run, but is said once.
  void Send(spdlog::sinks::sink* sink, const spdlog::details::log_msg& message) {
    try {
      sink->log(message);
      if (message.level >= spdlog::level::info) sink->flush();
    } catch (const std::exception& error) {
      if (!failed_) std::fprintf(stderr, "warning: The log cannot be written: %s.\n", error.what());
      failed_ = true;
    }
  }

  template <class Fn>
  void ForEachFile(Fn fn) {
    try {
      if (file_ != nullptr) fn(file_.get());
      for (const auto& file : level_files_) {
        if (file != nullptr) fn(file.get());
      }
    } catch (const std::exception&) {
      failed_ = true;
    }
  }

  const LogSettings settings_;
  std::shared_ptr<spdlog::sinks::sink> screen_;
  std::shared_ptr<spdlog::sinks::sink> file_;
  std::array<std::shared_ptr<spdlog::sinks::sink>, 5> level_files_;
  std::mutex mutex_;
  std::deque<Recent> recent_;
  bool failed_ = false;
};

std::atomic<Logger*> current_logger{nullptr};
std::mutex configure_mutex;

// The logger in use. Before ConfigureLog: warnings and errors to the screen.
Logger* Current() {
  Logger* logger = current_logger.load(std::memory_order_acquire);
  if (logger != nullptr) return logger;
  const std::lock_guard<std::mutex> lock(configure_mutex);
  logger = current_logger.load(std::memory_order_acquire);
  if (logger == nullptr) {
    logger = new Logger(LogSettings{});
    current_logger.store(logger, std::memory_order_release);
  }
  return logger;
}

// Loggers that were in use. They stay alive, since another thread may be inside one, until the program ends.
std::vector<std::unique_ptr<Logger>>& FormerLoggers() {
  static auto* loggers = new std::vector<std::unique_ptr<Logger>>();
  return *loggers;
}

void EndLog() {
  FlushLog();
  const std::lock_guard<std::mutex> lock(configure_mutex);
  FormerLoggers().clear();
}

}  // namespace

Status ConfigureLog(const LogOptions& options) {
  TENON_ASSIGN(LogSettings settings, ReadLogSettings(options, [](const char* name) { return GetEnv(name); }));
  const std::vector<std::string> warnings = settings.warnings;
  auto logger = std::make_unique<Logger>(std::move(settings));
  TENON_TRY(logger->Open());
  static std::once_flag at_exit;
  std::call_once(at_exit, [] { std::atexit(EndLog); });
  if (current_logger.load() != nullptr) FlushLog();
  {
    const std::lock_guard<std::mutex> lock(configure_mutex);
    Logger* former = current_logger.exchange(logger.release(), std::memory_order_acq_rel);
    if (former != nullptr) FormerLoggers().emplace_back(former);
  }
  for (const std::string& warning : warnings) Log(LogLevel::kWarning, "base", warning);
  return {};
}

bool LogEnabled(LogLevel level, std::string_view component) { return Current()->Enabled(level, component); }

void Log(LogLevel level, std::string_view component, std::string_view text, const LogPlace& place) {
  Logger* logger = Current();
  if (logger->Enabled(level, component)) logger->Log(level, component, text, place);
}

void SetBeforeScreenLine(void (*hook)()) { before_screen_line.store(hook); }

void FlushLog() { Current()->Flush(); }

}  // namespace tenon
