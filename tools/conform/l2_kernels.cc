// L2: how kernels behave around what they compute. Cases 56 to 59 and 61 to 64.
#include <atomic>
#include <cstring>
#include <thread>

#include "tools/conform/cases.h"
#include "tools/conform/kernel_calls.h"

namespace tenon::conform {
namespace {

bool SameBits(const Tensor& a, const Tensor& b) {
  return a.bytes() == 0 || std::memcmp(a.raw(), b.raw(), static_cast<std::size_t>(a.bytes())) == 0;
}

void RequireSameBits(Context& context, const std::vector<Tensor>& a, const std::vector<Tensor>& b,
                     const std::string& what) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (!a[i].defined()) continue;
    context.Require(SameBits(a[i], b[i]), "{}: output {} has other bits.", what, i);
  }
}

void NeedSome(Context& context, int calls) {
  if (calls == 0) context.Skip("The plugin has no kernel that the kit has a call for.");
}

bool HasCapability(Session& s, std::string_view key) {
  tenon_value value = TENON_INIT(tenon_value);
  tenon_error error;
  const std::int32_t code =
      TENON_CALL(tenon.device, &s.devices(), query, s.owner().plugin(), 0, ToStr(key), &value, &error);
  s.context().Require(code == TENON_OK, "query of {} answers {}.", key, code);
  return value.answer == TENON_ANSWER_YES;
}

}  // namespace

void Workspace(Context& context) {
  Session s(context);
  int with = 0;
  const int calls =
      ForEachCall(s, {DType::kF32, DType::kBF16}, Values::kOrdinary, [&](const KernelOf& kernel, const OpCall& call) {
        RunWay zeros;
        zeros.poison = 0;
        KernelRun one(s, kernel, call), two(s, kernel, call, zeros);
        const auto first = one.Run(), second = two.Run();
        if (one.plan().workspace_bytes > 0) ++with;
        RequireSameBits(context, first, second,
                        one.text() +
                            " reads its workspace before it wrote it, or leaves "
                            "elements of an output unwritten");
      });
  NeedSome(context, calls);
  context.Note(fmt::format("{} calls, {} with a workspace", calls, with));
}

void Aliasing(Context& context) {
  Session s(context);
  int aliased = 0;
  const int calls = ForEachCall(s, {DType::kF32}, Values::kOrdinary, [&](const KernelOf& kernel, const OpCall& call) {
    KernelRun plain(s, kernel, call);
    const auto expected = plain.Run();
    const tenon_plan_result& plan = plain.plan();
    for (std::uint64_t i = 0; i < plan.alias_count; ++i) {
      const tenon_alias_pair& pair = plan.aliases[i];
      context.Require(pair.input < call.inputs.size() && pair.output < call.types.size(),
                      "{}: plan declares that output {} lies over input {}; the call has {} and {}.", plain.text(),
                      pair.output, pair.input, call.types.size(), call.inputs.size());
    }
    for (const OpDef::InPlacePair& pair : call.def->in_place()) {
      const auto input = static_cast<std::size_t>(pair.input);
      if (pair.output != 0 || input >= call.inputs.size() || !call.inputs[input].defined()) continue;
      const Tensor& over = call.inputs[input];
      if (over.dtype() != call.types[0].dtype || over.shape() != call.types[0].shape.Concrete()) continue;
      RunWay way;
      way.in_place_input = pair.input;
      KernelRun run(s, kernel, call, way);
      const auto results = run.Run();
      RequireSameBits(context, results, expected,
                      fmt::format("{} with output 0 over input {}, which the operator allows", run.text(), pair.input));
      ++aliased;
    }
  });
  NeedSome(context, calls);
  context.Note(fmt::format("{} calls, {} in place", calls, aliased));
}

