// Rules between `parallel` and other sections of a run file.
#include "core/config/fields.h"
#include "core/train/loss_scaler.h"
#include "core/train/run_config.h"

namespace tenon {
namespace {

class ParallelRules {
 public:
  ParallelRules(const ConfigNode& node, const RunConfig& run, ConfigReader& reader)
      : node_(node), run_(run), parallel_(run.parallel), reader_(reader) {}

  void Check() {
    const bool scaled = ScalesLoss(run_.amp);
    if (parallel_.wire && parallel_.hook)
      Refuse("hook", "'parallel.wire' and 'parallel.hook' both say how gradients travel. Keep one of the two.");
    if (parallel_.hook && scaled)
      Refuse("hook",
             "'parallel.hook' keeps what it has not sent in units of the scale of the loss, which changes; "
             "use amp: bf16, which needs no scale, or 'parallel.wire'.");
    if (parallel_.sync.every > 1) LocalSteps(scaled);
  }

 private:
  void Refuse(const char* key, const char* why) {
    reader_.Fail(PlaceOf(node_, std::string("parallel.") + key), "{}", why);
  }

  void LocalSteps(bool scaled) {
    if (parallel_.wire)
      Refuse("wire", "'parallel.wire' is for gradients; with 'parallel.sync.every' above 1 none travel.");
    if (parallel_.hook)
      Refuse("hook", "'parallel.hook' is for gradients; with 'parallel.sync.every' above 1 none travel.");
    if (scaled)
      Refuse("sync",
             "'parallel.sync.every' above 1 lets ranks update alone, but the scale of the loss must be one for "
             "all; use amp: bf16, which needs none.");
    if (parallel_.sync_batch_norm)
      Refuse(
          "sync_batch_norm",
          "'parallel.sync_batch_norm' makes ranks meet in each step; with 'parallel.sync.every' above 1 they do not.");
  }

  const ConfigNode& node_;
  const RunConfig& run_;
  const ParallelConfig& parallel_;
  ConfigReader& reader_;
};

}  // namespace

void CheckParallel(const ConfigNode& node, const RunConfig& run, ConfigReader& reader) {
  ParallelRules(node, run, reader).Check();
}

}  // namespace tenon
