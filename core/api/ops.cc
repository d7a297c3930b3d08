#include "core/api/internal.h"
#include "core/exec/random_key.h"

namespace tenon::api {
namespace {

tenon::Attributes ToAttributes(const Attributes& attributes) {
  tenon::Attributes made;
  for (const Attribute& attribute : attributes)
    std::visit([&](const auto& value) { made.Set(attribute.name, AttrValue(value)); }, attribute.value);
  return made;
}

exec::EagerEngine& EngineOf(std::string_view name, const std::vector<Tensor>& inputs) {
  exec::EagerEngine* engine = nullptr;
  for (const Tensor& input : inputs) {
    if (!input) continue;
    exec::EagerEngine* of = &Tensor::Access::EngineOf(input);
    if (engine != nullptr && of != engine) Throw(InvalidArgument("The inputs of {} belong to two runtimes.", name));
    engine = of;
  }
  if (engine == nullptr)
    Throw(InvalidArgument("Operator {} was given no tensor: there is no runtime to run it on.", name));
  return *engine;
}

exec::EagerOp* FindOp(exec::EagerEngine& engine, std::string_view name, const Attributes& attributes) {
  const std::size_t dot = name.rfind('.');
  const std::string_view domain = dot == std::string_view::npos ? "" : name.substr(0, dot);
  const std::string_view type = dot == std::string_view::npos ? name : name.substr(dot + 1);
  if (attributes.empty()) return Value(engine.Op(domain, type));
  return Value(engine.Op(domain, type, ToAttributes(attributes)));
}

// Random numbers of call n are the same for the same seed, whatever was called between.
RandomState NextRandom(exec::EagerEngine& engine, const exec::EagerOp& op) {
  if (!op.def().random()) return {};
  Runtime::Core* core = Runtime::Core::Of(&engine);
  return {exec::RandomKey(core->seed, op.def().type()), ++core->random_calls << 32};
}

void Apply(exec::EagerEngine& engine, exec::EagerOp& op, std::span<const exec::EagerTensor> inputs,
           std::span<exec::EagerTensor> outputs) {
  exec::EagerCall call;
  call.random = NextRandom(engine, op);
  Check(engine.Run(op, inputs, outputs, call));
}

// Operators without attributes: looked up once for each runtime.
enum Shortcut { kAdd, kSub, kMul, kDiv, kMatMul, kNeg, kExp, kLog, kSqrt, kRelu, kSigmoid, kTanh };
constexpr const char* kShortcutNames[] = {"Add", "Sub", "Mul",  "Div",  "MatMul",  "Neg",
                                          "Exp", "Log", "Sqrt", "Relu", "Sigmoid", "Tanh"};
static_assert(std::size(kShortcutNames) <= Runtime::Core::kShortcuts);

Tensor ApplyShortcut(Shortcut shortcut, std::initializer_list<const Tensor*> inputs) {
  exec::EagerTensor operands[2];
  std::size_t count = 0;
  for (const Tensor* input : inputs) {
    Tensor::Access::Required(*input);
    operands[count++] = Tensor::Access::Handle(*input);
  }
  exec::EagerEngine& engine = *operands[0].value()->block->engine;
  if (count == 2 && operands[1].value()->block->engine != &engine) [[unlikely]]
    Throw(InvalidArgument("The inputs of {} belong to two runtimes.", kShortcutNames[shortcut]));
  exec::EagerOp*& op = Runtime::Core::Of(&engine)->shortcuts[shortcut];
  if (op == nullptr) op = Value(engine.Op("", kShortcutNames[shortcut]));
  exec::EagerTensor result;
  Check(engine.Run(*op, {operands, count}, {&result, 1}));
  return Tensor::Access::Wrap(std::move(result));
}

}  // namespace

Tensor Op(std::string_view name, const std::vector<Tensor>& inputs, const Attributes& attributes) {
  exec::EagerEngine& engine = EngineOf(name, inputs);
  exec::EagerOp* op = FindOp(engine, name, attributes);
  exec::EagerTensor result;
  if (inputs.size() <= 4) {
    exec::EagerTensor operands[4];
    for (std::size_t i = 0; i < inputs.size(); ++i) operands[i] = Tensor::Access::Handle(inputs[i]);
    Apply(engine, *op, {operands, inputs.size()}, {&result, 1});
  } else {
    std::vector<exec::EagerTensor> operands;
    for (const Tensor& input : inputs) operands.push_back(Tensor::Access::Handle(input));
    Apply(engine, *op, operands, {&result, 1});
  }
  return Tensor::Access::Wrap(std::move(result));
}

std::vector<Tensor> Op(std::string_view name, const std::vector<Tensor>& inputs, const Attributes& attributes,
                       int outputs) {
  if (outputs < 1) Throw(InvalidArgument("Operator {} was asked for {} outputs.", name, outputs));
  exec::EagerEngine& engine = EngineOf(name, inputs);
  exec::EagerOp* op = FindOp(engine, name, attributes);
  std::vector<exec::EagerTensor> operands, results(static_cast<std::size_t>(outputs));
  for (const Tensor& input : inputs) operands.push_back(Tensor::Access::Handle(input));
  Apply(engine, *op, operands, results);
  std::vector<Tensor> made;
  for (exec::EagerTensor& result : results) made.push_back(Tensor::Access::Wrap(std::move(result)));
  return made;
}

std::vector<Tensor> Gradients(const Tensor& loss, const std::vector<Tensor>& targets, const GradientOptions& options) {
  Tensor::Access::Required(loss);
  std::vector<exec::EagerTensor> wanted;
  for (const Tensor& target : targets) wanted.push_back(Tensor::Access::Handle(target));
  exec::GradientOptions how;
  how.retain = options.retain;
  how.record = options.record;
  auto gradients = Value(Tensor::Access::EngineOf(loss).Gradients(Tensor::Access::Handle(loss), wanted, how));
  std::vector<Tensor> made;
  for (exec::EagerTensor& gradient : gradients) made.push_back(Tensor::Access::Wrap(std::move(gradient)));
  return made;
}

NoRecording::NoRecording(const Runtime& runtime) : core_(runtime.core()), before_(core_->engine->recording()) {
  core_->engine->set_recording(false);
}
NoRecording::~NoRecording() { core_->engine->set_recording(before_); }

namespace ops {
Tensor Add(const Tensor& a, const Tensor& b) { return ApplyShortcut(kAdd, {&a, &b}); }
Tensor Sub(const Tensor& a, const Tensor& b) { return ApplyShortcut(kSub, {&a, &b}); }
Tensor Mul(const Tensor& a, const Tensor& b) { return ApplyShortcut(kMul, {&a, &b}); }
Tensor Div(const Tensor& a, const Tensor& b) { return ApplyShortcut(kDiv, {&a, &b}); }
Tensor MatMul(const Tensor& a, const Tensor& b) { return ApplyShortcut(kMatMul, {&a, &b}); }
Tensor Neg(const Tensor& x) { return ApplyShortcut(kNeg, {&x}); }
Tensor Exp(const Tensor& x) { return ApplyShortcut(kExp, {&x}); }
Tensor Log(const Tensor& x) { return ApplyShortcut(kLog, {&x}); }
Tensor Sqrt(const Tensor& x) { return ApplyShortcut(kSqrt, {&x}); }
Tensor Relu(const Tensor& x) { return ApplyShortcut(kRelu, {&x}); }
Tensor Sigmoid(const Tensor& x) { return ApplyShortcut(kSigmoid, {&x}); }
Tensor Tanh(const Tensor& x) { return ApplyShortcut(kTanh, {&x}); }
}  // namespace ops

}  // namespace tenon::api
