// overhead [--json] [--runs N]: what Tenon costs around kernels, in nanoseconds, medians.
//
//   eager_add8_ns        one ops::Add of 8 floats on the CPU plugin through libtenon.so, result handle included
//   eager_fwd_bwd_op_ns  forward and backward per operator, in a chain of 100 adds of one float (the end must be one number)
//   node_ns              one node of a compiled program of 1000 nodes whose kernel is empty
//   abi_ns               one call of that kernel through the plugin's table
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "core/exec/program.h"
#include "core/exec/runtime.h"
#include "core/plugin/abi_trace.h"
#include "core/plugin/error_sink.h"
#include "tenon/tenon.h"

namespace {

namespace tn = tenon::api;

constexpr int kNodes = 1000;
constexpr int kChain = 100;

double Now() {
  return static_cast<double>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
          .count());
}

// Median over `runs` samples of the time of `calls` calls, per call.
template <class Fn>
double Median(int runs, int calls, Fn fn) {
  std::vector<double> times;
  for (int i = 0; i < runs; ++i) {
    const double start = Now();
    for (int k = 0; k < calls; ++k) fn();
    times.push_back((Now() - start) / calls);
  }
  std::nth_element(times.begin(), times.begin() + runs / 2, times.end());
  return times[static_cast<std::size_t>(runs / 2)];
}

[[noreturn]] void Fail(const std::string& text) {
  std::fprintf(stderr, "%s\n", text.c_str());
  std::exit(1);
}

template <class T>
T Must(tenon::Result<T> result) {
  if (!result.ok()) Fail(result.status().ToString());
  return std::move(result).value();
}

struct Figures {
  double eager_add8_ns, eager_fwd_bwd_op_ns, node_ns, abi_ns;
};

void MeasureEager(int runs, Figures& figures) {
  const tn::Runtime runtime;
  const std::vector<float> ones(8, 1.0f);
  const tn::Tensor a = tn::Tensor::Of(runtime, {8}, ones), b = tn::Tensor::Of(runtime, {8}, ones);
  figures.eager_add8_ns = Median(runs, 1000, [&] { const tn::Tensor c = tn::ops::Add(a, b); });
  const tn::Tensor start = tn::Tensor::Of(runtime, {1}, std::vector<float>{1}).RequireGradient();
  const tn::Tensor step = tn::Tensor::Of(runtime, {1}, std::vector<float>{1});
  const auto chain = [&] {
    tn::Tensor y = start;
    for (int i = 0; i < kChain; ++i) y = tn::ops::Add(y, step);
    const auto gradients = tn::Gradients(y, {start});
    if (!gradients[0]) Fail("no gradient");
  };
  figures.eager_fwd_bwd_op_ns = Median(runs, 20, chain) / kChain;
}

// A compiled chain of nodes on the device of benchmarks/overhead/plugin.cc.
void MeasureProgram(const std::string& plugin, int runs, Figures& figures) {
  tenon::exec::RuntimeOptions options;
  options.device = "empty";
  options.plugins.trust = tenon::TrustPolicy::kOff;
  tenon::PluginLoadEntry entry;
  entry.path = plugin;
  entry.required = true;
  options.plugins.load.push_back(entry);
  const auto runtime = Must(tenon::exec::Runtime::Open(options));
  tenon::passes::Compilation state;
  state.target = &runtime->target();
  tenon::graph::ValueId value = state.graph.AddInput("x", {tenon::DType::kF32, tenon::SymShape(tenon::Shape{8})});
  for (int i = 0; i < kNodes; ++i) {
    const tenon::graph::NodeId id =
        Must(state.graph.AddNode("", "Neg", std::span<const tenon::graph::ValueId>(&value, 1), {}, 1));
    value = state.graph.node(id).outputs[0];
  }
  state.graph.outputs = {value};
  tenon::passes::PipelineOptions pipeline;
  if (const auto status = tenon::passes::RunPipeline(state, pipeline); !status.ok()) Fail(status.ToString());
  const tenon::graph::NodeId last = state.graph.value(value).producer;
  auto* kernel = static_cast<const tenon::exec::PluginKernel*>(state.kernels[static_cast<std::size_t>(last)].get());
  const auto execute = kernel->vtable().execute;
  tenon_kernel* const handle = kernel->handle();
  tenon::exec::Variables variables(runtime->device());
  const auto program = Must(tenon::exec::Program::Build(std::move(state), variables, 1));
  std::vector<float> x(8, 1.0f);
  if (const auto status = program->Feed(program->FindInput("x"), x.data(), 32); !status.ok()) Fail(status.ToString());
  figures.node_ns = Median(runs, 10,
                           [&] {
                             if (!program->Run({}).ok()) Fail("the program failed");
                           }) /
                    kNodes;
  tenon_kernel_call call = TENON_INIT(tenon_kernel_call);
  tenon_error error;
  figures.abi_ns = Median(runs, 1000, [&] {
    if (tenon::CallAbi("tenon.op", "execute", execute, handle, &call, &error) != TENON_OK) Fail("the call failed");
  });
}

}  // namespace

int main(int argc, char** argv) {
  bool json = false;
  int runs = 200;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--json") == 0) {
      json = true;
    } else if (std::strcmp(argv[i], "--runs") == 0 && i + 1 < argc) {
      runs = std::max(1, std::atoi(argv[++i]));
    } else {
      Fail("usage: overhead [--json] [--runs N]");
    }
  }
  Figures figures{};
  try {
    MeasureEager(runs, figures);
  } catch (const tn::Error& error) {
    Fail(error.what());
  }
  MeasureProgram(TENON_EMPTY_PLUGIN, runs, figures);
  if (json) {
    std::printf(
        "[{\"case\": \"overhead\", \"eager_add8_ns\": %.1f, \"eager_fwd_bwd_op_ns\": %.1f, \"node_ns\": %.1f, "
        "\"abi_ns\": %.1f, "
        "\"version\": \"%s\"}]\n",
        figures.eager_add8_ns, figures.eager_fwd_bwd_op_ns, figures.node_ns, figures.abi_ns, tn::Version());
    return 0;
  }
  std::printf("eager: one add of 8 floats                %8.1f ns   (at most 250)\n", figures.eager_add8_ns);
  std::printf("eager: forward and backward per operator  %8.1f ns   (at most 900)\n", figures.eager_fwd_bwd_op_ns);
  std::printf("compiled: a node with an empty kernel     %8.1f ns   (at most 40)\n", figures.node_ns);
  std::printf("one call through a plugin's table         %8.1f ns\n", figures.abi_ns);
  return 0;
}
