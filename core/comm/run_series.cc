#include "core/comm/run_series.h"

#include <string>
#include <utility>

namespace tenon {

class RunSeries::Run final : public Rendezvous, public KeyValueStore {
 public:
  Run(Rendezvous& meeting, std::uint64_t number, bool& left)
      : meeting_(meeting), prefix_(fmt::format("run{}/", number)), left_(left) {}
  ~Run() override {
    meeting_.OnFailure([](const Status&) {});
  }

  Neighbours neighbours() const override { return meeting_.neighbours(); }
  KeyValueStore& store() override { return *this; }
  void Abort(const Status& cause) override { meeting_.Abort(cause); }
  Status failure() const override { return meeting_.failure(); }
  void OnFailure(std::function<void(const Status&)> call) override { meeting_.OnFailure(std::move(call)); }
  Status Barrier(std::string_view name, std::uint64_t timeout_ns) override {
    return meeting_.Barrier(Own(name), timeout_ns);
  }
  Status Leave() override {
    left_ = true;
    return meeting_.failure();
  }

  Result<std::string> Get(std::string_view key, std::uint64_t timeout_ns) override {
    return meeting_.store().Get(Own(key), timeout_ns);
  }
  Status Put(std::string_view key, std::string_view value) override { return meeting_.store().Put(Own(key), value); }
  Status Delete(std::string_view key) override { return meeting_.store().Delete(Own(key)); }

 private:
  std::string Own(std::string_view key) const { return prefix_ + std::string(key); }

  Rendezvous& meeting_;
  const std::string prefix_;
  bool& left_;
};

RunSeries::~RunSeries() {
  if (meeting_ && in_order_) static_cast<void>(meeting_->Leave());
}

Result<std::unique_ptr<Rendezvous>> RunSeries::Next(const Rank& rank, const Handshake& handshake) {
  if (!meeting_) {
    TENON_ASSIGN(meeting_, join_(rank, handshake));
  }
  in_order_ = false;
  return std::unique_ptr<Rendezvous>(std::make_unique<Run>(*meeting_, runs_++, in_order_));
}

}  // namespace tenon
