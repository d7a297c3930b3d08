#include "core/train/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>

#include "core/base/log.h"

namespace tenon {
namespace {

constexpr std::chrono::milliseconds kTerminalPause{100};
constexpr std::chrono::milliseconds kPlainPause{5000};
constexpr int kBarWidth = 24;
constexpr std::string_view kEraseLine = "\r\x1b[K";

// The stream with an unfinished line on it. A log message erases the line first; the next Show draws it again.
std::atomic<std::FILE*> unfinished{nullptr};

void EraseBeforeLogLine() {
  std::FILE* out = unfinished.exchange(nullptr);
  if (out == nullptr) return;
  std::fwrite(kEraseLine.data(), 1, kEraseLine.size(), out);
  std::fflush(out);
}

std::string OfTotal(std::int64_t value, std::int64_t total) {
  return total > 0 ? fmt::format("{}/{}", value, total) : fmt::format("{}", value);
}

}  // namespace

std::string FormatRate(double per_second) {
  if (per_second >= 1e6) return fmt::format("{:.2f}M", per_second / 1e6);
  if (per_second >= 1e4) return fmt::format("{:.1f}k", per_second / 1e3);
  return fmt::format("{:.0f}", per_second);
}

std::string FormatProgress(const ProgressState& state, int width) {
  std::string line = "epoch " + OfTotal(state.epoch, state.epochs);
  if (width > 0 && state.steps > 0) {
    const int filled = static_cast<int>(std::clamp<std::int64_t>(state.step * width / state.steps, 0, width));
    line += fmt::format(" [{}{}]", std::string(static_cast<std::size_t>(filled), '='),
                        std::string(static_cast<std::size_t>(width - filled), ' '));
  }
  line += fmt::format(" {}{}  loss {:.4f}  lr {:.4g}", width > 0 ? "" : "step ", OfTotal(state.step, state.steps),
                      state.loss, state.lr);
  if (state.samples_per_s > 0) line += fmt::format("  {} samples/s", FormatRate(state.samples_per_s));
  return line;
}

Progress::Progress(std::FILE* out, std::optional<bool> terminal)
    : out_(out),
      terminal_(terminal.value_or(out != nullptr && isatty(fileno(out)) == 1)),
      last_(std::chrono::steady_clock::now()) {
  if (terminal_ && out_ != nullptr) SetBeforeScreenLine(EraseBeforeLogLine);
}

Progress::~Progress() {
  Erase();
  if (terminal_ && out_ != nullptr) SetBeforeScreenLine(nullptr);
}

bool Progress::Due() const {
  return out_ != nullptr && std::chrono::steady_clock::now() - last_ >= (terminal_ ? kTerminalPause : kPlainPause);
}

void Progress::Show(const ProgressState& state) {
  if (!Due()) return;
  last_ = std::chrono::steady_clock::now();
  line_ = terminal_ ? std::string(kEraseLine) + FormatProgress(state, kBarWidth) : FormatProgress(state, 0) + "\n";
  std::fwrite(line_.data(), 1, line_.size(), out_);
  std::fflush(out_);
  if (terminal_) unfinished.store(out_);
}

void Progress::Line(std::string_view text) {
  if (out_ == nullptr) return;
  Erase();
  line_.assign(text);
  line_.push_back('\n');
  std::fwrite(line_.data(), 1, line_.size(), out_);
  std::fflush(out_);
}

void Progress::Erase() {
  if (terminal_) EraseBeforeLogLine();
}

}  // namespace tenon
