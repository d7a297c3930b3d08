#include "tests/ops_custom/custom_case.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>

#include "tests/support/temp_folder.h"
#include "tests/support/tool_run.h"

namespace tenon::testing_support {
namespace {

using nlohmann::json;
using Floats = std::vector<float>;

struct NamedRuntime {
  std::string name;
  std::unique_ptr<api::Runtime> runtime;
};

// A run file, since options of a plugin are given there. Empty where the processor lacks the instruction set.
std::unique_ptr<api::Runtime> Open(const std::string& isa, int threads) {
  const TempFolder folder;
  WriteFile(folder / "run.yaml", "threads: " + std::to_string(threads) +
                                     "\nplugins:\n  trust: off\n  load:\n    - {path: " + TENON_OPS_CUSTOM +
                                     ", options: {isa: " + isa + "}}\n" +
                                     "network: {layers: [{linear: {out: 1}}]}\noptimizer: {type: sgd, lr: 0.1}\n");
  api::RuntimeOptions options;
  options.config = folder / "run.yaml";
  try {
    return std::make_unique<api::Runtime>(options);
  } catch (const api::Error& error) {
    if (std::string(error.what()).find("does not have") != std::string::npos) return nullptr;
    throw;
  }
}

const std::vector<NamedRuntime>& Runtimes() {
  static const auto* const all = [] {
    auto* runtimes = new std::vector<NamedRuntime>;
    for (const char* isa : {"sse2", "avx2", "avx512"}) {
      if (auto runtime = Open(isa, 1)) runtimes->push_back({isa, std::move(runtime)});
    }
    runtimes->push_back({"two threads", Open("auto", 2)});
    return runtimes;
  }();
  return *all;
}

float NumberOf(const json& value) {
  if (!value.is_string()) return value.get<float>();
  return value == "inf" ? std::numeric_limits<float>::infinity() : -std::numeric_limits<float>::infinity();
}
Floats FloatsOf(const json& tensor) {
  Floats values;
  for (const json& value : tensor.at("values")) values.push_back(NumberOf(value));
  return values;
}

api::Tensor TensorOf(const api::Runtime& runtime, const json& tensor) {
  if (tensor.is_null()) return {};
  const auto shape = tensor.at("shape").get<api::Shape>();
  if (tensor.at("dtype") == "i64")
    return api::Tensor::Of(runtime, shape, tensor.at("values").get<std::vector<std::int64_t>>());
  return api::Tensor::Of(runtime, shape, FloatsOf(tensor));
}

api::Attributes AttributesOf(const json& attrs) {
  api::Attributes attributes;
  for (const auto& [name, value] : attrs.items()) {
    if (value.is_string()) {
      attributes.emplace_back(name, value.get<std::string>());
    } else if (value.is_array()) {
      attributes.emplace_back(name, value.get<std::vector<std::int64_t>>());
    } else if (value.is_number_integer()) {
      attributes.emplace_back(name, value.get<std::int64_t>());
    } else {
      attributes.emplace_back(name, value.get<double>());
    }
  }
  return attributes;
}

void ExpectNear(const Floats& got, const Floats& expected, double tolerance, const std::string& what) {
  ASSERT_EQ(got.size(), expected.size()) << what;
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (got[i] == expected[i]) continue;  // infinities
    ASSERT_NEAR(got[i], expected[i], tolerance * (1 + std::abs(static_cast<double>(expected[i]))))
        << what << " [" << i << "]";
  }
}

std::string FullName(const std::string& op) { return "org.tenon.custom." + op; }

class CaseRun {
 public:
  CaseRun(const api::Runtime& runtime, const json& row)
      : runtime_(runtime), row_(row), op_(FullName(row.at("op"))), attributes_(AttributesOf(row.at("attrs"))) {
    for (const json& input : row.at("inputs")) inputs_.push_back(TensorOf(runtime, input));
  }

  void Check() {
    std::vector<api::Tensor> inputs = inputs_, targets;
    std::vector<std::size_t> wanted;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (Gradient(i).is_null()) continue;
      inputs[i] = inputs[i].RequireGradient();
      targets.push_back(inputs[i]);
      wanted.push_back(i);
    }
    const api::Tensor y = Apply(inputs);
    EXPECT_EQ(y.shape(), row_.at("output").at("shape").get<api::Shape>());
    ExpectNear(y.Values<float>(), FloatsOf(row_.at("output")), row_.at("tolerance"), "output");
    const std::vector<api::Tensor> gradients = api::Gradients(Weighted(runtime_, y, FloatsOf(row_.at("dy"))), targets);
    for (std::size_t k = 0; k < wanted.size(); ++k) {
      ASSERT_TRUE(gradients[k]) << "input " << wanted[k];
      const Floats gradient = gradients[k].Values<float>();
      ExpectNear(gradient, FloatsOf(Gradient(wanted[k])), 5 * row_.at("tolerance").get<double>(),
                 "gradient of input " + std::to_string(wanted[k]));
      CheckDifferences(wanted[k], gradient);
    }
  }

