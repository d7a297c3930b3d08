// L5: stress and the ends of life. Cases 89 to 94.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <random>

#include "tools/conform/cases.h"
#include "tools/conform/session.h"

namespace tenon::conform {
namespace {

// Random calls, with a model of what memory must hold. Every block belongs to one stream at a time; a block moves to
// another stream over an event, so that all its work is in order.
class Fuzz {
 public:
  Fuzz(Session& session, unsigned seed) : s_(session), random_(seed) {
    for (int i = 0; i < 3; ++i) streams_.push_back(s_.NewStream());
  }

  void Step() {
    switch (random_() % 12) {
      case 0:
        return Add();
      case 1:
        return Remove();
      case 2:
      case 3:
        return Fill();
      case 4:
        return Copy();
      case 5:
        return Upload();
      case 6:
        return Look();
      case 7:
        return Move();
      case 8:
        return Notify();
      case 9:
        return Replace();
      case 10:
        TENON_CALL(tenon.stream, &s_.streams(), stream_query, Any(), nullptr);
        return;
      default:
        if (random_() % 8 == 0) s_.Synchronize(Any());
    }
  }

  void Finish() {
    for (Owned& block : blocks_) LookAt(block);
    for (Owned& block : blocks_) s_.Free(block.block, streams_[block.stream]);
    for (tenon_stream* stream : streams_) {
      s_.Synchronize(stream);
      TENON_CALL(tenon.stream, &s_.streams(), stream_destroy, stream);
    }
    const bool done = WaitFor(
        [this] {
          while (tenon_token* token = s_.host().completions().Poll()) {
            s_.host().completions().Recycle(token);
            --tokens_;
          }
          return tokens_ <= 0;
        },
        5000);
    s_.context().Require(done && tokens_ == 0, "{} tokens were not completed.", tokens_);
  }

 private:
  struct Owned {
    Block block;
    std::vector<std::uint8_t> model;
    std::size_t stream = 0;
  };

  tenon_stream* Any() { return streams_[random_() % streams_.size()]; }
  Owned* One() { return blocks_.empty() ? nullptr : &blocks_[random_() % blocks_.size()]; }

  void Add() {
    if (blocks_.size() >= 12) return;
    Owned owned;
    owned.stream = random_() % streams_.size();
    owned.block = s_.Allocate(1 + random_() % 5000, random_() % 2 == 0 ? streams_[owned.stream] : nullptr);
    owned.model.assign(owned.block.bytes, static_cast<std::uint8_t>(random_()));
    s_.Fill(owned.block, owned.model[0], streams_[owned.stream]);
    blocks_.push_back(std::move(owned));
  }
  void Remove() {
    if (blocks_.empty()) return;
    const std::size_t index = random_() % blocks_.size();
    Owned& owned = blocks_[index];
    if (random_() % 2 == 0) LookAt(owned);
    const bool ordered = random_() % 2 == 0;
    if (!ordered) s_.Synchronize(streams_[owned.stream]);
    s_.Free(owned.block, ordered ? streams_[owned.stream] : nullptr);
    blocks_.erase(blocks_.begin() + static_cast<std::ptrdiff_t>(index));
  }
  void Fill() {
    Owned* owned = One();
    if (owned == nullptr) return;
    const std::uint64_t start = random_() % owned->model.size();
    const std::uint64_t bytes = random_() % (owned->model.size() - start + 1);
    const auto byte = static_cast<std::uint8_t>(random_());
    s_.Fill({owned->block.buffer, owned->block.address + start, bytes}, byte, streams_[owned->stream]);
    std::fill_n(owned->model.begin() + static_cast<std::ptrdiff_t>(start), bytes, byte);
  }
  void Copy() {
    Owned *from = One(), *to = One();
    if (from == nullptr || from == to) return;
    MoveTo(*from, to->stream);
    const std::uint64_t bytes = random_() % (std::min(from->model.size(), to->model.size()) + 1);
    tenon_copy copy = TENON_INIT(tenon_copy);
    copy.source_space = copy.target_space = s_.space();
    copy.source = from->block.address;
    copy.target = to->block.address;
    copy.row_bytes = bytes;
    copy.rows = 1;
    tenon_error error;
    s_.Ok(TENON_CALL(tenon.memory, &s_.memory(), copy, s_.device(), &copy, streams_[to->stream], &error), error,
          "copy on the device");
    std::copy_n(from->model.begin(), bytes, to->model.begin());
  }
  void Upload() {
    Owned* owned = One();
    if (owned == nullptr) return;
    std::vector<std::uint8_t> bytes(owned->model.size());
    for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(random_());
    s_.Upload(bytes.data(), owned->block.address, bytes.size(), streams_[owned->stream], TENON_HOST_SOURCE_DURING_CALL);
    owned->model = bytes;
  }
  void Look() {
    if (Owned* owned = One()) LookAt(*owned);
  }
  void LookAt(Owned& owned) {
    s_.context().Require(s_.Read(owned.block, streams_[owned.stream]) == owned.model,
                         "After random calls {} bytes of device memory hold something else than they must.",
                         owned.model.size());
  }
  void Move() {
    if (Owned* owned = One()) MoveTo(*owned, random_() % streams_.size());
  }
  void MoveTo(Owned& owned, std::size_t stream) {
    if (stream == owned.stream) return;
    tenon_event* event = s_.NewEvent();
    s_.Record(event, streams_[owned.stream]);
    s_.WaitEvent(streams_[stream], event);
    TENON_CALL(tenon.stream, &s_.streams(), event_destroy, event);
    owned.stream = stream;
  }
  void Notify() {
    tenon_error error;
    tenon_token* token = s_.host().completions().Start(nullptr);
    s_.Ok(TENON_CALL(tenon.stream, &s_.streams(), stream_notify, Any(), token, &error), error, "notify");
    ++tokens_;
  }
  // A stream goes while work pends on it; its blocks go on with another.
  void Replace() {
    const std::size_t index = random_() % streams_.size(), other = (index + 1) % streams_.size();
    for (Owned& owned : blocks_) {
      if (owned.stream == index) MoveTo(owned, other);
    }
    TENON_CALL(tenon.stream, &s_.streams(), stream_destroy, streams_[index]);
    streams_[index] = s_.NewStream();
  }

