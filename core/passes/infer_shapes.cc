#include "core/passes/pass.h"

namespace tenon::passes {

Result<bool> InferShapes(Compilation& state) {
  std::vector<ValueType> before;
  for (ValueId id = 0; id < state.graph.num_values(); ++id) before.push_back(state.graph.value(id).type);
  TENON_TRY(state.graph.InferAll());
  for (ValueId id = 0; id < state.graph.num_values(); ++id) {
    if (!(before[static_cast<std::size_t>(id)] == state.graph.value(id).type)) return true;
  }
  return false;
}

}  // namespace tenon::passes
