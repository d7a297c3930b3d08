#include "core/base/status.h"

namespace tenon {

std::string_view CodeName(Code code) {
  switch (code) {
    case Code::kOk:
      return "OK";
    case Code::kCancelled:
      return "CANCELLED";
    case Code::kUnknown:
      return "UNKNOWN";
    case Code::kInvalidArgument:
      return "INVALID_ARGUMENT";
    case Code::kDeadlineExceeded:
      return "DEADLINE_EXCEEDED";
    case Code::kNotFound:
      return "NOT_FOUND";
    case Code::kAlreadyExists:
      return "ALREADY_EXISTS";
    case Code::kPermissionDenied:
      return "PERMISSION_DENIED";
    case Code::kResourceExhausted:
      return "RESOURCE_EXHAUSTED";
    case Code::kFailedPrecondition:
      return "FAILED_PRECONDITION";
    case Code::kAborted:
      return "ABORTED";
    case Code::kOutOfRange:
      return "OUT_OF_RANGE";
    case Code::kUnimplemented:
      return "UNIMPLEMENTED";
    case Code::kInternal:
      return "INTERNAL";
    case Code::kUnavailable:
      return "UNAVAILABLE";
    case Code::kDataLoss:
      return "DATA_LOSS";
    case Code::kUnauthenticated:
      return "UNAUTHENTICATED";
    case Code::kDeviceLost:
      return "DEVICE_LOST";
    case Code::kWouldBlock:
      return "WOULD_BLOCK";
    case Code::kAbiMismatch:
      return "ABI_MISMATCH";
    case Code::kPending:
      return "PENDING";
  }
  return "UNKNOWN";
}

Status::Status(Code code, std::string message)
    : state_(code == Code::kOk ? nullptr : new State{code, std::move(message), {}, {}}) {}

Status::Status(const Status& other) : state_(other.state_ ? new State(*other.state_) : nullptr) {}

Status& Status::operator=(const Status& other) {
  if (this != &other) state_.reset(other.state_ ? new State(*other.state_) : nullptr);
  return *this;
}

const std::string& Status::message() const {
  static const std::string kEmpty;
  return state_ ? state_->message : kEmpty;
}

Status&& Status::At(std::string location) && {
  if (state_ && state_->location.empty()) state_->location = std::move(location);
  return std::move(*this);
}

const std::string& Status::location() const {
  static const std::string kEmpty;
  return state_ ? state_->location : kEmpty;
}

Status&& Status::While(std::string doing) && {
  if (state_) state_->context.push_back(std::move(doing));
  return std::move(*this);
}

const std::vector<std::string>& Status::context() const {
  static const std::vector<std::string> kNone;
  return state_ ? state_->context : kNone;
}

std::string Status::ToString() const {
  if (ok()) return "OK";
  std::string text = state_->location.empty() ? "error: " : state_->location + ": error: ";
  text += state_->message;
  for (const std::string& doing : state_->context) text += "\n - While " + doing;
  return text;
}

}  // namespace tenon