void SameSeedSameResult(Context& context) {
  Session s(context);
  int random = 0;
  const int calls = ForEachCall(s, {DType::kF32}, Values::kOrdinary, [&](const KernelOf& kernel, const OpCall& call) {
    const auto run = [&](std::uint32_t threads, std::uint64_t key) {
      RunWay way;
      way.thread_budget = threads;
      way.use_random = true;
      way.random = {key, 42};
      return KernelRun(s, kernel, call, way).Run();
    };
    const auto first = run(2, 5);
    RequireSameBits(context, first, run(2, 5), KernelRun(s, kernel, call).text() + " called twice");
    if ((kernel.def->traits & TENON_TRAIT_DETERMINISTIC) != 0) {
      for (const std::uint32_t threads : {1u, 3u, 8u})
        RequireSameBits(context, first, run(threads, 5),
                        fmt::format("{} with {} threads", KernelRun(s, kernel, call).text(), threads));
    }
    if (!call.def->random()) return;
    OpCall one = call, two = call;
    one.random = {5, 42};
    two.random = {6, 42};
    const auto expected = RunReference(one), expected_other = RunReference(two);
    if (!expected.ok() || !expected_other.ok() || SameBits((*expected)[0], (*expected_other)[0])) return;
    context.Require(!SameBits(first[0], run(2, 6)[0]), "{}: two keys give the same result.",
                    KernelRun(s, kernel, call).text());
    ++random;
  });
  NeedSome(context, calls);
  context.Note(fmt::format("{} calls, {} random", calls, random));
}

void KernelAttributes(Context& context) {
  Session s(context);
  int tried = 0;
  const int calls = ForEachCall(s, {DType::kF32}, Values::kOrdinary, [&](const KernelOf& kernel, const OpCall& call) {
    for (const auto& item : call.attrs.items()) {
      for (const bool absent : {true, false}) {
        // The host fills attributes in; a kernel that meets a broken record says so and does not fall.
        OpCall broken = call;
        if (absent) {
          broken.attrs.Erase(item.first);
        } else if (TypeOf(item.second) == AttrType::kText) {
          broken.attrs.Set(item.first, std::vector<std::int64_t>{1, 2, 3});
        } else {
          broken.attrs.Set(item.first, std::string("wrong"));
        }
        KernelRun run(s, kernel, broken);
        std::string reason;
        const std::uint32_t verdict = run.Supports(&reason);
        const std::string what = fmt::format("{} {}", absent ? "no" : "a wrong", item.first);
        if (verdict == TENON_VERDICT_NO) {
          context.Require(!reason.empty(), "{} with {} is refused without a reason.", run.text(), what);
          continue;
        }
        tenon_error error;
        tenon_kernel* made = nullptr;
        const std::int32_t code =
            TENON_CALL(tenon.op.kernel, &run.table(), create, s.plugin(), kernel.def, &run.query(), &made, &error);
        context.Require(code == TENON_OK || !error.message_text().empty(), "{} with {} fails with {} and no text.",
                        run.text(), what, code);
        if (code == TENON_OK) TENON_CALL(tenon.op.kernel, &run.table(), destroy, made);
        ++tried;
      }
    }
  });
  NeedSome(context, calls);
  if (tried == 0) context.Skip("No kernel serves an operator with attributes.");
}

void CaptureAndReplay(Context& context) {
  Session s(context);
  const tenon_stream_vtable& table = s.streams();
  const bool slots = table.capture_begin != nullptr && table.capture_end != nullptr &&
                     table.capture_replay != nullptr && table.capture_destroy != nullptr;
  const bool promised = HasCapability(s, "capture");
  if (!promised) context.Skip("The device does not promise to capture.");
  context.Require(slots, "The capability 'capture' says yes, but the slots are NULL.");
  Block a = s.Allocate(4096), b = s.Allocate(4096);
  tenon_error error;
  s.Ok(TENON_CALL(tenon.stream, &table, capture_begin, s.stream(), &error), error, "begin a capture");
  tenon_copy copy = TENON_INIT(tenon_copy);
  copy.source_space = copy.target_space = s.space();
  copy.source = a.address;
  copy.target = b.address;
  copy.row_bytes = 4096;
  copy.rows = 1;
  s.Ok(TENON_CALL(tenon.memory, &s.memory(), copy, s.device(), &copy, s.stream(), &error), error, "record a copy");
  tenon_capture* capture = nullptr;
  s.Ok(TENON_CALL(tenon.stream, &table, capture_end, s.stream(), &capture, &error), error, "end a capture");
  context.Require(capture != nullptr, "capture_end answers OK but gives no capture.");
  for (const std::uint8_t byte : {std::uint8_t{1}, std::uint8_t{2}, std::uint8_t{3}}) {
    s.Fill(a, byte, s.stream());
    s.Fill(b, 0xEE, s.stream());
    s.Ok(TENON_CALL(tenon.stream, &table, capture_replay, capture, s.stream(), &error), error, "replay");
    const auto got = s.Read(b, s.stream());
    context.Require(got.front() == byte && got.back() == byte, "A replay copies what lay there at the capture.");
  }
  TENON_CALL(tenon.stream, &table, capture_destroy, capture);
  s.Free(a);
  s.Free(b);
}

