#pragma once

#include <string>
#include <vector>

namespace tenon {

class OpDef;

// tenon op info: the signature, dtypes and attributes of operators, each of their versions.
struct OpInfoOptions {
  std::vector<std::string> names;  // "Slice", "tenon::SliceGrad"
  bool json = false;
};
int RunOpInfo(const OpInfoOptions& options);

// "Slice(data, starts, ends[, axes][, steps]) -> output"; attributes behind a semicolon.
std::string SignatureOf(const OpDef& def);

}  // namespace tenon
