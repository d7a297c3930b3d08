#pragma once

namespace tenon {

// Catches SIGINT and SIGTERM while it lives: the first is remembered, the second ends the process at once with 128 + n.
// One at a time; main thread.
class StopSignal {
 public:
  StopSignal();
  ~StopSignal();  // the former handlers are back
  StopSignal(const StopSignal&) = delete;
  StopSignal& operator=(const StopSignal&) = delete;
  int received() const;  // number of the signal; 0: none
};

}  // namespace tenon
