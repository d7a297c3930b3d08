// L1: streams, events, completions. Cases 40 to 47.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <random>
#include <thread>

#include "tools/conform/cases.h"
#include "tools/conform/kernel_calls.h"

namespace tenon::conform {
namespace {

// Adds one to every byte of a block, by copies that go through host memory of the caller: no kernel is needed.
void CopyBlock(Session& s, const Block& from, const Block& to, tenon_stream* stream) {
  tenon_copy copy = TENON_INIT(tenon_copy);
  copy.source_space = copy.target_space = s.space();
  copy.source = from.address;
  copy.target = to.address;
  copy.row_bytes = from.bytes;
  copy.rows = 1;
  tenon_error error;
  s.Ok(TENON_CALL(tenon.memory, &s.memory(), copy, s.device(), &copy, stream, &error), error, "copy on the device");
}

std::int32_t QueryEvent(Session& s, tenon_event* event, tenon_error* error = nullptr) {
  return TENON_CALL(tenon.stream, &s.streams(), event_query, event, error);
}

void DestroyEvent(Session& s, tenon_event* event) { TENON_CALL(tenon.stream, &s.streams(), event_destroy, event); }
void DestroyStream(Session& s, tenon_stream* stream) { TENON_CALL(tenon.stream, &s.streams(), stream_destroy, stream); }

bool AllBytes(const std::vector<std::uint8_t>& bytes, std::uint8_t wanted) {
  return std::all_of(bytes.begin(), bytes.end(), [wanted](std::uint8_t byte) { return byte == wanted; });
}

// Waits for `count` completions and requires that no further one arrives.
void ExpectCompletions(Session& s, int count, const std::string& what, bool (*allowed)(std::int32_t)) {
  CompletionQueue& queue = s.host().completions();
  int arrived = 0;
  WaitFor(
      [&] {
        while (tenon_token* token = queue.Poll()) {
          s.context().Require(allowed(token->code), "{}: a token was completed with {}.", what, token->code);
          ++arrived;
        }
        return arrived >= count;
      },
      5000);
  s.context().Require(arrived == count, "{}: {} of {} tokens were completed.", what, arrived, count);
}

}  // namespace

void EventBeforeRecord(Context& context) {
  Session s(context);
  tenon_event* event = s.NewEvent();
  tenon_error error;
  std::int32_t code = QueryEvent(s, event, &error);
  context.Require(code == TENON_FAILED_PRECONDITION,
                  "event_query of an event that was never recorded answers {}; it must be FAILED_PRECONDITION.", code);
  code = TENON_CALL(tenon.stream, &s.streams(), stream_wait_event, s.stream(), event, &error);
  context.Require(code == TENON_FAILED_PRECONDITION,
                  "stream_wait_event of an event that was never recorded answers {}; it must be FAILED_PRECONDITION.",
                  code);
  code = TENON_CALL(tenon.stream, &s.streams(), event_synchronize, event, 1'000'000, &error);
  context.Require(code == TENON_FAILED_PRECONDITION,
                  "event_synchronize of an event that was never recorded answers {}; it must be FAILED_PRECONDITION.",
                  code);
  // The stream works on as if nothing had been asked.
  s.Synchronize(s.stream());
  s.Record(event, s.stream());
  s.Synchronize(s.stream());
  code = QueryEvent(s, event, &error);
  context.Require(code == TENON_OK, "event_query of a reached event answers {}.", code);
  DestroyEvent(s, event);
  TENON_CALL(tenon.stream, &s.streams(), event_destroy, nullptr);
}

void EventRecordedAgain(Context& context) {
  Session s(context);
  tenon_event* event = s.NewEvent(TENON_EVENT_TIMING);
  tenon_event* later = s.NewEvent(TENON_EVENT_TIMING);
  tenon_error error;
  for (int round = 0; round < 20; ++round) {
    s.Record(event, s.stream());
    s.MakeBusy(s.stream());
    s.Record(later, s.stream());
    s.Ok(TENON_CALL(tenon.stream, &s.streams(), event_synchronize, later, kForever, &error), error,
         "wait for an event");
    const std::int32_t code = QueryEvent(s, event, &error);
    context.Require(code == TENON_OK, "An event is not reached ({}) although a later one is.", code);
    if (s.streams().event_elapsed == nullptr) continue;
    double ns = -1;
    s.Ok(TENON_CALL(tenon.stream, &s.streams(), event_elapsed, event, later, &ns, &error), error,
         "measure the time between two events");
    context.Require(ns >= 0 && ns < 1e11, "Between two events in order lie {} ns.", ns);
  }
  // Whoever waits for an event that was reached before and recorded again waits for the new place.
  tenon_stream* reader = s.NewStream();
  Block block = s.Allocate(1 << 16), seen = s.Allocate(1 << 16);
  for (int round = 0; round < 10; ++round) {
    s.MakeBusy(s.stream());
    s.Fill(block, static_cast<std::uint8_t>(round), s.stream());
    s.Record(event, s.stream());
    s.WaitEvent(reader, event);
    CopyBlock(s, block, seen, reader);
    context.Require(AllBytes(s.Read(seen, reader), static_cast<std::uint8_t>(round)),
                    "An event that was recorded again stands for its former place.");
  }
  DestroyStream(s, reader);
  s.Free(block);
  s.Free(seen);
  // It stands for the new place only.
  s.MakeBusy(s.stream());
  s.Record(event, s.stream());
  tenon_stream* other = s.NewStream();
  s.Record(event, other);
  s.Synchronize(other);
  const std::int32_t code = QueryEvent(s, event, &error);
  context.Require(code == TENON_OK, "An event that was recorded again on an idle stream answers {}.", code);
  s.Synchronize(s.stream());
  DestroyStream(s, other);
  DestroyEvent(s, event);
  DestroyEvent(s, later);
}

namespace {

// What stands last before an event.
enum class Work { kFill, kCopy, kUpload };

// Fills `block` with `byte` by work of this kind. `host` lives until the work is done.
void EnqueueWork(Session& s, Work work, const Block& block, const Block& scratch, std::uint8_t byte,
                 std::vector<std::uint8_t>* host, tenon_stream* stream) {
  switch (work) {
    case Work::kFill:
      return s.Fill(block, byte, stream);
    case Work::kCopy:
      s.Fill(scratch, byte, stream);
      return CopyBlock(s, scratch, block, stream);
    case Work::kUpload:
      host->assign(block.bytes, byte);
      return s.Upload(host->data(), block.address, block.bytes, stream);
  }
}

// A kernel behind a busy stream, then an event; whoever waits for the event sees its output. False: no kernel to try.
bool KernelBeforeEvent(Session& s, tenon_stream* writer, tenon_stream* reader, tenon_event* event) {
  for (const KernelOf& kernel : ListKernels(s)) {
    if (kernel.op == nullptr || !kernel.op->elementwise()) continue;
    for (const OpCall& call : SameShapeCall(*kernel.op, DType::kF32, Shape{257, 129})) {
      const auto expected = RunReference(call);
      RunWay way;
      way.stream = writer;
      KernelRun run(s, kernel, call, way);
      if (!expected.ok() || run.Supports() == TENON_VERDICT_NO) continue;
      run.Create();
      run.Plan();
      run.PutOperands();
      s.MakeBusy(writer);
      run.Enqueue();
      s.Record(event, writer);
      s.WaitEvent(reader, event);
      run.MoveTo(reader);
      const auto results = run.Results();
      RequireNear(s.context(), results[0], (*expected)[0], ToleranceOf(call.types[0].dtype),
                  run.text() + " before an event that another stream waited for");
      return true;
    }
  }
  return false;
}

}  // namespace

void CrossStreamOrder(Context& context) {
  Session s(context);
  std::mt19937 random(7);
  tenon_stream* streams[3] = {s.NewStream(), s.NewStream(), s.NewStream()};
  tenon_event* event = s.NewEvent();
  constexpr std::uint64_t kBytes = 1 << 16;
  Block a = s.Allocate(kBytes), b = s.Allocate(kBytes), scratch = s.Allocate(kBytes);
  std::vector<std::uint8_t> host;
  for (int round = 0; round < 240; ++round) {
    tenon_stream* writer = streams[random() % 3];
    tenon_stream* reader = streams[random() % 3];
    const auto byte = static_cast<std::uint8_t>(random());
    if (random() % 4 == 0) s.MakeBusy(writer);
    EnqueueWork(s, static_cast<Work>(round % 3), a, scratch, byte, &host, writer);
    s.Record(event, writer);
    // The reader waits, or the host does.
    if (round % 2 == 0) {
      s.WaitEvent(reader, event);
    } else {
      tenon_error error;
      s.Ok(TENON_CALL(tenon.stream, &s.streams(), event_synchronize, event, kForever, &error), error,
           "wait for an event");
    }
    if (random() % 4 == 0) SleepMs(1);
    CopyBlock(s, a, b, reader);
    const auto got = s.Read(b, reader);
    context.Require(AllBytes(got, byte), "Round {}: {} that waited for an event does not see the {} before it.", round,
                    round % 2 == 0 ? "a stream" : "a host", round % 3 == 0 ? "fill" : "copy");
    s.Synchronize(writer);
  }
  int kernels = 0;
  for (int round = 0; round < 20; ++round) kernels += KernelBeforeEvent(s, streams[0], streams[1], event) ? 1 : 0;
  for (tenon_stream* stream : streams) {
    s.Synchronize(stream);
    DestroyStream(s, stream);
  }
  DestroyEvent(s, event);
  s.Free(a);
  s.Free(b);
  s.Free(scratch);
  context.Note(fmt::format("fills, copies and uploads{} before events", kernels > 0 ? ", a kernel too," : ""));
}

void DestroyPending(Context& context) {
  Session s(context);
  constexpr std::uint64_t kBytes = 1 << 20;
  for (int round = 0; round < 20; ++round) {
    Block block = s.Allocate(kBytes);
    tenon_stream* stream = s.NewStream();
    tenon_event* event = s.NewEvent();
    s.MakeBusy(stream);
    s.Fill(block, 0x61, stream);
    s.Record(event, stream);
    tenon_error error;
    for (int i = 0; i < 3; ++i) {
      tenon_token* token = s.host().completions().Start(nullptr);
      s.Ok(TENON_CALL(tenon.stream, &s.streams(), stream_notify, stream, token, &error), error, "notify");
    }
    // Another stream hangs on the event, which is destroyed before it is reached.
    s.WaitEvent(s.stream(), event);
    Block copy = s.Allocate(kBytes);
    CopyBlock(s, block, copy, s.stream());
    DestroyEvent(s, event);
    DestroyStream(s, stream);
    ExpectCompletions(s, 3, "Tokens of a stream that was destroyed while work pended",
                      [](std::int32_t code) { return code == TENON_OK || code == TENON_CANCELLED; });
    context.Require(AllBytes(s.Read(copy, s.stream()), 0x61),
                    "Work that pended when its stream was destroyed did not run before what waited for its event.");
    s.Free(block);
    s.Free(copy);
  }
  SleepMs(20);
  context.Require(s.host().completions().Poll() == nullptr,
                  "A token was completed late, beyond those that were given.");
}

void CallbackCallsBack(Context& context) {
  Session s(context);
  tenon_stream* other = s.NewStream();
  std::atomic<int> inside{0};
  s.host().SetReentry([&] {
    // As a host that acts on a completion at once: every call here is allowed by its contract.
    inside.fetch_add(1);
    tenon_error error;
    TENON_CALL(tenon.stream, &s.streams(), stream_query, s.stream(), &error);
    tenon_event* event = nullptr;
    const std::int32_t code = TENON_CALL(tenon.stream, &s.streams(), event_create, s.device(), 0, &event, &error);
    context.Require(code == TENON_OK, "event_create from inside complete answers {}: {}", code, error.message_text());
    s.Record(event, other);
    DestroyEvent(s, event);
    Block block = s.Allocate(256);
    s.Fill(block, 1, other);
    s.Free(block, other);
  });
  for (int i = 0; i < 50; ++i) {
    tenon_token* token = s.host().completions().Start(nullptr);
    tenon_error error;
    if (i % 10 == 0) s.MakeBusy(s.stream());
    s.Ok(TENON_CALL(tenon.stream, &s.streams(), stream_notify, s.stream(), token, &error), error, "notify");
  }
  ExpectCompletions(s, 50, "With a host that calls back", [](std::int32_t code) { return code == TENON_OK; });
  s.Synchronize(s.stream());
  s.Synchronize(other);
  s.host().SetReentry(nullptr);
  context.Require(inside.load() >= 50, "complete was called {} times for 50 tokens.", inside.load());
  DestroyStream(s, other);
}

void StickyErrors(Context& context) {
  Session s(context);
  tenon_error error;
  if (s.host().options().schema().empty()) context.Skip("The plugin has no option to make work fail.");
  const auto schema = s.host().options().schema();
  const bool can_lose = std::any_of(schema.begin(), schema.end(), [](const PluginOption& option) {
    return option.key.find("lost") != std::string::npos;
  });
  if (!can_lose) context.Skip("The plugin has no option ('...lost...') that makes work fail.");
  CheckLostDevice(context);
}

void ManyThreads(Context& context) {
  Session s(context);
  std::vector<std::thread> threads;
  // A stream for each, and one for all: T3 says that any thread may enqueue.
  tenon_stream* shared = s.NewStream();
  for (int index = 0; index < 8; ++index) {
    threads.emplace_back([&, index] {
      tenon_stream* own = s.NewStream();
      tenon_event* event = s.NewEvent();
      for (int round = 0; round < 50; ++round) {
        tenon_stream* stream = round % 2 == 0 ? own : shared;
        Block block = s.Allocate(4096 + static_cast<std::uint64_t>(index));
        s.Fill(block, static_cast<std::uint8_t>(index + round), stream);
        s.Record(event, stream);
        s.WaitEvent(own, event);
        const auto bytes = s.Read(block, own);
        context.Require(AllBytes(bytes, static_cast<std::uint8_t>(index + round)),
                        "Thread {} of 8 reads what it did not write.", index);
        s.Free(block, own);
        tenon_error error;
        const std::int32_t code = TENON_CALL(tenon.stream, &s.streams(), stream_query, shared, &error);
        context.Require(code == TENON_OK || code == TENON_WOULD_BLOCK, "stream_query answers {}.", code);
      }
      s.Synchronize(own);
      DestroyEvent(s, event);
      DestroyStream(s, own);
    });
  }
  for (std::thread& thread : threads) thread.join();
  s.Synchronize(shared);
  DestroyStream(s, shared);
}

namespace {

// The option of the plugin that loses the device at a piece of work, or empty.
std::string LostOption(Context& context) {
  Instance instance(context);
  for (const PluginOption& option : instance.host().options().schema()) {
    if (option.key.find("lost") != std::string::npos && option.type == "integer") return option.key;
  }
  return "";
}

}  // namespace

void CheckLostDevice(Context& context) {
  const std::string option = LostOption(context);
  if (option.empty()) context.Skip("The plugin has no option ('...lost...') that loses its device.");
  CaseSettings settings = context.settings();
  settings.options.push_back(option + "=5");
  Context with_fault(context.which(), settings);
  Session* s = new Session(with_fault);  // a lost device cannot be synchronised, so it is left as it is
  Block block;
  tenon_error error;
  std::int32_t code = TENON_CALL(tenon.memory, &s->memory(), alloc, s->space(), 4096, 0, nullptr, 0, &block.buffer,
                                 &block.address, &error);
  tenon_event* event = s->NewEvent();
  tenon_stream* other = s->NewStream();
  for (int i = 0; i < 10; ++i)
    code = TENON_CALL(tenon.memory, &s->memory(), fill, s->space(), block.address, 4096, 1, 1, s->stream(), &error);
  TENON_CALL(tenon.stream, &s->streams(), event_record, event, s->stream(), &error);
  code = TENON_CALL(tenon.stream, &s->streams(), stream_synchronize, s->stream(), kForever, &error);
  context.Require(code == TENON_DEVICE_LOST,
                  "Waiting for a stream whose device was lost answers {}; it must be "
                  "DEVICE_LOST.",
                  code);
  context.Require(!error.message_text().empty(), "DEVICE_LOST comes without a text.");
  for (int i = 0; i < 3; ++i) {
    code = TENON_CALL(tenon.stream, &s->streams(), stream_query, s->stream(), &error);
    context.Require(code == TENON_DEVICE_LOST, "Query {} of the stream answers {}; the error must stick.", i, code);
  }
  code = TENON_CALL(tenon.stream, &s->streams(), event_query, event, &error);
  context.Require(code == TENON_DEVICE_LOST, "An event behind the failed work answers {}; it must be DEVICE_LOST.",
                  code);
  code = TENON_CALL(tenon.stream, &s->streams(), stream_wait_event, other, event, &error);
  if (code == TENON_OK) code = TENON_CALL(tenon.stream, &s->streams(), stream_synchronize, other, kForever, &error);
  context.Require(code == TENON_DEVICE_LOST,
                  "A stream that waits for the failed work answers {}; the error must go on.", code);
  tenon_token* token = s->host().completions().Start(nullptr);
  code = TENON_CALL(tenon.stream, &s->streams(), stream_notify, s->stream(), token, &error);
  if (code == TENON_OK) {
    const bool done = WaitFor([token] { return token->state.load() == 2; }, 5000);
    context.Require(done, "A token on a stream in error is never completed.");
    context.Require(token->code == TENON_DEVICE_LOST, "A token on a stream in error is completed with {}.",
                    token->code);
  }
  if (s->devices().status != nullptr) {
    code = TENON_CALL(tenon.device, &s->devices(), status, s->device(), &error);
    context.Require(code == TENON_DEVICE_LOST, "status of a lost device answers {}.", code);
  }
  // Everything can still be given back, and a device that is opened anew works.
  TENON_CALL(tenon.stream, &s->streams(), event_destroy, event);
  TENON_CALL(tenon.memory, &s->memory(), free, block.buffer, nullptr);
  TENON_CALL(tenon.stream, &s->streams(), stream_destroy, other);
  TENON_CALL(tenon.stream, &s->streams(), stream_destroy, s->stream());
  TENON_CALL(tenon.device, &s->devices(), close, s->device());
  tenon_device* again = nullptr;
  code = TENON_CALL(tenon.device, &s->devices(), open, s->plugin(), 0, &again, &error);
  context.Require(code == TENON_OK && again != nullptr, "A lost device cannot be opened anew: {} {}", code,
                  error.message_text());
  TENON_CALL(tenon.device, &s->devices(), close, again);
}

void DeviceLost(Context& context) { CheckLostDevice(context); }

}  // namespace tenon::conform
