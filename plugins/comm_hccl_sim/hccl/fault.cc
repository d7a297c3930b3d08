#include "hccl/fault.h"

#include <cstdio>

namespace tenon::hccl {
namespace {

// What usually lies behind a code, most frequent first.
const char* CausesOf(Ei ei) {
  switch (ei) {
    case Ei::kEnvironment:
      return "1. the variable was set by hand or by a launcher outside its range; 2. a unit was written with the "
             "number.";
    case Ei::kTimeout:
      return "1. another rank failed before: look for the rank without a time-out; 2. a rank was slower than the "
             "others by more "
             "than HCCL_EXEC_TIMEOUT; 3. ranks have different numbers of batches; 4. packets are lost between hosts.";
    case Ei::kArgument:
      return "1. the call was made with a wrong count, dtype, root or peer.";
    case Ei::kRankTable:
      return "1. the table was written for another job; 2. it was edited by hand; 3. its writer was not done.";
    case Ei::kMismatch:
      return "1. ranks run different models or configs; 2. a branch depends on the data of one rank; 3. one rank left "
             "out an "
             "operation.";
    case Ei::kConnect:
      return "1. the rank crashed or was ended: see its log; 2. it started later than HCCL_CONNECT_TIMEOUT allows; 3. "
             "a link, "
             "firewall or address between the hosts is wrong.";
    case Ei::kAllocation:
      return "1. memory of the machine or container is used up; 2. a limit on open files or memory is too low.";
    case Ei::kNone:
      break;
  }
  return nullptr;
}

}  // namespace

Fault MakeFault(int32_t code, Ei ei, const std::string& sentence) {
  char number[16];
  std::snprintf(number, sizeof number, "EI%04d: ", static_cast<int>(ei));
  std::string text = number + sentence;
  if (const char* causes = CausesOf(ei); causes != nullptr) text += std::string(" Possible causes: ") + causes;
  return Fault(code, ei, std::move(text));
}

int32_t Report(const Fault& fault, sdk::Error& error) {
  tenon_error_info info = TENON_INIT(tenon_error_info);
  info.code = fault.code();
  info.flags = TENON_ERROR_STICKY;
  info.domain = sdk::Str("EI");
  info.vendor_code = static_cast<int64_t>(fault.ei());
  info.message = sdk::Str(fault.text());
  return error.Fail(info);
}

std::string Seconds(uint64_t ns) {
  char text[32];
  std::snprintf(text, sizeof text, "%.4g s", static_cast<double>(ns) * 1e-9);
  return text;
}

}  // namespace tenon::hccl
