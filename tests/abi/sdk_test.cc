// The C++ helpers against tables that the test writes itself.
#include "tenon/sdk/sdk.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <new>

#include "tests/abi/mini_host.h"

namespace {
int64_t allocations = 0;
}  // namespace

// Not inlined: the compiler would complain about malloc and delete in one place.
[[gnu::noinline]] void* operator new(size_t size) {
  ++allocations;
  if (void* memory = std::malloc(size)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, size_t) noexcept { std::free(memory); }

namespace tenon::test {
namespace {

class SdkTest : public testing::Test {
 protected:
  class TestPlugin : public sdk::Plugin {};
  void SetUp() override {
    tenon_create_args args = TENON_INIT(tenon_create_args);
    args.host = &host_.api;
    ASSERT_EQ(sdk::CreatePlugin<TestPlugin>(&args, &plugin_, nullptr), TENON_OK);
  }
  void TearDown() override { sdk::DestroyPlugin(plugin_); }
  MiniHost host_;
  tenon_plugin* plugin_ = nullptr;
};

TEST(SdkText, PutsPartsTogether) {
  const int64_t dims[] = {2, -1};
  EXPECT_EQ(sdk::TextBuffer("dims ", sdk::Dims(dims, 2), " of ", 7u, ", ", -3, ", ", 0.5, ", ", true).View(),
            "dims [2, ?] of 7, -3, 0.5, true");
  EXPECT_EQ(sdk::TextBuffer(std::string(3000, 'x')).View().size(), 1000u);
}

TEST(SdkError, GuardTurnsExceptionsIntoCodes) {
  MiniHost host;
  tenon_error sink;
  EXPECT_EQ(sdk::Guard(&host.api, &sink,
                       [](sdk::Error&) -> int32_t { throw sdk::Failure(TENON_OUT_OF_RANGE, "axis ", 5, " of ", 2); }),
            TENON_OUT_OF_RANGE);
  EXPECT_EQ(sink.message, "axis 5 of 2");
  EXPECT_EQ(sdk::Guard(&host.api, &sink, [](sdk::Error&) -> int32_t { throw std::bad_alloc(); }),
            TENON_RESOURCE_EXHAUSTED);
  EXPECT_EQ(sdk::Guard(&host.api, &sink, [](sdk::Error&) -> int32_t { throw std::logic_error("surprise"); }),
            TENON_INTERNAL);
  EXPECT_NE(sink.message.find("surprise"), std::string::npos);
  EXPECT_EQ(sdk::Guard(nullptr, nullptr, [](sdk::Error&) -> int32_t { throw 1; }), TENON_INTERNAL);
}

TEST(SdkError, CopyOutKeepsToTheCapacity) {
  struct Guarded {
    tenon_memory_stats stats;
    uint64_t guard;
  } target = {};
  tenon_memory_stats from = TENON_INIT(tenon_memory_stats);
  from.current_bytes = 11;
  from.peak_bytes = 12;
  target.stats.struct_size = 16;
  sdk::CopyOut(from, &target.stats);
  EXPECT_EQ(target.stats.struct_size, 16u);
  EXPECT_EQ(target.stats.current_bytes, 11u);
  EXPECT_EQ(target.stats.peak_bytes, 0u);
  target.stats.struct_size = 4096;
  sdk::CopyOut(from, &target.stats);
  EXPECT_EQ(target.stats.struct_size, sizeof(tenon_memory_stats));
  EXPECT_EQ(target.guard, 0u);
}

TEST(SdkAttributes, ListIsSortedAndReadBack) {
  const int64_t pads[] = {1, 2, 3, 4};
  sdk::AttributeList<4> list;
  list.Ints("pads", sdk::Dims(pads, 4)).Int("group", 3).Float("alpha", 0.25).String("mode", "same");
  ASSERT_EQ(list.size(), 4u);
  const sdk::Attributes read(list.data(), list.size(), sizeof(tenon_attribute));
  EXPECT_EQ(sdk::Text(read.at(0).name), "alpha");
  EXPECT_EQ(read.Int("group", 1), 3);
  EXPECT_EQ(read.Int("absent", 9), 9);
  EXPECT_EQ(read.IntAt("pads", 3, 0), 4);
  EXPECT_EQ(read.IntAt("pads", 4, -1), -1);
  EXPECT_EQ(read.String("mode", ""), "same");
  EXPECT_EQ(read.Float("alpha", 0), 0.25);
  EXPECT_THROW((void)read.Int("pads", 0), sdk::Failure);
  EXPECT_THROW(list.Int("one too many", 0), sdk::Failure);
}

TEST(SdkTensor, StridedAccess) {
  const float data[6] = {1, 2, 3, 4, 5, 6};
  const std::vector<int64_t> dims = {3, 2};
  const int64_t strides[] = {1, 3};
  tenon_tensor raw = ViewOf(data, TENON_DTYPE_F32, dims);
  EXPECT_TRUE(sdk::Tensor(raw).contiguous());
  const sdk::TensorOf<const float> plain{sdk::Tensor(raw)};
  EXPECT_EQ(plain(2, 1), 6);
  raw.strides = strides;
  EXPECT_FALSE(sdk::Tensor(raw).contiguous());
  const sdk::TensorOf<const float> turned{sdk::Tensor(raw)};
  EXPECT_EQ(turned(2, 1), 6);
  EXPECT_EQ(turned(1, 0), 2);
  EXPECT_EQ(sdk::Tensor(raw).bytes(), 24u);
}

// ---- kernels ----

class Axpy : public sdk::Kernel {
 public:
  static bool Supports(const sdk::Query& query, sdk::Reason& reason) {
    return query.attributes().Int("ok", 1) == 1 || reason.No("attribute ok is not 1");
  }
  static void Layouts(const sdk::Query&, sdk::LayoutEmitter& emit) {
    emit.Emit(10, {0, 0}, {0});
    emit.Emit(5, {3, 3}, {3}, {{0, 0, 1.5}}, 77);
  }
  int32_t Create(const sdk::Query& query, sdk::Error& error) {
    if (query.attributes().Int("refuse", 0) != 0) return error.Fail(TENON_UNIMPLEMENTED, "refused on demand");
    return TENON_OK;
  }
  int32_t Plan(const sdk::PlanArgs& args, sdk::PlanResult& result, sdk::Error&) {
    size_ = args.input(0).elements();
    result.Workspace(static_cast<uint64_t>(size_) * 4, 64);
    result.Algorithm(args.layout_tag(), "axpy");
    return TENON_OK;
  }
  int32_t Execute(const sdk::Call& call, sdk::Error& error) {
    if (call.input(0).elements() != size_) throw sdk::Failure(TENON_INVALID_ARGUMENT, "another size than planned");
    const auto a = static_cast<float>(call.scalar(0).f64);
    const float* x = call.in<float>(0);
    float* y = call.out<float>(0);
    return host().ParallelFor(size_, 16, call.threads(), error, [&](int64_t begin, int64_t end, uint32_t) {
      for (int64_t i = begin; i < end; ++i) y[i] = a * x[i];
    });
  }

 private:
  int64_t size_ = 0;
};

struct KernelRun {
  std::vector<int64_t> dims = {8};
  tenon_value_desc desc = DescOf(TENON_DTYPE_F32, dims);
  tenon_kernel_query query = TENON_INIT(tenon_kernel_query);
  tenon_plan_args args = TENON_INIT(tenon_plan_args);
  KernelRun() {
    query.inputs = query.outputs = &desc;
    query.input_count = query.output_count = 1;
    query.input_stride = query.output_stride = sizeof(desc);
    args.inputs = args.outputs = &desc;
    args.input_count = args.output_count = 1;
    args.input_stride = args.output_stride = sizeof(desc);
    args.layout_tag = 77;
  }
};

TEST_F(SdkTest, KernelLayoutsPlanExecute) {
  constexpr tenon_kernel_def def = sdk::MakeKernel<Axpy>("test", "Axpy", "cpu", "axpy");
  KernelRun run;
  struct Seen {
    int count = 0;
    double best = 1e9;
    uint64_t tag = 0;
  } seen;
  tenon_layout_sink sink = TENON_INIT(tenon_layout_sink);
  sink.user = &seen;
  sink.emit = [](void* user, const tenon_layout_signature* signature) -> int32_t {
    auto& target = *static_cast<Seen*>(user);
    ++target.count;
    if (signature->cost < target.best) {
      target.best = signature->cost;
      target.tag = signature->tag;
    }
    return TENON_OK;
  };
  ASSERT_EQ(def.vtable->query_layouts(plugin_, &def, &run.query, &sink, nullptr), TENON_OK);
  EXPECT_EQ(seen.count, 2);
  EXPECT_EQ(seen.tag, 77u);

  tenon_kernel* kernel = nullptr;
  ASSERT_EQ(def.vtable->create(plugin_, &def, &run.query, &kernel, nullptr), TENON_OK);
  tenon_plan_result result = TENON_INIT(tenon_plan_result);
  ASSERT_EQ(def.vtable->plan(kernel, &run.args, &result, nullptr), TENON_OK);
  EXPECT_EQ(result.workspace_bytes, 32u);
  EXPECT_EQ(result.algorithm, 77u);

  float x[8] = {1, 2, 3, 4, 5, 6, 7, 8};
  float y[8] = {};
  const tenon_tensor in = ViewOf(x, TENON_DTYPE_F32, run.dims);
  const tenon_tensor out = ViewOf(y, TENON_DTYPE_F32, run.dims);
  const tenon_scalar scalars[] = {{2.0, 0}};
  tenon_kernel_call call = TENON_INIT(tenon_kernel_call);
  call.inputs = &in;
  call.outputs = &out;
  call.input_count = call.output_count = 1;
  call.input_stride = call.output_stride = sizeof(in);
  call.scalars = scalars;
  call.scalar_count = 1;
  call.thread_budget = 1;
  const int64_t before = allocations;
  for (int i = 0; i < 100; ++i) ASSERT_EQ(def.vtable->execute(kernel, &call, nullptr), TENON_OK);
  EXPECT_EQ(allocations, before) << "execute allocated";
  EXPECT_EQ(y[7], 16);

  const std::vector<int64_t> other = {4};
  const tenon_tensor wrong = ViewOf(x, TENON_DTYPE_F32, other);
  call.inputs = &wrong;
  tenon_error error;
  EXPECT_EQ(def.vtable->execute(kernel, &call, &error), TENON_INVALID_ARGUMENT);
  EXPECT_EQ(error.message, "another size than planned");
  def.vtable->destroy(kernel);
  EXPECT_EQ(def.vtable->held_bytes, nullptr);
}

TEST_F(SdkTest, RefusalsCarryTheirText) {
  constexpr tenon_kernel_def def = sdk::MakeKernel<Axpy>("test", "Axpy", "cpu", "axpy");
  KernelRun run;
  sdk::AttributeList<2> attributes;
  attributes.Int("refuse", 1);
  run.query.attributes = attributes.data();
  run.query.attribute_count = attributes.size();
  run.query.attribute_stride = sizeof(tenon_attribute);
  tenon_kernel* kernel = nullptr;
  tenon_error error;
  EXPECT_EQ(def.vtable->create(plugin_, &def, &run.query, &kernel, &error), TENON_UNIMPLEMENTED);
  EXPECT_EQ(kernel, nullptr);
  EXPECT_EQ(error.message, "refused on demand");
}

// ---- shape inference ----

struct FakeInfer {
  std::vector<std::vector<tenon_dim>> inputs;
  std::vector<tenon_dim> output;
  uint32_t dtype = 0;
  std::string message;
};
FakeInfer& Node(tenon_infer* infer) { return *reinterpret_cast<FakeInfer*>(infer); }

tenon_infer_api InferTable() {
  tenon_infer_api api = TENON_INIT(tenon_infer_api);
  api.input_count = [](tenon_infer* infer) { return static_cast<uint32_t>(Node(infer).inputs.size()); };
  api.output_count = [](tenon_infer*) -> uint32_t { return 1; };
  api.input_dtype = [](tenon_infer*, uint32_t) -> uint32_t { return TENON_DTYPE_F32; };
  api.input_rank = [](tenon_infer* infer, uint32_t index) -> int32_t {
    return index < Node(infer).inputs.size() ? static_cast<int32_t>(Node(infer).inputs[index].size()) : -2;
  };
  api.input_dim = [](tenon_infer* infer, uint32_t index, uint32_t axis, tenon_dim* out) -> int32_t {
    if (index >= Node(infer).inputs.size() || axis >= Node(infer).inputs[index].size()) return TENON_OUT_OF_RANGE;
    *out = Node(infer).inputs[index][axis];
    return TENON_OK;
  };
  api.dim_op = [](tenon_infer*, uint32_t, tenon_dim a, tenon_dim b, tenon_dim* out) -> int32_t {
    *out = sdk::Known(a.value + b.value);
    return TENON_OK;
  };
  api.require_equal = [](tenon_infer* infer, tenon_dim a, tenon_dim b, tenon_str message) -> int32_t {
    if (a.value == b.value) return TENON_OK;
    Node(infer).message = std::string(View(message));
    return TENON_INVALID_ARGUMENT;
  };
  api.set_output = [](tenon_infer* infer, uint32_t, uint32_t dtype, int32_t rank, const tenon_dim* dims) -> int32_t {
    Node(infer).dtype = dtype;
    Node(infer).output.assign(dims, dims + rank);
    return TENON_OK;
  };
  api.fail = [](tenon_infer* infer, int32_t, tenon_str message) { Node(infer).message = std::string(View(message)); };
  return api;
}

int32_t InferStack(const tenon_operator_def*, const tenon_infer_api* api, tenon_infer* infer) {
  return sdk::RunInfer(api, infer, [](sdk::Infer& node) {
    if (node.InputRank(0) != 2) node.Fail(TENON_INVALID_ARGUMENT, "rank ", node.InputRank(0), " is not 2");
    node.RequireEqual(node.InputDim(0, -1), node.InputDim(1, -1), "the columns differ");
    node.SetOutput(0, node.InputDType(0), {node.Add(node.InputDim(0, 0), node.InputDim(1, 0)), node.InputDim(0, 1)});
  });
}

TEST(SdkInfer, RuleRunsAndFailsWithText) {
  const tenon_infer_api api = InferTable();
  FakeInfer node;
  node.inputs = {{sdk::Known(2), sdk::Known(5)}, {sdk::Known(3), sdk::Known(5)}};
  EXPECT_EQ(InferStack(nullptr, &api, reinterpret_cast<tenon_infer*>(&node)), TENON_OK);
  ASSERT_EQ(node.output.size(), 2u);
  EXPECT_EQ(node.output[0].value, 5);
  node.inputs[1][1] = sdk::Known(6);
  EXPECT_EQ(InferStack(nullptr, &api, reinterpret_cast<tenon_infer*>(&node)), TENON_INVALID_ARGUMENT);
  EXPECT_EQ(node.message, "the columns differ");
  node.inputs[0].pop_back();
  EXPECT_EQ(InferStack(nullptr, &api, reinterpret_cast<tenon_infer*>(&node)), TENON_INVALID_ARGUMENT);
  EXPECT_EQ(node.message, "rank 1 is not 2");
}

// ---- shape rules of gradients ----

constexpr tenon_param_def kStackInputs[] = {sdk::Param("A"), sdk::Param("B")};
constexpr tenon_param_def kStackOutputs[] = {sdk::Param("Y")};
constexpr tenon_gradient_source kStackSources[] = {sdk::FromOutputGrad(0), sdk::FromInput(0), sdk::FromInput(1)};
constexpr uint32_t kSecond[] = {1};
constexpr tenon_paired_gradient kStackGrad = sdk::PairedGradient("test", "StackGrad", 1, kStackSources, kSecond);
constexpr tenon_operator_def kStack = sdk::OperatorBuilder("test", "Stack", 1)
                                          .Inputs(kStackInputs)
                                          .Outputs(kStackOutputs)
                                          .Infer(&InferStack)
                                          .Paired(&kStackGrad);
// Gets neither input.
constexpr tenon_gradient_source kLonelySources[] = {sdk::FromOutputGrad(0)};
constexpr tenon_paired_gradient kLonelyGrad = sdk::PairedGradient("test", "LonelyGrad", 1, kLonelySources, kSecond);
constexpr tenon_operator_def kLonely = sdk::OperatorBuilder("test", "Lonely", 1)
                                           .Inputs(kStackInputs)
                                           .Outputs(kStackOutputs)
                                           .Infer(&InferStack)
                                           .Paired(&kLonelyGrad);

std::string GradientFailure(tenon_infer_fn rule, FakeInfer& node) {
  const tenon_infer_api api = InferTable();
  node.message.clear();
  const int32_t code = rule(nullptr, &api, reinterpret_cast<tenon_infer*>(&node));
  EXPECT_EQ(code == TENON_OK, node.message.empty());
  return node.message;
}

TEST(SdkGradientRule, HoldsTheNodeToTheRuleOfTheOperator) {
  const tenon_infer_fn rule = &sdk::InferGradientOf<kStack>;
  const tenon_dim columns = {0, 7, 0};  // a symbol
  FakeInfer node;
  node.inputs = {{sdk::Known(5), columns}, {sdk::Known(2), columns}, {sdk::Known(3), columns}};
  EXPECT_EQ(GradientFailure(rule, node), "");
  ASSERT_EQ(node.output.size(), 2u);
  EXPECT_EQ(node.output[0].value, 3);
  EXPECT_EQ(node.output[1].symbol, 7u);
  node.inputs[0][0] = sdk::Known(6);
  EXPECT_EQ(GradientFailure(rule, node), "The gradient of output 0 ('Y') needs the size of the output on axis 0.");
  node.inputs[0].pop_back();
  EXPECT_EQ(GradientFailure(rule, node), "The gradient of output 0 ('Y') has rank 1; the output has rank 2.");
  node.inputs[1].pop_back();
  EXPECT_EQ(GradientFailure(rule, node), "rank 1 is not 2");
}

TEST(SdkGradientRule, NeedsTheShapeOfEachInput) {
  FakeInfer node;
  node.inputs = {{sdk::Known(5), sdk::Known(5)}};
  EXPECT_EQ(GradientFailure(&sdk::InferGradientOf<kLonely>, node),
            "The gradient of Lonely gets nothing with the shape of input 0 ('A').");
}

// ---- gradients ----

struct FakeGrad {
  std::vector<std::string> nodes;
  uint64_t result = 0;
};
FakeGrad& Grad(tenon_grad* grad) { return *reinterpret_cast<FakeGrad*>(grad); }

TEST(SdkGradient, BuilderAddsNodes) {
  tenon_gradient_api api = TENON_INIT(tenon_gradient_api);
  api.input = [](tenon_grad*, uint32_t index) -> uint64_t { return 1 + index; };
  api.output_grad = [](tenon_grad*, uint32_t) -> uint64_t { return 10; };
  api.needs_grad = [](tenon_grad*, uint32_t index) -> uint32_t { return index == 0 ? 1 : 0; };
  api.op = [](tenon_grad* grad, tenon_str, tenon_str op_type, uint32_t, const tenon_attribute*, uint32_t, uint32_t,
              const uint64_t*, uint32_t, uint64_t* outputs, uint32_t count) -> int32_t {
    Grad(grad).nodes.emplace_back(View(op_type));
    for (uint32_t i = 0; i < count; ++i) outputs[i] = 100 + i;
    return TENON_OK;
  };
  api.set_input_grad = [](tenon_grad* grad, uint32_t, uint64_t value) -> int32_t {
    Grad(grad).result = value;
    return TENON_OK;
  };
  FakeGrad grad;
  const int32_t code = sdk::RunGradient(&api, reinterpret_cast<tenon_grad*>(&grad), [](sdk::Gradient& builder) {
    if (builder.Needs(0)) builder.SetInputGrad(0, builder.Op("", "Mul", {builder.OutputGrad(0), builder.Input(1)}));
    if (builder.Needs(1)) builder.Fail(TENON_INTERNAL, "nobody asked");
  });
  EXPECT_EQ(code, TENON_OK);
  ASSERT_EQ(grad.nodes.size(), 1u);
  EXPECT_EQ(grad.nodes[0], "Mul");
  EXPECT_EQ(grad.result, 100u);
}

// ---- tables ----

bool AcceptThree(const sdk::Match& match, sdk::Reason& reason) {
  return match["w"].dim(0) == 3 || reason.No("dim ", match["w"].dim(0), " is not 3");
}
constexpr tenon_saved_def kSaved[] = {sdk::SavedValue("winner", TENON_DTYPE_U8, "p")};
constexpr tenon_gradient_source kSources[] = {sdk::FromSaved(0), sdk::FromOutputGrad(0)};
constexpr uint32_t kGradInputs[] = {0, 1};
constexpr tenon_paired_gradient kGradient = sdk::PairedGradient("test", "ConvPoolGrad", 1, kSources, kGradInputs);
struct FusedTables {
  static sdk::Table<tenon_fused_def> Fused() {
    static constexpr tenon_fused_def kFused[] = {
        sdk::FusedBuilder("conv_pool", "pattern(%x, %w) { %c = Conv(%x, %w) %p = MaxPool(%c) return %p }", "test",
                          "ConvPool", "cpu")
            .Saved(kSaved)
            .Gradient(&kGradient)
            .Match<&AcceptThree>(),
    };
    return kFused;
  }
};

TEST(SdkFusion, TableAndPredicate) {
  const tenon_interface record = sdk::FusedInterface<FusedTables>();
  const auto* table = static_cast<const tenon_subgraph_vtable*>(record.vtable);
  const tenon_fused_def* def = nullptr;
  uint64_t count = 0;
  uint64_t stride = 0;
  ASSERT_EQ(table->list_fused(nullptr, &def, &count, &stride, nullptr), TENON_OK);
  ASSERT_EQ(count, 1u);
  EXPECT_EQ(def->stage, static_cast<uint32_t>(TENON_FUSED_BEFORE_AUTODIFF));
  EXPECT_EQ(View(def->saved->like), "p");
  EXPECT_EQ(def->gradient->source_count, 2u);

  const std::vector<int64_t> dims = {3};
  tenon_value_desc desc = DescOf(TENON_DTYPE_F32, dims);
  tenon_match_value value = TENON_INIT(tenon_match_value);
  value.name = Str("w");
  value.desc = &desc;
  tenon_match match = TENON_INIT(tenon_match);
  match.values = &value;
  match.value_count = 1;
  match.value_stride = sizeof(value);
  uint32_t accept = 0;
  ASSERT_EQ(def->match(nullptr, def, &match, &accept, nullptr), TENON_OK);
  EXPECT_EQ(accept, 1u);
  const std::vector<int64_t> four = {4};
  desc.dims = four.data();
  std::string reason;
  tenon_reason_sink sink = TENON_INIT(tenon_reason_sink);
  sink.user = &reason;
  sink.reason = [](void* user, int32_t, tenon_str text) { *static_cast<std::string*>(user) = std::string(View(text)); };
  ASSERT_EQ(def->match(nullptr, def, &match, &accept, &sink), TENON_OK);
  EXPECT_EQ(accept, 0u);
  EXPECT_EQ(reason, "dim 4 is not 3");
}

constexpr tenon_param_def kScaleInputs[] = {sdk::Param("X")};
constexpr tenon_param_def kScaleOutputs[] = {sdk::Param("Y")};
constexpr tenon_attribute kOne = sdk::FloatDefault(1.0);
constexpr tenon_attribute_def kScaleAttributes[] = {
    sdk::AttributeDef("factor", TENON_ATTRIBUTE_FLOAT, 0, &kOne, "what to multiply with")};
constexpr tenon_operator_def kScale = sdk::OperatorBuilder("test", "Scale", 1)
                                          .Inputs(kScaleInputs)
                                          .Outputs(kScaleOutputs)
                                          .Attributes(kScaleAttributes)
                                          .ShapeFamily(TENON_SHAPE_SAME_AS_INPUT)
                                          .NoGradient();

TEST(SdkOperator, DefinitionIsAConstant) {
  EXPECT_EQ(kScale.input_count, 1u);
  EXPECT_EQ(kScale.attributes[0].default_value->f64, 1.0);
  EXPECT_EQ(kScale.gradient_form, static_cast<uint32_t>(TENON_GRADIENT_NONE));
  EXPECT_EQ(kScale.struct_size, sizeof(tenon_operator_def));
}

TEST(SdkPlugin, FailingStartsLeaveNothing) {
  struct Throwing : sdk::Plugin {
    int32_t Start(const tenon_create_args&, sdk::Error&) override { throw std::runtime_error("no driver"); }
  };
  MiniHost host;
  tenon_create_args args = TENON_INIT(tenon_create_args);
  args.host = &host.api;
  tenon_plugin* plugin = nullptr;
  tenon_error error;
  EXPECT_EQ(sdk::CreatePlugin<Throwing>(&args, &plugin, &error), TENON_INTERNAL);
  EXPECT_EQ(plugin, nullptr);
  EXPECT_NE(error.message.find("no driver"), std::string::npos);
}

}  // namespace
}  // namespace tenon::test
