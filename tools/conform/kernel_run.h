// One kernel of the plugin on one call: operands in device memory between guard zones, everything downloaded and
// compared afterwards.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/exec/abi_query.h"
#include "tools/conform/guard_page.h"
#include "tools/conform/op_samples.h"
#include "tools/conform/session.h"

namespace tenon::conform {

// A kernel of the plugin and the operator that it serves.
struct KernelOf {
  const tenon_kernel_def* def = nullptr;
  const OpDef* op = nullptr;  // null: an operator that the core does not know
  std::string name() const;   // "kernel relu of Relu"
};

struct Signature {
  std::vector<std::uint32_t> inputs, outputs;
  std::uint64_t tag = 0;
  double cost = 0;
  std::string text() const;  // "layouts [0,1]->[1]"; empty when all are strided
};

// Where operands lie, on devices whose memory the host reaches: between guard bytes, or beside pages that nobody may touch,
// so that reading beyond an operand shows as well.
enum class Fence { kNone, kBehind /* operands end at such a page */, kBefore /* and start at one */ };

// How the call is made; each field is one deviation from the plain way.
struct RunWay {
  Signature signature;
  std::uint64_t extra_stride = 0;  // bytes between records of arrays, filled with garbage
  std::uint32_t thread_budget = 2;
  bool byte_offset = false;     // operands start at an offset of their address
  bool strided_inputs = false;  // inputs with gaps between rows, where the kernel takes them
  Fence fence = Fence::kNone;
  int in_place_input = -1;  // output 0 lies over this input
  RandomState random{0x1234567, 42};
  bool use_random = false;           // else that of the call
  std::uint8_t poison = 0xFF;        // what outputs and workspace hold before the call; NaN in every floating dtype
  std::uint64_t correlation_id = 0;  // of a profiled call; 0: none
  tenon_cancel* cancel = nullptr;
  tenon_stream* stream = nullptr;  // null: the session's
};

// One planned instance with its operands. Every refusal fails the case, with the plugin's words.
class KernelRun {
 public:
  KernelRun(Session& session, const KernelOf& kernel, const OpCall& call, RunWay way = {});
  ~KernelRun();
  KernelRun(const KernelRun&) = delete;
  KernelRun& operator=(const KernelRun&) = delete;

  // "kernel relu of Relu on Relu float32[3,5] {}"
  const std::string& text() const { return text_; }

  // Verdict of `supports`; the reason for a refusal goes to *reason.
  std::uint32_t Supports(std::string* reason = nullptr);
  std::vector<Signature> Signatures();

  void Create();
  void Plan();
  void PutOperands();
  // Enqueues and waits; the code that execute gave (OK unless `may_fail`).
  std::int32_t Execute(bool may_fail = false);
  // Enqueues only.
  void Enqueue();
  // Results are read on this stream from now on.
  void MoveTo(tenon_stream* stream) { way_.stream = stream; }
  // Executes with the operands of another run of the same call: for concurrent use of one instance.
  std::int32_t ExecuteOn(KernelRun& operands, bool may_fail = false);
  // Outputs as host tensors; checks all guard zones and that inputs are as they were.
  std::vector<Tensor> Results();
  // All of it.
  std::vector<Tensor> Run();
  // After Run: the same instance at the same addresses with other values in its inputs (shapes and dtypes as before).
  std::vector<Tensor> RunAgain(const std::vector<Tensor>& inputs);

  const tenon_plan_result& plan() const { return plan_; }
  const tenon_kernel_query& query() const { return query_; }
  const tenon_kernel_vtable& table() const { return table_; }
  std::string last_error() const { return std::string(error_.message_text()); }

 private:
  struct Operand {
    Tensor content;  // of an input
    DType dtype{};
    Shape shape;
    std::uint32_t layout = 0;
    bool absent = false, on_host = false;
    Block block;
    std::vector<std::byte> host;
    std::shared_ptr<FencedBytes> fence;
    std::uint64_t bytes = 0;  // of the data between the guards
    std::uint64_t shift = 0;  // where the data starts, in bytes from the start of the fenced pages
    std::vector<std::int64_t> strides;
    std::vector<std::uint8_t> before;  // of an input: what was put there
    std::uint64_t start() const;
    tenon_value_desc description() const;
  };
  void DescribeOperands();
  void ChooseLayouts();
  void DescribeCall();
  std::int32_t EnqueueOn(KernelRun& operands, bool may_fail);
  void Measure(Operand* operand, const char* what, std::uint64_t* align);
  void Place(Operand* operand, const char* what);
  void PlaceAtFence(Operand* operand, std::uint64_t align);
  void Upload(Operand* operand);
  Tensor Download(Operand& operand);
  std::vector<std::uint8_t> Raw(Operand& operand);
  void CheckGuards(Operand& operand, const std::string& what);
  tenon_tensor View(const Operand& operand) const;
  template <class T>
  void Spread(const std::vector<T>& records, std::vector<std::uint8_t>* out, std::uint32_t* stride) const;

  Session& session_;
  KernelOf kernel_of_;
  const OpCall& call_;
  RunWay way_;
  std::string text_;
  tenon_kernel_vtable table_{};
  AbiAttributes attributes_;
  std::vector<Operand> inputs_, outputs_;
  Operand workspace_;
  std::vector<tenon_value_desc> input_descs_, output_descs_;
  std::vector<std::uint8_t> input_bytes_, output_bytes_, in_view_bytes_, out_view_bytes_;
  tenon_kernel_query query_ = TENON_INIT(tenon_kernel_query);
  tenon_plan_args plan_args_ = TENON_INIT(tenon_plan_args);
  tenon_plan_result plan_ = TENON_INIT(tenon_plan_result);
  tenon_kernel* kernel_ = nullptr;
  tenon_error error_;
};

}  // namespace tenon::conform
