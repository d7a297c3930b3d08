// What holds for every operator that has a test file of its own; their files are compiled into this program.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <set>

#include "core/ops/op_def.h"

namespace tenon {
namespace {

namespace fs = std::filesystem;

std::string Lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

// Every file of core/ops/builtin defines operators of ONNX or of ours whose name is the file's, so that an operator is found by
// its name.
TEST(EachOperator, LivesInTheFileOfItsName) {
  std::set<std::string> names;
  for (const OpDef* def : BuiltinOps().All()) names.insert(Lower(def->type()));
  for (const auto& entry : fs::directory_iterator(fs::path(TENON_SOURCE_DIR) / "core/ops/builtin")) {
    std::string stem = entry.path().stem().string();
    std::erase(stem, '_');
    EXPECT_EQ(names.count(stem), 1u) << entry.path();
  }
}

}  // namespace
}  // namespace tenon
