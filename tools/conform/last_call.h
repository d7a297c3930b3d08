// What a case is doing, written where the process that started it can read it after any end of the case: a signal, an
// early exit, a hang.
#pragma once

#include <cstdint>
#include <string>

namespace tenon::conform {

// Both sides of one case share a board.
class LastCall {
 public:
  // The parent's side: an empty board. fd() is for the child.
  LastCall();
  ~LastCall();
  LastCall(const LastCall&) = delete;
  LastCall& operator=(const LastCall&) = delete;
  int fd() const { return fd_; }
  // "tenon.op.kernel.execute, for kernel relu of Relu ..."; empty when no call was made.
  std::string text() const;

 private:
  struct Board* board_ = nullptr;
  int fd_ = -1;
};

// The child's side; before UseBoard both do nothing.
void UseBoard(int fd);
// `slot` is a literal: the board holds its place in the program, which is the same file in both processes.
void NoteSlot(const char* slot);

// What calls are made for, as long as it lives. Any thread.
class Doing {
 public:
  explicit Doing(const std::string& what);
  ~Doing();
  Doing(const Doing&) = delete;
  Doing& operator=(const Doing&) = delete;
};

}  // namespace tenon::conform
