// Mutations of kernels.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <map>
#include <utility>
#include <vector>

#include "mutations.h"

namespace mutant {
namespace {

const tenon_tensor& At(const tenon_tensor* first, uint32_t stride, uint32_t index) {
  return *reinterpret_cast<const tenon_tensor*>(reinterpret_cast<const char*>(first) + uint64_t{stride} * index);
}
const tenon_tensor& In(const tenon_kernel_call* call, uint32_t index) {
  return At(call->inputs, call->input_stride, index);
}
const tenon_tensor& Out(const tenon_kernel_call* call, uint32_t index) {
  return At(call->outputs, call->output_stride, index);
}
int64_t Elements(const tenon_tensor& tensor) {
  int64_t count = 1;
  for (uint32_t axis = 0; axis < tensor.rank; ++axis) count *= tensor.dims[axis];
  return count;
}
float* Floats(const tenon_tensor& tensor) { return reinterpret_cast<float*>(tensor.address + tensor.byte_offset); }

// Runs the sound kernel to its end.
int32_t RunSound(tenon_kernel* kernel, const tenon_kernel_call* call, tenon_error* error) {
  const int32_t code = SoundKernel(kernel).execute(kernel, call, error);
  if (code == TENON_OK && call->stream != nullptr) Sound().stream.stream_synchronize(call->stream, UINT64_MAX, nullptr);
  return code;
}

void IgnoresStride(Tables* tables) {
  tables->kernel.execute = [](tenon_kernel* kernel, const tenon_kernel_call* call, tenon_error* error) {
    tenon_kernel_call packed = *call;
    std::vector<tenon_tensor> views;
    for (uint32_t i = 0; i < call->output_count; ++i) views.push_back(At(call->outputs, sizeof(tenon_tensor), i));
    for (tenon_tensor& view : views) view.struct_size = sizeof(tenon_tensor);
    packed.outputs = views.data();
    packed.output_stride = sizeof(tenon_tensor);
    std::vector<tenon_tensor> inputs;
    for (uint32_t i = 0; i < call->input_count; ++i) inputs.push_back(At(call->inputs, sizeof(tenon_tensor), i));
    packed.inputs = inputs.data();
    packed.input_stride = sizeof(tenon_tensor);
    return RunSound(kernel, &packed, error);
  };
}

void MissesTail(Tables* tables) {
  tables->kernel.execute = [](tenon_kernel* kernel, const tenon_kernel_call* call, tenon_error* error) {
    const tenon_tensor& out = Out(call, 0);
    const int64_t count = out.dtype == TENON_DTYPE_F32 ? Elements(out) : 0;
    const float kept = count > 8 && count % 8 == 1 ? Floats(out)[count - 1] : 0;
    const int32_t code = RunSound(kernel, call, error);
    if (count > 8 && count % 8 == 1) Floats(out)[count - 1] = kept;
    return code;
  };
}

void SwallowsNan(Tables* tables) {
  tables->kernel.execute = [](tenon_kernel* kernel, const tenon_kernel_call* call, tenon_error* error) {
    const int32_t code = RunSound(kernel, call, error);
    const tenon_tensor& out = Out(call, 0);
    for (int64_t i = 0; out.dtype == TENON_DTYPE_F32 && i < Elements(out); ++i) {
      if (std::isnan(Floats(out)[i])) Floats(out)[i] = 0;
    }
    return code;
  };
}

void SlightlyWrong(Tables* tables) {
  tables->kernel.execute = [](tenon_kernel* kernel, const tenon_kernel_call* call, tenon_error* error) {
    const int32_t code = RunSound(kernel, call, error);
    const tenon_tensor& out = Out(call, 0);
    for (int64_t i = 0; out.dtype == TENON_DTYPE_F32 && i < Elements(out); ++i) Floats(out)[i] *= 1.001F;
    return code;
  };
}

void WritesPastOutput(Tables* tables) {
  tables->kernel.execute = [](tenon_kernel* kernel, const tenon_kernel_call* call, tenon_error* error) {
    const int32_t code = RunSound(kernel, call, error);
    const tenon_tensor& out = Out(call, 0);
    if (out.dtype == TENON_DTYPE_F32) Floats(out)[Elements(out)] = 1;
    return code;
  };
}

// A wide load over the end, or before the start, whose superfluous lanes are dropped.
template <int kFrom, int kTo>
int32_t ReadsBeyond(tenon_kernel* kernel, const tenon_kernel_call* call, tenon_error* error) {
  const int32_t code = RunSound(kernel, call, error);
  for (uint32_t i = 0; i < call->input_count; ++i) {
    const tenon_tensor& in = In(call, i);
    if (in.address == 0 || in.dtype != TENON_DTYPE_F32) continue;
    const int64_t edge = kFrom < 0 ? 0 : Elements(in);
    volatile float dropped = 0;
    for (int lane = kFrom; lane < kTo; ++lane) dropped = Floats(in)[edge + lane];
    (void)dropped;
  }
  return code;
}

void ReadsPastInput(Tables* tables) { tables->kernel.execute = ReadsBeyond<0, 4>; }

void ReadsBeforeInput(Tables* tables) { tables->kernel.execute = ReadsBeyond<-2, 0>; }

// What lies there is put back: the bytes behind an output look untouched afterwards.
void WritesPastOutputAndBack(Tables* tables) {
  tables->kernel.execute = [](tenon_kernel* kernel, const tenon_kernel_call* call, tenon_error* error) {
    const int32_t code = RunSound(kernel, call, error);
    const tenon_tensor& out = Out(call, 0);
    if (out.dtype != TENON_DTYPE_F32) return code;
    volatile float* const behind = Floats(out) + Elements(out);
    const float kept = *behind;
    *behind = 1;
    *behind = kept;
    return code;
  };
}

void WritesPastWorkspace(Tables* tables) {
  tables->kernel.execute = [](tenon_kernel* kernel, const tenon_kernel_call* call, tenon_error* error) {
    const int32_t code = RunSound(kernel, call, error);
    if (call->workspace_bytes > 0) *reinterpret_cast<char*>(call->workspace + call->workspace_bytes) = 1;
    return code;
  };
}

void ReadsWorkspace(Tables* tables) {
  tables->kernel.execute = [](tenon_kernel* kernel, const tenon_kernel_call* call, tenon_error* error) {
    const bool filled = call->workspace_bytes > 0 && *reinterpret_cast<unsigned char*>(call->workspace) != 0;
    const int32_t code = RunSound(kernel, call, error);
    const tenon_tensor& out = Out(call, 0);
    if (filled && out.dtype == TENON_DTYPE_F32 && Elements(out) > 0) Floats(out)[0] += 1e-6F;
    return code;
  };
}

// Takes an input at an address that it knows for one that it has read already.
void KeepsFirstAnswer(Tables* tables) {
  tables->kernel.execute = [](tenon_kernel* kernel, const tenon_kernel_call* call, tenon_error* error) {
    static std::map<std::pair<tenon_kernel*, uint64_t>, std::vector<float>> answers;
    const int32_t code = RunSound(kernel, call, error);
    const tenon_tensor& out = Out(call, 0);
    if (code != TENON_OK || call->input_count == 0 || out.dtype != TENON_DTYPE_F32 || Elements(out) == 0) return code;
    const auto count = static_cast<size_t>(Elements(out));
    std::vector<float>& answer = answers[{kernel, In(call, 0).address}];
    if (answer.size() == count) {
      std::copy(answer.begin(), answer.end(), Floats(out));
    } else {
      answer.assign(Floats(out), Floats(out) + count);
    }
    return code;
  };
}

void ChangesInput(Tables* tables) {
  tables->kernel.execute = [](tenon_kernel* kernel, const tenon_kernel_call* call, tenon_error* error) {
    const int32_t code = RunSound(kernel, call, error);
    const tenon_tensor& in = In(call, 0);
    if (in.dtype == TENON_DTYPE_F32 && Elements(in) > 0) Floats(in)[0] += 1;
    return code;
  };
}

void PromisesTooMuch(Tables* tables) {
  tables->kernel.supports = [](tenon_plugin*, const tenon_kernel_def*, const tenon_kernel_query*, uint32_t* verdict,
                               const tenon_reason_sink*) {
    *verdict = TENON_VERDICT_YES;
    return static_cast<int32_t>(TENON_OK);
  };
  tables->kernel.create = [](tenon_plugin* plugin, const tenon_kernel_def* def, const tenon_kernel_query* query,
                             tenon_kernel** out, tenon_error* error) {
    uint32_t verdict = 0;
    SoundKernel(def).supports(plugin, def, query, &verdict, nullptr);
    if (verdict == TENON_VERDICT_NO) return Fail(error, TENON_UNIMPLEMENTED, "This is not implemented.");
    return SoundKernel(def).create(plugin, def, query, out, error);
  };
}

void RefusesWithoutReason(Tables* tables) {
  tables->kernel.supports = [](tenon_plugin* plugin, const tenon_kernel_def* def, const tenon_kernel_query* query,
                               uint32_t* verdict, const tenon_reason_sink*) {
    return SoundKernel(def).supports(plugin, def, query, verdict, nullptr);
  };
}

void IgnoresOffset(Tables* tables) {
  tables->kernel.execute = [](tenon_kernel* kernel, const tenon_kernel_call* call, tenon_error* error) {
    std::vector<tenon_tensor> inputs;
    for (uint32_t i = 0; i < call->input_count; ++i) inputs.push_back(In(call, i));
    for (tenon_tensor& input : inputs) input.byte_offset = 0;
    tenon_kernel_call without = *call;
    without.inputs = inputs.data();
    without.input_stride = sizeof(tenon_tensor);
    return RunSound(kernel, &without, error);
  };
}

void RemembersCalls(Tables* tables) {
  tables->kernel.execute = [](tenon_kernel* kernel, const tenon_kernel_call* call, tenon_error* error) {
    static std::atomic<int> calls{0};
    const int32_t code = RunSound(kernel, call, error);
    const tenon_tensor& out = Out(call, 0);
    if (out.dtype == TENON_DTYPE_F32 && Elements(out) > 0)
      Floats(out)[0] = std::nextafterf(Floats(out)[0], static_cast<float>(calls.fetch_add(1) % 2) * 10 - 5);
    return code;
  };
}

void AllocatesInExecute(Tables* tables) {
  tables->kernel.execute = [](tenon_kernel* kernel, const tenon_kernel_call* call, tenon_error* error) {
    const tenon_tensor& out = Out(call, 0);
    tenon_buffer* scratch = nullptr;
    uint64_t address = 0;
    if (out.space != nullptr)
      Sound().memory.alloc(out.space, 1 << 20, 0, nullptr, TENON_ALLOC_TEMPORARY, &scratch, &address, nullptr);
    const int32_t code = RunSound(kernel, call, error);
    Sound().memory.free(scratch, nullptr);
    return code;
  };
}

// A scratch array that all calls share.
void NotReentrant(Tables* tables) {
  tables->kernel.execute = [](tenon_kernel* kernel, const tenon_kernel_call* call, tenon_error* error) {
    static std::atomic<int> inside{0};
    const int others = inside.fetch_add(1);
    const int32_t code = RunSound(kernel, call, error);
    for (volatile int spin = 0; spin < 200000;) spin = spin + 1;
    const tenon_tensor& out = Out(call, 0);
    if ((others > 0 || inside.load() > 1) && out.dtype == TENON_DTYPE_F32 && Elements(out) > 0) Floats(out)[0] = 77;
    inside.fetch_sub(1);
    return code;
  };
}

void ThreadsChangeResult(Tables* tables) {
  tables->kernel.execute = [](tenon_kernel* kernel, const tenon_kernel_call* call, tenon_error* error) {
    const int32_t code = RunSound(kernel, call, error);
    const tenon_tensor& out = Out(call, 0);
    if (call->thread_budget == 3 && out.dtype == TENON_DTYPE_F32 && Elements(out) > 0)
      Floats(out)[0] = std::nextafterf(Floats(out)[0], 100);
    return code;
  };
}

// The definitions of the sound plugin with another shape rule.
void MutateRule(Tables* tables, tenon_infer_fn rule) {
  static tenon_infer_fn chosen = nullptr;
  chosen = rule;
  tables->op.list_operators = [](tenon_plugin* plugin, const tenon_operator_def** first, uint64_t* count,
                                 uint64_t* stride, tenon_error* error) {
    static auto* copies = new std::vector<tenon_operator_def>;
    const int32_t code = Sound().op.list_operators(plugin, first, count, stride, error);
    if (copies->empty()) {
      for (uint64_t i = 0; i < *count; ++i) {
        copies->push_back(
            *reinterpret_cast<const tenon_operator_def*>(reinterpret_cast<const char*>(*first) + i * *stride));
        copies->back().infer = chosen;
      }
    }
    *first = copies->data();
    *stride = sizeof(tenon_operator_def);
    return code;
  };
}

// Copies dims of the input, the last one changed by `last`.
template <class F>
int32_t InferWith(const tenon_infer_api* api, tenon_infer* infer, F&& last) {
  tenon_dim dims[8] = {};
  const int32_t rank = api->input_rank(infer, 0);
  if (rank < 1 || rank > 8) return TENON_INVALID_ARGUMENT;
  for (int32_t axis = 0; axis < rank; ++axis) api->input_dim(infer, 0, static_cast<uint32_t>(axis), &dims[axis]);
  dims[rank - 1] = last(dims[rank - 1]);
  return api->set_output(infer, 0, TENON_DTYPE_F32, rank, dims);
}

// Twice the truth: the kernel leaves half of the output unwritten.
void RulePromisesMore(Tables* tables) {
  MutateRule(tables, [](const tenon_operator_def*, const tenon_infer_api* api, tenon_infer* infer) {
    return InferWith(api, infer, [](tenon_dim dim) { return dim; });
  });
  tables->kernel.execute = [](tenon_kernel* kernel, const tenon_kernel_call* call, tenon_error* error) {
    // The sound kernel counts by the output; it must not read past its input.
    const tenon_tensor& out = Out(call, 0);
    std::vector<int64_t> dims(out.dims, out.dims + out.rank);
    if (!dims.empty() && Elements(out) == Elements(In(call, 0)) && call->input_count == 1) dims.back() /= 2;
    tenon_tensor half = out;
    half.dims = dims.data();
    tenon_kernel_call mine = *call;
    mine.outputs = &half;
    return RunSound(kernel, &mine, error);
  };
}

// Right for known dims, another answer for symbols.
void RuleDiffersWithSymbols(Tables* tables) {
  MutateRule(tables, [](const tenon_operator_def*, const tenon_infer_api* api, tenon_infer* infer) {
    return InferWith(api, infer, [api, infer](tenon_dim dim) {
      const tenon_dim two = {2, 0, TENON_DIM_KNOWN};
      tenon_dim result = dim;
      if ((dim.flags & TENON_DIM_KNOWN) != 0) api->dim_op(infer, TENON_DIM_FLOOR_DIV, dim, two, &result);
      return result;
    });
  });
}

// Each call gives another answer.
void RuleForgets(Tables* tables) {
  MutateRule(tables, [](const tenon_operator_def*, const tenon_infer_api* api, tenon_infer* infer) {
    static int64_t calls = 0;
    return InferWith(api, infer, [](tenon_dim) { return tenon_dim{++calls, 0, TENON_DIM_KNOWN}; });
  });
}

// No kernel does anything.
void RunsNothing(Tables* tables) {
  tables->kernel.execute = [](tenon_kernel*, const tenon_kernel_call*, tenon_error* error) {
    return Fail(error, TENON_INTERNAL, "This kernel is to be written.");
  };
}

constexpr Mutation kMutations[] = {
    {"runs_nothing", RunsNothing},
    {"rule_promises_more", RulePromisesMore},
    {"rule_differs_with_symbols", RuleDiffersWithSymbols},
    {"rule_forgets", RuleForgets},
    {"ignores_stride", IgnoresStride},
    {"misses_tail", MissesTail},
    {"swallows_nan", SwallowsNan},
    {"slightly_wrong", SlightlyWrong},
    {"writes_past_output", WritesPastOutput},
    {"reads_past_input", ReadsPastInput},
    {"reads_before_input", ReadsBeforeInput},
    {"writes_past_output_and_back", WritesPastOutputAndBack},
    {"writes_past_workspace", WritesPastWorkspace},
    {"reads_workspace", ReadsWorkspace},
    {"keeps_first_answer", KeepsFirstAnswer},
    {"changes_input", ChangesInput},
    {"promises_too_much", PromisesTooMuch},
    {"refuses_without_reason", RefusesWithoutReason},
    {"ignores_offset", IgnoresOffset},
    {"remembers_calls", RemembersCalls},
    {"allocates_in_execute", AllocatesInExecute},
    {"not_reentrant", NotReentrant},
    {"threads_change_result", ThreadsChangeResult},
};

}  // namespace

const Mutation* FindKernelMutation(std::string_view name) { return FindIn(kMutations, name); }

}  // namespace mutant
