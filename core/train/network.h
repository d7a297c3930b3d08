#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/graph/graph.h"
#include "core/train/layer.h"
#include "core/train/run_config.h"

namespace tenon {

// A network as its configuration describes it: layers that can be added to a graph for any batch size. The same network
// gives the same parameter names and initial values each time. Read-only after Make; any thread.
class Network {
 public:
  // Reads the layers, or those of a zoo network. All problems of the list are in one error. `ops` are the operators that
  // layers may name, and outlive the network and its graphs.
  static Result<Network> Make(const NetworkConfig& config, const OpRegistry& ops = BuiltinOps());

  // An empty graph that knows the operators of the network.
  graph::Graph NewGraph() const { return graph::Graph(*ops_); }

  struct Build {
    graph::ValueId output = graph::kNone;
    std::map<std::string, InitialTensor> initial;  // of parameters and states
    std::vector<graph::ValueId> parameters;        // trained, in the order of the layers
    std::vector<std::string> exact_layers;         // that compute in float32 whatever the precision of the run
  };
  // Adds the layers to `graph`, reading `input`. An error names the layer, its place, and both shapes.
  Result<Build> AddTo(graph::Graph& graph, graph::ValueId input, bool training) const;

  // From now on the statistics of batch norms in training are those of the batches of all ranks.
  void SyncBatchNorm() { sync_batch_norm_ = true; }
  // Samples have different lengths and none is longer than this: learned positions have so many rows, whatever the batch.
  void SetLongest(std::int64_t length) { longest_ = length; }

  // Where the last layer was written: "run.yaml:14:5".
  const std::string& place_of_output() const { return layers_.back().place; }

 private:
  struct Layer {
    std::string kind;
    LayerKeys keys;
    int inputs;  // how many the kind takes; -1: any number from 1
    std::string place;
    std::function<LayerResult(LayerBuilder&)> build;
  };
  std::vector<Layer> layers_;
  const OpRegistry* ops_ = nullptr;
  bool sync_batch_norm_ = false;
  std::int64_t longest_ = 0;  // 0: all samples have one length
};

}  // namespace tenon
