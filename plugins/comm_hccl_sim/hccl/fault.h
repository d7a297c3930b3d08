// What goes wrong in collectives: the code of the interface, HCCL's code, and a text that names ranks and both values.
#pragma once

#include <cstdint>
#include <exception>
#include <string>

#include "tenon/sdk/sdk.h"

namespace tenon::hccl {

namespace sdk = tenon::sdk;

// Codes EI0001 .. as users of HCCL know them.
enum class Ei : int32_t {
  kNone = 0,
  kEnvironment = 1,  // an environment variable has an invalid value
  kTimeout = 2,      // an operation did not end in time
  kArgument = 3,     // an argument is wrong
  kRankTable = 4,    // the rank table is wrong
  kMismatch = 5,     // ranks mean different operations
  kConnect = 6,      // a rank could not be reached, or is gone
  kAllocation = 7    // memory is short
};

class Fault : public std::exception {
 public:
  Fault(int32_t code, Ei ei, std::string text) : code_(code), ei_(ei), text_(std::move(text)) {}

  int32_t code() const { return code_; }  // tenon_status_code
  Ei ei() const { return ei_; }
  const std::string& text() const { return text_; }
  const char* what() const noexcept override { return text_.c_str(); }

 private:
  int32_t code_;
  Ei ei_;
  std::string text_;
};

// A fault of HCCL's list: "EI0002: <sentence> Possible causes: 1. ...".
Fault MakeFault(int32_t code, Ei ei, const std::string& sentence);

// Reports through the sink, with the code in `vendor_code` and domain "EI".
int32_t Report(const Fault& fault, sdk::Error& error);

// Runs body(error); faults and other exceptions become codes.
template <typename Body>
int32_t Guarded(const tenon_host_api* host, tenon_error* sink, Body&& body) noexcept {
  return sdk::Guard(host, sink, [&](sdk::Error& error) -> int32_t {
    try {
      return body(error);
    } catch (const Fault& fault) {
      return Report(fault, error);
    }
  });
}

// "12 s", "0.4 s".
std::string Seconds(uint64_t ns);

}  // namespace tenon::hccl