 private:
  const json& Gradient(std::size_t i) const { return row_.at("gradients").at(i); }
  // The scores of a CTC loss pass through a log-softmax first.
  api::Tensor Apply(std::vector<api::Tensor> inputs) const {
    if (row_.at("op") == "CTCLoss") inputs[0] = api::Op("LogSoftmax", {inputs[0]}, {{"axis", -1}});
    return api::Op(op_, inputs, attributes_);
  }
  double Loss(const std::vector<api::Tensor>& inputs) const {
    const Floats y = Apply(inputs).Values<float>(), dy = FloatsOf(row_.at("dy"));
    double sum = 0;
    for (std::size_t i = 0; i < y.size(); ++i) sum += static_cast<double>(y[i]) * static_cast<double>(dy[i]);
    return sum;
  }
  // Float32 differences are coarse: they find a wrong formula, not a rounding.
  void CheckDifferences(std::size_t input, const Floats& gradient) const {
    const Floats start = inputs_[input].Values<float>();
    const std::size_t step = std::max<std::size_t>(1, start.size() / 24);
    for (std::size_t i = 0; i < start.size(); i += step) {
      constexpr float kStep = 4e-3f;
      double loss[2];
      for (const int side : {0, 1}) {
        Floats moved = start;
        moved[i] += side == 0 ? -kStep : kStep;
        std::vector<api::Tensor> inputs = inputs_;
        inputs[input] = api::Tensor::Of(runtime_, inputs_[input].shape(), moved);
        loss[side] = Loss(inputs);
      }
      if (!std::isfinite(loss[0]) || !std::isfinite(loss[1])) continue;
      const double slope = (loss[1] - loss[0]) / (2 * static_cast<double>(kStep));
      ASSERT_NEAR(gradient[i], slope, 4e-3 * (1 + std::abs(slope) + std::abs(loss[0])))
          << "input " << input << " [" << i << "]";
    }
  }

  const api::Runtime& runtime_;
  const json& row_;
  std::string op_;
  api::Attributes attributes_;
  std::vector<api::Tensor> inputs_;
};

}  // namespace

void OnEachRuntime(const std::function<void(const api::Runtime&)>& check) {
  for (const NamedRuntime& entry : Runtimes()) {
    SCOPED_TRACE(entry.name);
    ASSERT_NE(entry.runtime, nullptr);
    check(*entry.runtime);
  }
}

const api::Runtime& AnyRuntime() { return *Runtimes().front().runtime; }

void CheckCases(const std::string& file) {
  const json rows = json::parse(ReadFile(std::string(TENON_SOURCE_DIR) + "/tests/ops_custom/cases/" + file + ".json"));
  ASSERT_FALSE(rows.empty());
  OnEachRuntime([&](const api::Runtime& runtime) {
    for (std::size_t i = 0; i < rows.size(); ++i) {
      SCOPED_TRACE(file + " " + std::to_string(i) + " " + rows[i].at("attrs").dump());
      CaseRun(runtime, rows[i]).Check();
    }
  });
}

void ExpectRefused(const std::string& op, const std::vector<api::Tensor>& inputs, const api::Attributes& attributes,
                   const std::vector<std::string>& parts) {
  try {
    api::Op(FullName(op), inputs, attributes);
    ADD_FAILURE() << op << " takes the call";
  } catch (const api::Error& error) {
    for (const std::string& part : parts)
      EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << part << " in\n" << error.what();
  }
}

api::Tensor Weighted(const api::Runtime& runtime, const api::Tensor& y, const std::vector<float>& weights) {
  const api::Tensor w = api::Tensor::Of(runtime, y.shape(), weights);
  return api::ops::ReduceSum(api::ops::Mul(y, w));
}

std::vector<float> Numbers(std::int64_t count, unsigned seed) {
  std::mt19937 words(seed);
  std::vector<float> values(static_cast<std::size_t>(count));
  for (float& value : values) value = static_cast<float>(words() >> 8) * 0x1p-23f - 1.0f;
  return values;
}

}  // namespace tenon::testing_support