  Session& s_;
  std::mt19937 random_;
  std::vector<tenon_stream*> streams_;
  std::vector<Owned> blocks_;
  int tokens_ = 0;
};

void RunFuzz(Context& context, unsigned seed, int steps) {
  Session s(context);
  Fuzz fuzz(s, seed);
  for (int i = 0; i < steps; ++i) fuzz.Step();
  fuzz.Finish();
}

// A child process that has not opened the plugin yet; its exit code, or -1 when it hangs, or 256 plus its signal.
template <class F>
int InChild(F&& body) {
  const pid_t child = ::fork();
  if (child == 0) {
    body();
    ::_exit(99);
  }
  int status = 0;
  const bool ended = WaitFor([&] { return ::waitpid(child, &status, WNOHANG) == child; }, 20000);
  if (!ended) {
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    return -1;
  }
  return WIFSIGNALED(status) ? 256 + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace

void ApiFuzz(Context& context) {
  {
    const Library library(context);
    if (library.Table<tenon_device_vtable>() == nullptr) context.Skip("The plugin offers no device.");
  }
  for (const unsigned seed : {1u, 2u, 3u, 4u}) RunFuzz(context, seed, 1500);
  context.Note("4 runs of 1500 calls");
}

void ShutdownWhileBusy(Context& context) {
  for (int round = 0; round < 5; ++round) {
    auto session = std::make_unique<Session>(context);
    Session& s = *session;
    std::vector<tenon_stream*> streams = {s.NewStream(), s.NewStream()};
    Block blocks[2] = {s.Allocate(1 << 20), s.Allocate(1 << 20)};
    tenon_error error;
    int tokens = 0;
    for (tenon_stream* stream : streams) {
      s.MakeBusy(stream);
      s.Fill(blocks[tokens], 7, stream);
      s.Ok(TENON_CALL(tenon.stream, &s.streams(), stream_notify, stream, s.host().completions().Start(nullptr), &error),
           error, "notify");
      ++tokens;
    }
    // Everything is given back in order, without waiting for anything first.
    for (std::size_t i = 0; i < streams.size(); ++i) s.Free(blocks[i], streams[i]);
    for (tenon_stream* stream : streams) TENON_CALL(tenon.stream, &s.streams(), stream_destroy, stream);
    const bool done = WaitFor(
        [&] {
          while (s.host().completions().Poll() != nullptr) --tokens;
          return tokens == 0;
        },
        10000);
    context.Require(done, "{} tokens of streams that were destroyed while busy never came.", tokens);
    const auto start = std::chrono::steady_clock::now();
    session.reset();
    const auto took = std::chrono::steady_clock::now() - start;
    context.Require(took < std::chrono::seconds(10), "Closing and destroying took {} ms.",
                    std::chrono::duration_cast<std::chrono::milliseconds>(took).count());
  }
}

namespace {

bool SeesDevice(const Instance& instance) {
  const auto* devices = instance.Table<tenon_device_vtable>();
  std::uint32_t count = 0;
  tenon_error error;
  return devices != nullptr &&
         TENON_CALL(tenon.device, devices, device_count, instance.plugin(), &count, &error) == TENON_OK && count > 0;
}

}  // namespace

void ExitWithoutShutdown(Context& context) {
  const int code = InChild([&context] {
    static auto* const instance = new Instance(context);  // never destroyed
    if (SeesDevice(*instance)) {
      static auto* const session = new Session(context);
      Block block = session->Allocate(1 << 16);
      session->MakeBusy(session->stream());
      session->Fill(block, 1, session->stream());
    }
    std::exit(0);  // static destructors run, with everything still open
  });
  context.Require(code >= 0, "A process that exits without a shutdown does not end.");
  context.Require(code < 256, "A process that exits without a shutdown is ended by signal {}.", code - 256);
  context.Require(code == 0, "A process that exits without a shutdown ends with {}.", code);
}

void ForkedChild(Context& context) {
  Instance instance(context);
  const auto query = instance.library().query();
  const tenon_plugin_descriptor* descriptor = &instance.library().descriptor();
  const int code = InChild([&] {
    // The entry is all that a child may touch.
    const tenon_host_info info = OrdinaryHost();
    ::_exit(query(&info) == descriptor ? 0 : 1);
  });
  context.Require(code == 0, "In a forked child the entry ends the process with {}.", code);
  if (!SeesDevice(instance)) return;
  Session s(context);
  const int with_device = InChild([] { ::_exit(0); });
  context.Require(with_device == 0, "A forked child cannot end by _exit.");
  Block block = s.Allocate(4096);
  s.Fill(block, 3, s.stream());
  const auto bytes = s.Read(block, s.stream());
  context.Require(bytes.front() == 3 && bytes.back() == 3, "After a fork the parent's device does not work.");
  s.Free(block);
}

void LongRun(Context& context) {
  if (!context.settings().long_runs) context.Skip("It takes 24 hours; --long runs it.");
  const auto end = std::chrono::steady_clock::now() + std::chrono::hours(24);
  unsigned seed = 100;
  RunFuzz(context, seed, 3000);
  const std::uint64_t heap = HeapBytes();
  const int files = OpenFiles(), threads = Threads();
  while (std::chrono::steady_clock::now() < end) RunFuzz(context, ++seed, 3000);
  context.Require(HeapBytes() < heap + (8 << 20), "The heap grew by {} bytes.", HeapBytes() - heap);
  context.Require(OpenFiles() <= files && Threads() <= threads, "{} descriptors and {} threads were left.",
                  OpenFiles() - files, Threads() - threads);
}

void NeighbourHosts(Context& context) {
  const Library library(context);
  int tables = 0;
  for (const tenon_interface* record : library.interfaces()) {
    const InterfaceLayout* layout = FindInterfaceLayout(View(record->id));
    if (layout == nullptr) continue;
    // A host that knows less: the table as it was when it ended with any of its slots.
    for (std::uint32_t size = layout->minimum_size(); size <= layout->size; size += sizeof(void*)) {
      std::vector<std::uint64_t> cut(layout->size / 8 + 8, 0xDEADDEADDEADDEADu);
      std::memcpy(cut.data(), record->vtable, size);
      std::memcpy(cut.data(), &size, sizeof(size));
      std::vector<std::uint64_t> out(layout->size / 8 + 1);
      const Status status = NegotiateTable(*layout, cut.data(), TENON_ABI_MINOR, "the plugin", out.data());
      context.Require(status.ok(), "{} cut to {} bytes: {}", layout->id, size, status.message());
    }
    ++tables;
  }
  if (tables == 0) context.Skip("The plugin offers interfaces of its own only.");
  // A host that knows more and one that knows less work with it.
  for (const std::uint32_t minor : {std::uint32_t{library.descriptor().oldest_host_minor}, TENON_ABI_MINOR + 1u}) {
    HostFaults faults;
    faults.abi_minor = minor;
    faults.garbage_bytes = minor > TENON_ABI_MINOR ? 16 : 0;
    faults.no_optional_slots = minor == 0;
    if (library.Table<tenon_device_vtable>() == nullptr) {
      const Instance instance(context, library, faults);
      context.Require(instance.plugin() != nullptr, "create gives no instance to a host of minor {}.", minor);
      continue;
    }
    Session s(context, faults);
    Block block = s.Allocate(1000);
    s.Fill(block, 0x11, s.stream());
    context.Require(s.Read(block, s.stream())[999] == 0x11, "Memory does not work with a host of minor {}.", minor);
    s.Free(block);
  }
}

}  // namespace tenon::conform
