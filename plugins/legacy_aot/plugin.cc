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
    const int32_t code = host().Option("count", 0, 0, 1000, "number of libraries", count, error);
    if (code != TENON_OK) return code;
    std::vector<Library> libraries;
    std::string key;
    for (int64_t i = 0; i < count; ++i) {
      libraries.push_back(OpenLibrary("libraries." + std::to_string(i)));
      key += libraries.back().key;
    }
    auto known = AllTables().find(key);
    if (known == AllTables().end()) known = AllTables().emplace(key, MakeTables(libraries)).first;
    tables_ = &known->second;
    return TENON_OK;
  }

  const std::vector<tenon_operator_def>& defs() const { return tables_->defs; }
  const std::vector<tenon_kernel_def>& kernels() const { return tables_->kernels; }

 private:
  // What hosts may read as long as the library is mapped, so it is never freed; instances with the same libraries and
  // signatures share it.
  struct Tables {
    std::deque<Operator> operators, backwards;  // addresses stay
    std::vector<tenon_operator_def> defs;
    std::vector<tenon_kernel_def> kernels;
  };
  static std::map<std::string, Tables>& AllTables() {
    static auto* const all = new std::map<std::string, Tables>;
    return *all;
  }

  struct Library {
    std::string file;
    void* handle = nullptr;
    StringAbi string_abi{};
    std::vector<std::pair<std::string, std::string>> signatures;  // by operator
    std::string key;                                              // all that its tables depend on
  };

  std::string_view Text(const std::string& key, std::string_view fallback, std::string_view help) const {
    std::string_view text;
    sdk::Error error(host().api(), nullptr);
    const int32_t code = host().Option(key, fallback, help, text, error);
    if (code != TENON_OK) throw sdk::Failure(code, "Option ", key, " needs a text.");
    return text;
  }

  Library OpenLibrary(const std::string& key) const {
    Library library;
    const std::string path(Text(key + ".path", "", "the library"));
    const std::string_view abi = Text(key + ".string_abi", "auto", "std::string of the library: auto, old or cxx11");
    if (abi != "auto" && abi != "old" && abi != "cxx11")
      throw sdk::Failure(TENON_INVALID_ARGUMENT, "Option string_abi is '", abi, "'; it can be auto, old or cxx11.");
    library.file = path.substr(path.rfind('/') + 1);
    library.handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (library.handle == nullptr) throw sdk::Failure(TENON_UNAVAILABLE, "Cannot open ", path, ": ", dlerror());
    const ExportedSymbols symbols = ReadSymbols(library.handle);
    library.string_abi = abi == "old" ? StringAbi::kOld : abi == "cxx11" ? StringAbi::kCxx11 : symbols.string_abi;
    library.key = path + '\n' + (library.string_abi == StringAbi::kOld ? "old" : "cxx11");
    for (const std::string& name : OperatorNames(symbols.functions)) {
      const std::string text(
          Text(key + ".operators." + name, "", "its operands and attributes: (x, w) -> (y) {alpha: float = 1}"));
      library.key += '\n' + name + ' ' + text;
      library.signatures.emplace_back(name, text);
    }
    if (library.signatures.empty())
      throw sdk::Failure(TENON_NOT_FOUND, library.file, " exports no C function that could be an operator.");
    return library;
  }

  static Tables MakeTables(const std::vector<Library>& libraries) {
    Tables tables;
    for (const Library& library : libraries) {
      std::map<Operator*, std::string> gradients;
      for (const auto& [name, signature] : library.signatures) {
        Operator& op = AddOperator(library, name, signature, tables);
        if (!op.signature().gradient.empty()) gradients.emplace(&op, op.signature().gradient);
      }
      for (const auto& [forward, backward] : gradients) SetGradient(*forward, backward, tables);
    }
    for (const Operator& op : tables.operators) {
      tables.defs.push_back(op.def());
      tables.kernels.push_back(op.kernel());
    }
    return tables;
  }

  static Operator& AddOperator(const Library& library, const std::string& name, const std::string& signature,
                               Tables& tables) {
    for (const Operator& other : tables.operators) {
      if (other.name() == name)
        throw sdk::Failure(TENON_ALREADY_EXISTS, "Operator ", name, " is in ", other.file(), " and in ", library.file,
                           ".");
    }
    const auto function = [&](const std::string& symbol) { return dlsym(library.handle, symbol.c_str()); };
    Functions functions;
    functions.run = reinterpret_cast<RunFunction>(function(name));
    functions.init = reinterpret_cast<InitFunction>(function(name + "Init"));
    functions.infer_shape = reinterpret_cast<AnyFunction>(function(name + "InferShape"));
    functions.infer_type = reinterpret_cast<AnyFunction>(function(name + "InferType"));
    return tables.operators.emplace_back(name, library.file, functions, library.string_abi, ParseSignature(signature));
  }

  // A backward operator without a signature of its own gets the one that its place demands.
  static void SetGradient(Operator& forward, const std::string& backward, Tables& tables) {
    const std::string& file = forward.file();
    const auto found = std::find_if(tables.operators.begin(), tables.operators.end(),
                                    [&](const Operator& op) { return op.name() == backward && op.file() == file; });
    if (found == tables.operators.end())
      throw sdk::Failure(TENON_NOT_FOUND, file, " exports no function ", backward, ", which is to be the gradient of ",
                         forward.name(), ".");
    if (forward.signature().inputs.empty())
      throw sdk::Failure(TENON_INVALID_ARGUMENT, "The signature of ", forward.name(),
                         " names a gradient and no inputs; a gradient needs to know them.");
    Operator& made = tables.backwards.emplace_back(found->name() + ".of." + forward.name(), file, found->functions(),
                                                   found->string_abi(), BackwardOf(forward.signature()));
    forward.SetGradient(made);
    tables.defs.push_back(made.def());
    tables.kernels.push_back(made.kernel());
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

  Tables* tables_ = nullptr;
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
