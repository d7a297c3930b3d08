#include "core/train/parallel_config.h"

#include "core/config/fields.h"
#include "core/config/scalar.h"

namespace tenon {

namespace {

const ConfigTable& SyncTable() {
  using T = SyncConfig;
  static const ConfigTable table = Table<T>(
      "When the ranks meet.",
      {
          Field("every", &T::every, AtLeast(1),
                "steps; above 1 each rank updates alone in between, and then all parameters and states are averaged"),
      });
  return table;
}

}  // namespace

std::vector<std::string> ConfigNamesOf(WireType) { return {"fp16", "bf16"}; }

ConfigType ConfigCodec<SyncConfig>::Type() { return {.kind = ConfigType::Kind::kStruct, .table = &SyncTable()}; }

void ConfigCodec<SyncConfig>::Read(const ConfigNode& node, const Bounds&, SyncConfig& out, ConfigReader& reader) {
  if (node.is_scalar() && node.text() == "async")
    return reader.Complain(node,
                           "cannot be async: ranks would update from gradients of older weights, so that no run could "
                           "be repeated and large "
                           "learning rates diverge. {every: k} lets ranks meet less often.");
  std::string complaint;
  if (const auto steps = node.is_scalar() ? ReadInteger(node, complaint) : std::nullopt)
    return reader.Complain(node, fmt::format("needs a map, but is {}; write {{every: {}}}.", node.Describe(), *steps));
  ReadFields(SyncTable(), node, &out, reader);
}

ConfigNode ConfigCodec<SyncConfig>::Write(const SyncConfig& value) {
  return ConfigNode::Map(WriteFields(SyncTable(), &value));
}

const ConfigTable& ConfigTableOf(const PowerSgdConfig*) {
  using T = PowerSgdConfig;
  static const ConfigTable table = Table<T>(
      "Gradients of matrices as products of two thin ones; what a step does not send is added to the next one.",
      {
          Field("rank", &T::rank, Between(1, 1024), "columns of the thin matrices"),
      });
  return table;
}

const ConfigTable& ConfigTableOf(const ParallelConfig*) {
  using T = ParallelConfig;
  static const ConfigTable table = Table<T>(
      "How the processes of a run work together; a launcher starts them.",
      {
          Field("comm", &T::comm, "plugin of the collectives: auto, an id or a file name"),
          Field("first_bucket_mb", &T::first_bucket_mb, Between(0.0001, 4096),
                "the first bucket of gradients, which is summed first, is full when it has so many 2^20 bytes"),
          Field("bucket_mb", &T::bucket_mb, Between(0.0001, 4096),
                "the other buckets are full when they have so many 2^20 bytes"),
          Field("wire", &T::wire, "type of gradients on their way; absent: as they are"),
          Field("hook", &T::hook, "what makes gradients shorter on their way; absent: nothing"),
          Field("sync", &T::sync, "when the processes meet"),
          Field("sync_batch_norm", &T::sync_batch_norm,
                "batch norms take the statistics of the batches of all processes"),
          Field("timeout_s", &T::timeout_s, Above(0) & AtMost(1e6),
                "longest wait for the other processes in each operation, in seconds; for their start it is "
                "MS_TOPO_TIMEOUT"),
          Field("straggler_every", &T::straggler_every, AtLeast(0),
                "steps between two looks for processes that are slower than the others; 0: none"),
      });
  return table;
}

}  // namespace tenon