void ConcurrentExecute(Context& context) {
  Session s(context);
  const int calls = ForEachCall(s, {DType::kF32}, Values::kOrdinary, [&](const KernelOf& kernel, const OpCall& call) {
    if ((kernel.def->traits & TENON_TRAIT_ONE_CALL) != 0) return;
    KernelRun instance(s, kernel, call);
    const auto expected = instance.Run();
    std::vector<std::unique_ptr<KernelRun>> operands;
    std::vector<tenon_stream*> streams;
    for (int i = 0; i < 4; ++i) {
      RunWay way;
      way.stream = s.NewStream();
      streams.push_back(way.stream);
      operands.push_back(std::make_unique<KernelRun>(s, kernel, call, way));
      operands.back()->Create();
      operands.back()->Plan();
      operands.back()->PutOperands();
    }
    std::vector<std::thread> threads;
    for (auto& mine : operands) {
      threads.emplace_back([&instance, &mine] {
        for (int round = 0; round < 5; ++round) instance.ExecuteOn(*mine);
      });
    }
    for (std::thread& thread : threads) thread.join();
    for (auto& mine : operands)
      RequireSameBits(context, mine->Results(), expected, instance.text() + " called by four threads at once");
    operands.clear();
    for (tenon_stream* stream : streams) TENON_CALL(tenon.stream, &s.streams(), stream_destroy, stream);
  });
  NeedSome(context, calls);
}

void Cancellation(Context& context) {
  Session s(context);
  int cancellable = 0;
  ForEachCall(s, {DType::kF32}, Values::kOrdinary, [&](const KernelOf& kernel, const OpCall& call) {
    if ((kernel.def->traits & TENON_TRAIT_CANCELLABLE) == 0) return;
    tenon_cancel cancel;
    cancel.Request();
    RunWay way;
    way.cancel = &cancel;
    KernelRun run(s, kernel, call, way);
    run.Create();
    run.Plan();
    run.PutOperands();
    const std::int32_t code = run.Execute(true);
    context.Require(code == TENON_CANCELLED || code == TENON_OK,
                    "{} answers {} when its work was cancelled before; it must be CANCELLED or OK.", run.text(), code);
    ++cancellable;
  });
  if (cancellable == 0) context.Skip("No kernel has the trait CANCELLABLE.");
}

void NoAllocationInExecute(Context& context) {
  Session s(context);
  if (s.memory().stats == nullptr) context.Skip("The plugin does not count its memory.");
  const auto bytes = [&s] {
    tenon_memory_stats stats = TENON_INIT(tenon_memory_stats);
    tenon_error error;
    s.Ok(TENON_CALL(tenon.memory, &s.memory(), stats, s.space(), &stats, &error), error, "count its memory");
    return stats;
  };
  const int calls =
      ForEachCall(s, {DType::kF32, DType::kBF16}, Values::kOrdinary, [&](const KernelOf& kernel, const OpCall& call) {
        KernelRun run(s, kernel, call);
        run.Create();
        run.Plan();
        run.PutOperands();
        // The peak is now at what lies there: any allocation inside would raise it.
        const tenon_memory_stats raised = bytes();
        Block fill;
        if (raised.peak_bytes > raised.current_bytes) fill = s.Allocate(raised.peak_bytes - raised.current_bytes);
        const tenon_memory_stats before = bytes();
        const std::int64_t host = s.host().live_blocks();
        run.Execute();
        const tenon_memory_stats after = bytes();
        context.Require(after.current_bytes == before.current_bytes && after.peak_bytes == before.peak_bytes,
                        "{}: execute allocates device memory ({} bytes, peak {} bytes more).", run.text(),
                        after.current_bytes - before.current_bytes, after.peak_bytes - before.peak_bytes);
        context.Require(s.host().live_blocks() <= host, "{}: execute leaves host memory allocated.", run.text());
        s.Free(fill);
      });
  NeedSome(context, calls);
}

}  // namespace tenon::conform
