// Operators in libraries of the legacy "ahead of time" interface: C functions of seven arguments, with optional Init,
// InferShape and InferType beside them. The host gives the libraries as options libraries.0, libraries.1 ...
#include <dlfcn.h>

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "plugins/legacy_aot/operator.h"
#include "plugins/legacy_aot/symbols.h"

namespace tenon::aot {
namespace {

constexpr std::string_view kSuffixes[] = {"Init", "InferShape", "InferType"};

bool Contains(const std::vector<std::string>& names, const std::string& name) {
  return std::binary_search(names.begin(), names.end(), name);
}

// The functions that are operators: those that are no helper of another one.
std::vector<std::string> OperatorNames(const std::vector<std::string>& functions) {
  std::vector<std::string> names;
  for (const std::string& name : functions) {
    const bool helper = std::any_of(std::begin(kSuffixes), std::end(kSuffixes), [&](std::string_view suffix) {
      return name.size() > suffix.size() && std::string_view(name).substr(name.size() - suffix.size()) == suffix &&
             Contains(functions, name.substr(0, name.size() - suffix.size()));
    });
    if (!helper) names.push_back(name);
  }
  return names;
}

class LegacyPlugin final : public sdk::Plugin {
 public:
  int32_t Start(const tenon_create_args&, sdk::Error& error) override {
    int64_t count = 0;
    int32_t code = host().Option("count", 0, 0, 1000, "number of libraries", count, error);
    for (int64_t i = 0; code == TENON_OK && i < count; ++i) code = OpenLibrary("libraries." + std::to_string(i), error);
    if (code != TENON_OK) return code;
    for (const Operator& op : tables_.operators) {
      tables_.defs.push_back(op.def());
      tables_.kernels.push_back(op.kernel());
    }
    return TENON_OK;
  }

  const std::vector<tenon_operator_def>& defs() const { return tables_.defs; }
  const std::vector<tenon_kernel_def>& kernels() const { return tables_.kernels; }

