// A session over the CPU plugin of this build.
#include "core/profile/session.h"

#include <gtest/gtest.h>

#include "core/exec/eager.h"
#include "tests/unit/exec/open_runtime.h"

namespace tenon::profile {
namespace {

class SessionTest : public testing::Test {
 protected:
  void SetUp() override {
    auto opened = testing_support::OpenCpuRuntime();
    ASSERT_TRUE(opened.ok()) << opened.status().ToString();
    runtime_ = std::move(opened).value();
  }
  void CopyOnce() {
    Device& device = runtime_->device();
    auto buffer = device.Allocate(64, TENON_ALLOC_DEFAULT);
    ASSERT_TRUE(buffer.ok());
    const std::vector<char> bytes(64, 'x');
    ASSERT_TRUE(device.CopyFromHost(bytes.data(), buffer->address(), 64).ok());
  }
  static std::int64_t Copies(const Timeline& timeline) {
    return std::count_if(timeline.events.begin(), timeline.events.end(),
                         [](const Event& event) { return event.record_kind == TENON_RECORD_COPY; });
  }
  std::unique_ptr<exec::Runtime> runtime_;
};

TEST_F(SessionTest, RecordsLieWithinTheCallsThatMadeThem) {
  Session session(*runtime_, 1 << 20);
  for (int i = 0; i < 100; ++i) CopyOnce();
  session.Stop();
  CopyOnce();  // after the end
  const Timeline timeline = session.MakeTimeline();
  EXPECT_TRUE(session.warnings().empty());
  EXPECT_EQ(Copies(timeline), 100);
  EXPECT_EQ(timeline.dropped + timeline.unclocked + timeline.malformed, 0);
  for (const Event& event : timeline.events) {
    if (event.record_kind == 0) continue;
    ASSERT_NE(event.owner, Event::kNoInfo);
    const Event& call = timeline.events[event.owner];
    EXPECT_LE(call.start_ns, event.start_ns);
    EXPECT_LE(event.end_ns, call.end_ns);
    EXPECT_EQ(event.bytes, 64);
  }
}

TEST_F(SessionTest, OneAfterTheOther) {
  for (int round = 0; round < 50; ++round) {
    Session session(*runtime_, 1 << 20);
    CopyOnce();
    session.Stop();
    EXPECT_EQ(Copies(session.MakeTimeline()), 1) << round;
  }
}

// What operators and programs have noted of an earlier log must not be used with a later one, also where that lies in the
// same memory.
TEST_F(SessionTest, OperatorsAreNamedAnewInEachSession) {
  exec::EagerEngine engine(runtime_->target(), {});
  auto x = engine.FromHost(Tensor::Scalar(1.5F));
  ASSERT_TRUE(x.ok());
  for (int round = 0; round < 20; ++round) {
    const auto session = std::make_unique<Session>(*runtime_, 1 << 20);
    ASSERT_TRUE(engine.Apply(round % 2 == 0 ? "Exp" : "Relu", {*x}).ok());
    session->Stop();
    const Timeline timeline = session->MakeTimeline();
    std::vector<std::string> ops;
    for (const Event& event : timeline.events) {
      ASSERT_LT(event.info, timeline.infos.size());
      if (event.record_kind == 0 && IsNode(timeline.infos[event.info].kind))
        ops.push_back(timeline.infos[event.info].op);
    }
    EXPECT_EQ(ops, std::vector<std::string>{round % 2 == 0 ? "Exp" : "Relu"}) << round;
  }
}

// The plugin has one session at a time: the second one goes without it, with a warning.
TEST_F(SessionTest, APluginThatRefusesIsAWarning) {
  Session first(*runtime_, 1 << 20);
  Session second(*runtime_, 1 << 20);
  CopyOnce();
  second.Stop();
  ASSERT_EQ(second.warnings().size(), 1U);
  EXPECT_NE(second.warnings()[0].find("org.tenon.device_cpu is not profiled"), std::string::npos);
  EXPECT_NE(second.warnings()[0].find("A profiler session is running already."), std::string::npos);
  EXPECT_EQ(Copies(second.MakeTimeline()), 0);
}

// A limit of one buffer for the plugin: what does not fit is counted, nothing else happens.
TEST_F(SessionTest, FullBuffersDrop) {
  Session session(*runtime_, 2 * static_cast<std::int64_t>(RecordBuffers::kBufferBytes));
  constexpr std::int64_t kCopies = 5000;
  for (std::int64_t i = 0; i < kCopies; ++i) CopyOnce();
  session.Stop();
  const Timeline timeline = session.MakeTimeline();
  const std::int64_t kept = Copies(timeline);
  const std::int64_t activities = static_cast<std::int64_t>(timeline.events.size()) - kept;
  EXPECT_LT(kept, kCopies);
  EXPECT_GT(kept, 100);
  EXPECT_EQ(timeline.dropped, (kCopies - kept) + (kCopies - activities));
}

}  // namespace
}  // namespace tenon::profile
