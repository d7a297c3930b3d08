// L4: the profiler. Cases 82 to 88.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <mutex>
#include <set>
#include <thread>

#include "tools/conform/cases.h"
#include "tools/conform/kernel_calls.h"

namespace tenon::conform {
namespace {

// Gives out buffers and keeps the records that come back.
class Collector {
 public:
  // At most `limit` buffers at a time, 0: none at all.
  Collector(Context& context, std::uint64_t bytes, int limit) : context_(context), bytes_(bytes), limit_(limit) {}

  tenon_profiler_config Config(std::uint64_t mask) {
    tenon_profiler_config config = TENON_INIT(tenon_profiler_config);
    config.mask = mask;
    config.user = this;
    config.buffer_request = &Request;
    config.buffer_return = &Return;
    config.buffer_bytes = bytes_;
    return config;
  }
  void Close() { closed_ = true; }
  const std::vector<tenon_record>& records() const { return records_; }
  std::uint64_t dropped() const { return dropped_; }
  int out() const { return out_; }

 private:
  static void* Request(void* user, std::uint64_t* bytes) {
    Collector& mine = *static_cast<Collector*>(user);
    mine.context_.Require(!mine.closed_, "A buffer was asked for after stop had returned.");
    const std::lock_guard<std::mutex> lock(mine.mutex_);
    if (mine.given_ >= mine.limit_) return nullptr;
    ++mine.given_;
    ++mine.out_;
    *bytes = mine.bytes_;
    void* memory = nullptr;
    return ::posix_memalign(&memory, 64, mine.bytes_) == 0 ? memory : nullptr;
  }
  static void Return(void* user, void* buffer, std::uint64_t used, std::uint64_t dropped) {
    Collector& mine = *static_cast<Collector*>(user);
    mine.context_.Require(!mine.closed_, "A buffer was returned after stop had returned.");
    mine.context_.Require(used <= mine.bytes_, "A buffer of {} bytes came back with {} bytes of records.", mine.bytes_,
                          used);
    const std::lock_guard<std::mutex> lock(mine.mutex_);
    mine.dropped_ += dropped;
    if (buffer == nullptr) return;
    --mine.out_;
    const char* at = static_cast<const char*>(buffer);
    for (std::uint64_t place = 0; place < used;) {
      tenon_record_header header;
      mine.context_.Require(used - place >= sizeof(header), "A record begins {} bytes before the end of a buffer.",
                            used - place);
      std::memcpy(&header, at + place, sizeof(header));
      mine.context_.Require(header.size >= sizeof(header) && header.size % 8 == 0 && header.size <= used - place,
                            "A record says that it has {} bytes.", header.size);
      tenon_record record{};
      std::memcpy(&record, at + place, std::min<std::uint64_t>(header.size, sizeof(record)));
      mine.records_.push_back(record);
      place += header.size;
    }
    std::free(buffer);
  }

  Context& context_;
  const std::uint64_t bytes_;
  const int limit_;
  std::atomic<bool> closed_{false};
  std::mutex mutex_;
  int given_ = 0, out_ = 0;
  std::uint64_t dropped_ = 0;
  std::vector<tenon_record> records_;
};

constexpr std::uint64_t kAllKinds = ~std::uint64_t{0};

// A session of the profiler on a device.
class Profiled {
 public:
  explicit Profiled(Context& context) : session_(context), table_(&session_.Need<tenon_profiler_vtable>()) {
    for (const KernelOf& kernel : KernelsOf(session_)) {
      if (kernel.op == nullptr || call_.def != nullptr) continue;
      for (OpCall& call : SampleCalls(*kernel.op, DType::kF32)) {
        if (KernelRun(session_, kernel, call).Supports() == TENON_VERDICT_NO) continue;
        kernel_ = kernel;
        call_ = std::move(call);
        break;
      }
    }
    if (call_.def == nullptr) context.Skip("The plugin has no kernel that the kit has a call for.");
  }
  Session& session() { return session_; }
  const tenon_profiler_vtable& table() const { return *table_; }

  tenon_profiler_session* Start(Collector& collector, std::uint64_t mask = kAllKinds) {
    tenon_error error;
    tenon_profiler_session* started = nullptr;
    const tenon_profiler_config config = collector.Config(mask);
    session_.Ok(TENON_CALL(tenon.profiler, table_, start, session_.plugin(), &config, &started, &error), error,
                "start the profiler");
    if (started == nullptr) session_.context().Fail("tenon.profiler.start answers OK but gives no session.");
    return started;
  }
  void Stop(tenon_profiler_session* started, Collector& collector) {
    tenon_error error;
    session_.Ok(TENON_CALL(tenon.profiler, table_, stop, started, &error), error, "stop the profiler");
    collector.Close();
    session_.context().Require(collector.out() == 0, "{} buffers were not returned when stop returned.",
                               collector.out());
  }
  // `count` calls of a kernel with the correlation ids from `first` on.
  void Work(int count, std::uint64_t first) {
    for (int i = 0; i < count; ++i) {
      RunWay way;
      way.correlation_id = first + static_cast<std::uint64_t>(i);
      KernelRun(session_, kernel_, call_, way).Run();
    }
  }
  std::uint64_t Now() { return session_.host().api()->clock_ns(session_.host().api()->host); }
  std::unique_ptr<KernelRun> Planned(std::uint64_t correlation_id) {
    RunWay way;
    way.correlation_id = correlation_id;
    auto run = std::make_unique<KernelRun>(session_, kernel_, call_, way);
    run->Create();
    run->Plan();
    run->PutOperands();
    return run;
  }

