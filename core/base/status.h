#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tenon {

// What went wrong, chosen by what the caller should do next. The numbers are those of the plugin ABI (status.h there)
// and never change.
enum class Code : std::int32_t {
  kOk = 0,
  kCancelled = 1,
  kUnknown = 2,
  kInvalidArgument = 3,  // the request can never work: fix the config, model or call
  kDeadlineExceeded = 4,
  kNotFound = 5,  // a file, name or key is absent
  kAlreadyExists = 6,
  kPermissionDenied = 7,
  kResourceExhausted = 8,   // memory or disk is full
  kFailedPrecondition = 9,  // right call, wrong state
  kAborted = 10,
  kOutOfRange = 11,
  kUnimplemented = 12,  // optional feature absent here
  kInternal = 13,       // a bug in Tenon or in a plugin
  kUnavailable = 14,    // a plugin or device is not there (exit code 3)
  kDataLoss = 15,       // a file is truncated or corrupt
  kUnauthenticated = 16,
  kDeviceLost = 32,
  kWouldBlock = 33,
  kAbiMismatch = 34,
  kPending = 35,
};

std::string_view CodeName(Code code);

// Success, or an error with a message for the person who must fix it and the "While ..." lines that walk outward from
// the failure. One pointer wide, null when OK. A moved-from Status is OK.
class [[nodiscard]] Status {
 public:
  Status() = default;  // OK
  Status(Code code, std::string message);
  Status(const Status& other);
  Status& operator=(const Status& other);
  Status(Status&&) noexcept = default;
  Status& operator=(Status&&) noexcept = default;
  ~Status() = default;

  bool ok() const { return state_ == nullptr; }
  Code code() const { return state_ ? state_->code : Code::kOk; }
  // Message without location and context; empty when OK.
  const std::string& message() const;

  // Place in a user's file: "run.yaml:14:3". Kept when set already (the innermost place wins).
  Status&& At(std::string location) &&;
  const std::string& location() const;

  // Adds " - While <doing>" as the next outer line.
  Status&& While(std::string doing) &&;
  const std::vector<std::string>& context() const;

  // "[location: ]error: message\n - While ...\n - While ...", without a final newline; "OK" when OK.
  std::string ToString() const;

 private:
  struct State {
    Code code;
    std::string message;
    std::string location;
    std::vector<std::string> context;
  };
  std::unique_ptr<State> state_;
};

template <class... Args>
Status Error(Code code, fmt::format_string<Args...> format, Args&&... args) {
  return Status(code, fmt::format(format, std::forward<Args>(args)...));
}
template <class... Args>
Status InvalidArgument(fmt::format_string<Args...> format, Args&&... args) {
  return Status(Code::kInvalidArgument, fmt::format(format, std::forward<Args>(args)...));
}

// A value or the Status that explains its absence.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}         // NOLINT: implicit on purpose
  Result(Status status) : status_(std::move(status)) {  // NOLINT: implicit on purpose
    if (status_.ok()) status_ = Status(Code::kInternal, "A Result was made from an OK status.");
  }
  bool ok() const { return value_.has_value(); }
  const Status& status() const& { return status_; }
  Status&& status() && { return std::move(status_); }
  T& value() & { return *value_; }
  const T& value() const& { return *value_; }
  T&& value() && { return std::move(*value_); }
  T& operator*() & { return *value_; }
  const T& operator*() const& { return *value_; }
  T&& operator*() && { return std::move(*value_); }
  T* operator->() { return &*value_; }
  const T* operator->() const { return &*value_; }

 private:
  std::optional<T> value_;
  Status status_;
};

namespace internal {
inline Status TakeStatus(Status&& s) { return std::move(s); }
template <class T>
Status TakeStatus(Result<T>&& r) {
  return std::move(r).status();
}
}  // namespace internal

#define TENON_CONCAT_INNER(a, b) a##b
#define TENON_CONCAT(a, b) TENON_CONCAT_INNER(a, b)

// Returns the error of `expr` (Status or Result) from the enclosing function.
#define TENON_TRY(expr)                                                                            \
  do {                                                                                             \
    auto tenon_try_result = (expr);                                                                \
    if (!tenon_try_result.ok()) return ::tenon::internal::TakeStatus(std::move(tenon_try_result)); \
  } while (0)

// As TENON_TRY, with a "While ..." line; the arguments are formatted only on failure.
#define TENON_TRY_WHILE(expr, ...)                                                                       \
  do {                                                                                                   \
    auto tenon_try_result = (expr);                                                                      \
    if (!tenon_try_result.ok())                                                                          \
      return ::tenon::internal::TakeStatus(std::move(tenon_try_result)).While(fmt::format(__VA_ARGS__)); \
  } while (0)

// TENON_ASSIGN(auto x, Compute()); declares or assigns the value, or returns the error.
#define TENON_ASSIGN(target, expr)                                                                                   \
  auto TENON_CONCAT(tenon_result_, __LINE__) = (expr);                                                               \
  if (!TENON_CONCAT(tenon_result_, __LINE__).ok()) return std::move(TENON_CONCAT(tenon_result_, __LINE__)).status(); \
  target = std::move(TENON_CONCAT(tenon_result_, __LINE__)).value()

#define TENON_ASSIGN_WHILE(target, expr, ...)                                                                          \
  auto TENON_CONCAT(tenon_result_, __LINE__) = (expr);                                                                 \
  if (!TENON_CONCAT(tenon_result_, __LINE__).ok())                                                                     \
    return ::tenon::Status(std::move(TENON_CONCAT(tenon_result_, __LINE__)).status()).While(fmt::format(__VA_ARGS__)); \
  target = std::move(TENON_CONCAT(tenon_result_, __LINE__)).value()

// Returns INVALID_ARGUMENT with a formatted sentence when `condition` holds.
#define TENON_INVALID_IF(condition, ...)                         \
  do {                                                           \
    if (condition) return ::tenon::InvalidArgument(__VA_ARGS__); \
  } while (0)

}  // namespace tenon
