// data_loading: samples a second of an epoch of MNIST's size (60,000 samples of 28x28 bytes, batch 128, shuffled, scaled
// and normalised to float32), for 0, 1 and 2 workers, reading each batch once. Best of several epochs; JSON on request.
// The peer's figure is measured once with PyTorch 2.15 on the same kind of machine (plain slicing of a float tensor in
// memory, one thread, no conversion): the fastest that its data sets reach.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <numeric>
#include <utility>
#include <vector>

#include "core/data/loader.h"
#include "core/data/memory_dataset.h"

namespace {

using namespace tenon;  // NOLINT: a program of one file

constexpr double kPeerSamplesPerSecond = 685000;
constexpr std::int64_t kSamples = 60000;

Result<std::unique_ptr<Loader>> MakeLoader(std::int64_t workers) {
  Tensor images(DType::kU8, {kSamples, 1, 28, 28});
  unsigned char* bytes = images.data<unsigned char>();
  for (std::int64_t i = 0; i < images.elements(); ++i) bytes[i] = static_cast<unsigned char>(i * 31 >> 3);
  Tensor labels(DType::kU8, {kSamples});
  for (std::int64_t i = 0; i < kSamples; ++i) labels.data<unsigned char>()[i] = static_cast<unsigned char>(i % 10);
  TENON_ASSIGN(std::shared_ptr<const Dataset> dataset, MemoryDataset::Create(std::move(images), std::move(labels), {}));
  TransformSpec spec;
  spec.scale = 1.0 / 255;
  spec.mean = {0.1307};
  spec.std = {0.3081};
  TENON_ASSIGN(Transform transform, Transform::Compile(spec, dataset->layout(), 10));
  std::vector<std::int64_t> rows(kSamples);
  std::iota(rows.begin(), rows.end(), 0);
  const Sampler sampler(std::make_shared<const std::vector<std::int64_t>>(rows), {true, 1});
  return Loader::Create({dataset, transform}, sampler, {128, false, workers, 60});
}

// Milliseconds of the fastest epoch.
Result<double> BestEpoch(Loader& loader, int epochs) {
  double best = 1e30;
  for (int epoch = 0; epoch < epochs; ++epoch) {
    const auto start = std::chrono::steady_clock::now();
    TENON_TRY(loader.Start(epoch));
    float sum = 0;
    while (true) {
      TENON_ASSIGN(const Batch* batch, loader.Next());
      if (!batch) break;
      sum += batch->samples.data<float>()[0];
    }
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
    if (sum == 1234.5f) std::puts("");  // the sum is used
    best = std::min(best, took.count());
  }
  return best;
}

}  // namespace

int main(int argc, char** argv) {
  const bool json = argc > 1 && std::strcmp(argv[1], "--json") == 0;
  if (json) std::puts("[");
  for (const std::int64_t workers : {0, 1, 2}) {
    auto loader = MakeLoader(workers);
    auto best = loader.ok() ? BestEpoch(**loader, 7) : Result<double>(loader.status());
    if (!best.ok()) {
      std::fprintf(stderr, "data_loading: %s\n", best.status().ToString().c_str());
      return 1;
    }
    const double peer_ms = kSamples / kPeerSamplesPerSecond * 1e3;
    const double rate = kSamples / *best * 1e3;
    if (json) {
      std::printf(
          "  {\"case\": \"mnist_epoch_workers_%d\", \"tenon_ms\": %.3f, \"peer_ms\": %.3f, \"ratio\": %.2f, \"peer\": "
          "\"torch, plain slicing\", "
          "\"versions\": {\"torch\": \"2.15\", \"tenon\": \"%s\"}, \"samples_per_s\": %.0f}%s\n",
          static_cast<int>(workers), *best, peer_ms, peer_ms / *best, TENON_VERSION_STRING, rate,
          workers == 2 ? "" : ",");
    } else {
      std::printf("%d workers: %.2f ms an epoch, %.0f samples/s, %.1f times plain slicing in PyTorch (%.0f)\n",
                  static_cast<int>(workers), *best, rate, peer_ms / *best, kPeerSamplesPerSecond);
    }
  }
  if (json) std::puts("]");
}