 private:
  Session session_;
  const tenon_profiler_vtable* table_;
  KernelOf kernel_;
  OpCall call_;
};

tenon_clock_pair Pair(Profiled& profiled, std::uint32_t index) {
  tenon_clock_pair pair = TENON_INIT(tenon_clock_pair);
  tenon_error error;
  const std::uint64_t before = profiled.Now();
  profiled.session().Ok(
      TENON_CALL(tenon.profiler, &profiled.table(), clock_pair, profiled.session().plugin(), index, &pair, &error),
      error, "take a pair of clocks");
  const std::uint64_t after = profiled.Now();
  profiled.session().context().Require(pair.host_ns >= before && pair.host_ns <= after,
                                       "Clock {} pairs with host time {}, which is outside of the call ({} to {}).",
                                       index, pair.host_ns, before, after);
  return pair;
}

double NsPerTick(Profiled& profiled, std::uint32_t index) {
  tenon_clock_info info = TENON_INIT(tenon_clock_info);
  tenon_error error;
  profiled.session().Ok(
      TENON_CALL(tenon.profiler, &profiled.table(), clock_info, profiled.session().plugin(), index, &info, &error),
      error, "describe a clock");
  profiled.session().context().Require(info.ns_per_tick > 0 && info.ns_per_tick < 1e9, "Clock {} has {} ns a tick.",
                                       index, info.ns_per_tick);
  return info.ns_per_tick;
}

std::uint32_t Clocks(Profiled& profiled) {
  std::uint32_t count = 0;
  tenon_error error;
  profiled.session().Ok(
      TENON_CALL(tenon.profiler, &profiled.table(), clock_count, profiled.session().plugin(), &count, &error), error,
      "count its clocks");
  profiled.session().context().Require(count > 0, "The profiler has no clock.");
  return count;
}

}  // namespace

void CorrelationIds(Context& context) {
  Profiled profiled(context);
  Collector collector(context, 1 << 16, 1000);
  tenon_profiler_session* started = profiled.Start(collector);
  profiled.Work(50, 1000);
  profiled.Stop(started, collector);
  std::set<std::uint64_t> seen;
  for (const tenon_record& record : collector.records()) {
    const std::uint32_t kind = record.header.kind;
    context.Require(kind >= 1 && kind <= 63, "A record is of kind {}.", kind);
    if (kind == TENON_RECORD_KERNEL) seen.insert(record.header.correlation_id);
  }
  for (std::uint64_t id = 1000; id < 1050; ++id)
    context.Require(seen.count(id) > 0, "No kernel record has the correlation id {} of a call.", id);
  // A mask without kernels gives none.
  Collector masked(context, 1 << 16, 1000);
  started = profiled.Start(masked, kAllKinds & ~(std::uint64_t{1} << TENON_RECORD_KERNEL));
  profiled.Work(5, 2000);
  profiled.Stop(started, masked);
  for (const tenon_record& record : masked.records())
    context.Require(record.header.kind != TENON_RECORD_KERNEL,
                    "A kernel is recorded although the mask leaves kernels out.");
}

void RecordTimes(Context& context) {
  Profiled profiled(context);
  Collector collector(context, 1 << 16, 1000);
  const std::uint32_t clocks = Clocks(profiled);
  std::vector<tenon_clock_pair> pairs;
  for (std::uint32_t clock = 0; clock < clocks; ++clock) pairs.push_back(Pair(profiled, clock));
  const std::uint64_t before = profiled.Now();
  tenon_profiler_session* started = profiled.Start(collector);
  profiled.Work(50, 1);
  profiled.Stop(started, collector);
  const std::uint64_t after = profiled.Now();
  context.Require(!collector.records().empty(), "50 calls left no record.");
  for (const tenon_record& record : collector.records()) {
    const tenon_record_header& header = record.header;
    context.Require(header.start <= header.end, "A record ends at {} before it starts at {}.", header.end,
                    header.start);
    context.Require(header.clock_domain < clocks, "A record names clock {} of {}.", header.clock_domain, clocks);
    const tenon_clock_pair& pair = pairs[header.clock_domain];
    const double scale = NsPerTick(profiled, header.clock_domain);
    const auto host = [&](std::uint64_t ticks) {
      return static_cast<double>(pair.host_ns) +
             scale * static_cast<double>(static_cast<std::int64_t>(ticks - pair.domain_ticks));
    };
    const double slack = 1e6 + static_cast<double>(pair.uncertainty_ns);
    context.Require(host(header.start) >= static_cast<double>(before) - slack &&
                        host(header.end) <= static_cast<double>(after) + slack,
                    "A record from {:.0f} to {:.0f} lies outside of the session ({} to {}).", host(header.start),
                    host(header.end), before, after);
  }
}

void ClockDrift(Context& context) {
  Profiled profiled(context);
  const std::uint32_t clocks = Clocks(profiled);
  for (std::uint32_t clock = 0; clock < clocks; ++clock) {
    const double scale = NsPerTick(profiled, clock);
    const tenon_clock_pair first = Pair(profiled, clock);
    SleepMs(200);
    const tenon_clock_pair second = Pair(profiled, clock);
    const double host = static_cast<double>(second.host_ns - first.host_ns);
    const double device = scale * static_cast<double>(second.domain_ticks - first.domain_ticks);
    const double slack = static_cast<double>(first.uncertainty_ns + second.uncertainty_ns) + 0.005 * host + 1e5;
    context.Require(std::abs(host - device) <= slack,
                    "In {:.0f} ns of the host clock {} says {:.0f} ns; {:.0f} ns are allowed.", host, clock, device,
                    slack);
  }
}

void TinyBuffers(Context& context) {
  Profiled profiled(context);
  Collector all(context, 1 << 16, 1000);
  tenon_profiler_session* started = profiled.Start(all);
  profiled.Work(20, 1);
  profiled.Stop(started, all);
  const std::uint64_t total = all.records().size() + all.dropped();
  context.Require(all.dropped() == 0, "{} records were dropped although there were buffers.", all.dropped());
  // Room for one record at a time, and only a few of those.
  for (const int limit : {4, 0}) {
    Collector few(context, sizeof(tenon_record), limit);
    started = profiled.Start(few);
    profiled.Work(20, 1);
    profiled.Stop(started, few);
    const std::uint64_t counted = few.records().size() + few.dropped();
    context.Require(counted == total, "With {} buffers {} records came and {} were dropped; the same work makes {}.",
                    limit, few.records().size(), few.dropped(), total);
  }
}

void StartStopUnderLoad(Context& context) {
  Profiled profiled(context);
  std::atomic<bool> end{false};
  std::vector<std::thread> threads;
  for (std::uint64_t index = 0; index < 2; ++index) {
    threads.emplace_back([&, index] {
      const auto run = profiled.Planned(100 + index);
      while (!end) run->Execute();
    });
  }
  // Collectors stay until the end: a record after stop is seen.
  std::vector<std::unique_ptr<Collector>> collectors;
  for (int round = 0; round < 100; ++round) {
    collectors.push_back(std::make_unique<Collector>(context, 4096, 1000));
    tenon_profiler_session* started = profiled.Start(*collectors.back());
    if (round == 0) {
      tenon_profiler_session* second = nullptr;
      tenon_error error;
      Collector other(context, 4096, 10);
      const tenon_profiler_config config = other.Config(kAllKinds);
      const std::int32_t code =
          TENON_CALL(tenon.profiler, &profiled.table(), start, profiled.session().plugin(), &config, &second, &error);
      context.Require(code == TENON_ALREADY_EXISTS || code == TENON_OK, "A second session answers {}.", code);
      if (code == TENON_OK) profiled.Stop(second, other);
    }
    if (round % 10 == 0) SleepMs(2);
    tenon_error error;
    if (round % 3 == 0) TENON_CALL(tenon.profiler, &profiled.table(), flush, started, &error);
    profiled.Stop(started, *collectors.back());
  }
  SleepMs(20);
  end = true;
  for (std::thread& thread : threads) thread.join();
}

void FailingCollector(Context& context) {
  Profiled profiled(context);
  Collector none(context, 4096, 0);
  tenon_profiler_session* started = profiled.Start(none);
  profiled.Work(20, 1);  // fails the case when a call does
  tenon_error error;
  TENON_CALL(tenon.profiler, &profiled.table(), flush, started, &error);
  profiled.Stop(started, none);
  context.Require(none.records().empty(), "Records came without a buffer.");
}

void OffCost(Context& context) {
  Profiled profiled(context);
  const auto run = profiled.Planned(0);
  const auto best = [&] {
    double least = 1e18;
    for (int round = 0; round < 15; ++round) {
      const std::uint64_t start = profiled.Now();
      for (int i = 0; i < 200; ++i) run->Execute();
      least = std::min(least, static_cast<double>(profiled.Now() - start) / 200);
    }
    return least;
  };
  const double before = best();
  Collector collector(context, 1 << 16, 1000);
  profiled.Stop(profiled.Start(collector), collector);
  // A machine that is busy with something else gets further chances.
  const double allowed = before * 1.25 + 500;
  double after = best();
  for (int round = 0; round < 20 && after > allowed; ++round) {
    SleepMs(100);
    after = std::min(after, best());
  }
  context.Require(after <= allowed,
                  "A call takes {:.0f} ns after a session ended; before the first it took "
                  "{:.0f} ns.",
                  after, before);
  context.Note(fmt::format("{:.0f} ns a call before, {:.0f} ns after a session", before, after));
}

}  // namespace tenon::conform
