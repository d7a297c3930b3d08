// The checker of traces finds what it is for.
#include "tests/support/trace_check.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace tenon::testing_support {
namespace {

using nlohmann::json;

const char* const kNames = R"({"ph":"M","name":"process_name","pid":1,"tid":0,"args":{"name":"p"}},
  {"ph":"M","name":"thread_name","pid":1,"tid":1,"args":{"name":"t"}})";

std::string FirstProblem(const std::string& events) {
  const auto problems = CheckTrace(json::parse("{\"traceEvents\":[" + std::string(kNames) + events + "]}"));
  return problems.empty() ? "" : problems[0];
}

TEST(TraceCheck, ASoundTraceHasNoProblem) {
  EXPECT_EQ(FirstProblem(R"(
    ,{"ph":"X","name":"a","pid":1,"tid":1,"ts":0,"dur":10}
    ,{"ph":"X","name":"b","pid":1,"tid":1,"ts":0,"dur":4.001}
    ,{"ph":"X","name":"c","pid":1,"tid":1,"ts":4.001,"dur":5.999}
    ,{"ph":"s","name":"n","cat":"f","id":7,"pid":1,"tid":1,"ts":1}
    ,{"ph":"f","bp":"e","name":"n","cat":"f","id":7,"pid":1,"tid":1,"ts":5}
    ,{"ph":"C","name":"k","pid":1,"tid":1,"ts":1,"args":{"value":0.5}}
    ,{"ph":"i","s":"t","name":"k","pid":1,"tid":1,"ts":1})"),
            "");
}

TEST(TraceCheck, EachRuleIsSeen) {
  const std::pair<const char*, const char*> kCases[] = {
      {R"({"ph":"X","name":"a","pid":1,"tid":1,"ts":0})", "no dur"},
      {R"({"ph":"X","name":"a","pid":1,"tid":1,"dur":1})", "no ts"},
      {R"({"ph":"X","name":"a","pid":1,"tid":1,"ts":-1,"dur":1})", "no ts"},
      {R"({"ph":"X","name":"a","pid":1,"tid":1,"ts":"0","dur":1})", "no ts"},
      {R"({"ph":"X","name":"a","pid":"1","tid":1,"ts":0,"dur":1})", "integers"},
      {R"({"ph":"X","pid":1,"tid":1,"ts":0,"dur":1})", "no name"},
      {R"({"ph":"Q","name":"a","pid":1,"tid":1,"ts":0})", "not known"},
      {R"({"ph":"X","name":"a","pid":2,"tid":1,"ts":0,"dur":1})", "no process_name"},
      {R"({"ph":"X","name":"a","pid":1,"tid":2,"ts":0,"dur":1})", "no thread_name"},
      {R"({"ph":"M","name":"thread_nane","pid":1,"tid":2,"args":{}})", "metadata is not known"},
      {R"({"ph":"X","name":"a","pid":1,"tid":1,"ts":0,"dur":2},{"ph":"X","name":"b","pid":1,"tid":1,"ts":1,"dur":2})",
       "overlap"},
      {R"({"ph":"s","name":"n","cat":"f","id":7,"pid":1,"tid":1,"ts":1})", "no end"},
      {R"({"ph":"f","name":"n","cat":"f","id":7,"pid":1,"tid":1,"ts":1})", "no start"},
      {R"({"ph":"s","name":"n","cat":"f","id":7,"pid":1,"tid":1,"ts":2},
          {"ph":"f","name":"n","cat":"f","id":7,"pid":1,"tid":1,"ts":1})",
       "before"},
      {R"({"ph":"s","name":"n","cat":"f","id":7,"pid":1,"tid":1,"ts":1},
          {"ph":"f","name":"n","cat":"f","id":7,"pid":1,"tid":1,"ts":2})",
       "lies in no span"},
      {R"({"ph":"C","name":"n","pid":1,"tid":1,"ts":1,"args":{"value":"x"}})", "numbers"},
      {R"({"ph":"i","s":"x","name":"n","pid":1,"tid":1,"ts":1})", "scope"},
  };
  for (const auto& one : kCases)
    EXPECT_NE(FirstProblem("," + std::string(one.first)).find(one.second), std::string::npos)
        << one.first << " -> " << FirstProblem("," + std::string(one.first));
}

}  // namespace
}  // namespace tenon::testing_support