 private:
  int32_t OpenLibrary(const std::string& key, sdk::Error& error) {
    std::string_view path, abi;
    int32_t code = host().Option(key + ".path", "", "the library", path, error);
    if (code != TENON_OK) return code;
    code = host().Option(key + ".string_abi", "auto", "std::string of the library: auto, old or cxx11", abi, error);
    if (code != TENON_OK) return code;
    if (abi != "auto" && abi != "old" && abi != "cxx11")
      return error.Fail(TENON_INVALID_ARGUMENT, "Option string_abi is '", abi, "'; it can be auto, old or cxx11.");
    const std::string file(path.substr(path.rfind('/') + 1));
    void* handle = dlopen(std::string(path).c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (handle == nullptr) return error.Fail(TENON_UNAVAILABLE, "Cannot open ", path, ": ", dlerror());
    const ExportedSymbols symbols = ReadSymbols(handle);
    const std::vector<std::string> names = OperatorNames(symbols.functions);
    if (names.empty()) return error.Fail(TENON_NOT_FOUND, file, " exports no C function that could be an operator.");
    const StringAbi string_abi = abi == "old"     ? StringAbi::kOld
                                 : abi == "cxx11" ? StringAbi::kCxx11
                                                  : symbols.string_abi;
    for (const std::string& name : names) AddOperator(key, name, file, handle, string_abi, error);
    for (const auto& [forward, backward] : gradients_) SetGradient(*forward, backward, file);
    gradients_.clear();
    return TENON_OK;
  }

  void AddOperator(const std::string& key, const std::string& name, const std::string& file, void* handle,
                   StringAbi string_abi, sdk::Error& error) {
    for (const Operator& other : tables_.operators) {
      if (other.name() == name)
        throw sdk::Failure(TENON_ALREADY_EXISTS, "Operator ", name, " is in ", other.file(), " and in ", file, ".");
    }
    std::string_view text;
    const int32_t code = host().Option(key + ".operators." + name, "",
                                       "its operands and attributes: (x, w) -> (y) {alpha: float = 1}", text, error);
    if (code != TENON_OK) throw sdk::Failure(code);
    const auto function = [&](const std::string& symbol) { return dlsym(handle, symbol.c_str()); };
    Functions functions;
    functions.run = reinterpret_cast<RunFunction>(function(name));
    functions.init = reinterpret_cast<InitFunction>(function(name + "Init"));
    functions.infer_shape = reinterpret_cast<AnyFunction>(function(name + "InferShape"));
    functions.infer_type = reinterpret_cast<AnyFunction>(function(name + "InferType"));
    Operator& op = tables_.operators.emplace_back(name, file, functions, string_abi, ParseSignature(text));
    if (!op.signature().gradient.empty()) gradients_.emplace(&op, op.signature().gradient);
  }

  // A backward operator without a signature of its own gets the one that its place demands.
  void SetGradient(Operator& forward, const std::string& backward, const std::string& file) {
    const auto found = std::find_if(tables_.operators.begin(), tables_.operators.end(),
                                    [&](const Operator& op) { return op.name() == backward && op.file() == file; });
    if (found == tables_.operators.end())
      throw sdk::Failure(TENON_NOT_FOUND, file, " exports no function ", backward, ", which is to be the gradient of ",
                         forward.name(), ".");
    if (forward.signature().inputs.empty())
      throw sdk::Failure(TENON_INVALID_ARGUMENT, "The signature of ", forward.name(),
                         " names a gradient and no inputs; a gradient needs to know them.");
    Operator& made = tables_.backwards.emplace_back(found->name() + ".of." + forward.name(), file, found->functions(),
                                                    found->string_abi(), BackwardOf(forward.signature()));
    forward.SetGradient(made);
    tables_.defs.push_back(made.def());
    tables_.kernels.push_back(made.kernel());
  }

  static Signature BackwardOf(const Signature& forward) {
    Signature backward;
    backward.inputs = forward.inputs;
    backward.outputs.clear();
    for (const std::string& output : forward.outputs) backward.inputs.push_back("out_" + output);
    for (const std::string& output : forward.outputs) backward.inputs.push_back("grad_" + output);
    for (size_t i = 0; i < forward.inputs.size(); ++i) {
      backward.outputs.push_back("grad_" + forward.inputs[i]);
      backward.like.push_back(static_cast<int>(i));
    }
    backward.attributes = forward.attributes;
    return backward;
  }

  // What hosts may read as long as the library is mapped, so it is never freed.
  struct Tables {
    std::deque<Operator> operators, backwards;  // addresses stay
    std::vector<tenon_operator_def> defs;
    std::vector<tenon_kernel_def> kernels;
  };
  static Tables& NewTables() {
    static auto* const all = new std::vector<std::unique_ptr<Tables>>;
    return *all->emplace_back(std::make_unique<Tables>());
  }

  Tables& tables_ = NewTables();
  std::map<Operator*, std::string> gradients_;
};

// Lists of an instance; without one there is nothing to list.
template <typename T, const std::vector<T>& (LegacyPlugin::*kList)() const>
int32_t List(tenon_plugin* plugin, const T** first, uint64_t* count, uint64_t* stride, tenon_error*) noexcept {
  *stride = sizeof(T);
  *first = nullptr;
  *count = 0;
  if (plugin == nullptr) return TENON_FAILED_PRECONDITION;
  const std::vector<T>& list = (static_cast<LegacyPlugin*>(sdk::Plugin::From(plugin))->*kList)();
  *first = list.data();
  *count = list.size();
  return TENON_OK;
}

constexpr tenon_op_vtable MakeTable() {
  tenon_op_vtable table = TENON_INIT(tenon_op_vtable);
  table.list_operators = &List<tenon_operator_def, &LegacyPlugin::defs>;
  table.list_kernels = &List<tenon_kernel_def, &LegacyPlugin::kernels>;
  return table;
}
constexpr tenon_op_vtable kTable = MakeTable();
constexpr tenon_interface kInterfaces[] = {sdk::Interface(TENON_INTERFACE_OP, &kTable)};

}  // namespace
}  // namespace tenon::aot

TENON_SDK_PLUGIN(tenon::aot::LegacyPlugin, "org.tenon.legacy_aot", "0.1.0", "Tenon authors", "Apache-2.0",
                 TENON_KIND_OP, tenon::aot::kInterfaces);
