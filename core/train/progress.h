#pragma once

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>

namespace tenon {

// Where a run is.
struct ProgressState {
  std::int64_t epoch = 0;   // from 1
  std::int64_t epochs = 0;  // 0: not known
  std::int64_t step = 0;    // in the epoch
  std::int64_t steps = 0;   // of the epoch; 0: not known
  double loss = 0;
  double lr = 0;
  double samples_per_s = 0;
};

// Shows a run to the person who started it: on a terminal one line that is drawn over, elsewhere plain lines, at most
// one every few seconds. One thread at a time; log messages of any thread go between the lines.
class Progress {
 public:
  // `terminal`: drawn over (nullopt: when `out` is a terminal). `out` may be null: shows nothing.
  explicit Progress(std::FILE* out, std::optional<bool> terminal = std::nullopt);
  ~Progress();  // leaves a clean line
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // True when Show would draw now; a loop can skip reading the loss otherwise. Cheap.
  bool Due() const;
  // Draws the state; without Due it does nothing.
  void Show(const ProgressState& state);
  // A line that stays, such as the result of an epoch.
  void Line(std::string_view text);

 private:
  void Erase();

  std::FILE* out_;
  bool terminal_;
  std::chrono::steady_clock::time_point last_;
  std::string line_;
};

// "epoch 3/20 [=====>    ] 12/40  loss 0.3120  lr 0.02  12.3k samples/s"; without the bar when `width` is 0.
std::string FormatProgress(const ProgressState& state, int width);
// "950", "12.3k", "4.56M"
std::string FormatRate(double per_second);

}  // namespace tenon
