// image_loading FOLDER [BATCH]: milliseconds of processor time an image, on one thread, from a folder of JPEG files to batches of float32:
// read, decode, random resized crop to 224, random flip, normalise. Prints one number; the first epoch warms up.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>

#include "core/data/open_data.h"

namespace {

using namespace tenon;  // NOLINT: a program of one file

Result<double> MillisecondsAnImage(const char* folder, std::int64_t batch_size) {
  DataConfig config;
  config.type = "images";
  config.path.text = folder;
  config.path.resolved = folder;
  config.batch = batch_size;
  config.workers = 0;
  config.image.emplace();
  config.image->scale = 1.0 / 255;
  config.transforms = {RandomResizedCropConfig{{224, 224, true}}, RandomFlipConfig{},
                       NormalizeConfig{{0.485, 0.456, 0.406}, {0.229, 0.224, 0.225}}};
  TENON_ASSIGN(const DataSource source, OpenData(config, {}));
  TENON_ASSIGN(const std::unique_ptr<Loader> loader, source.TrainLoader());
  double best = 1e30;
  for (std::int64_t epoch = 0; epoch < 4; ++epoch) {
    const std::clock_t start = std::clock();
    TENON_TRY(loader->Start(epoch));
    float sum = 0;
    while (true) {
      TENON_ASSIGN(const Batch* batch, loader->Next());
      if (!batch) break;
      sum += batch->samples.data<float>()[0];
    }
    const double took = static_cast<double>(std::clock() - start) * 1e3 / CLOCKS_PER_SEC;
    if (sum == 1234.5f) std::puts("");  // the sum is used
    if (epoch > 0) best = std::min(best, took / static_cast<double>(loader->samples_per_epoch()));
  }
  return best;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: image_loading FOLDER [BATCH]\n");
    return 2;
  }
  const auto took = MillisecondsAnImage(argv[1], argc > 2 ? std::atoll(argv[2]) : 32);
  if (!took.ok()) {
    std::fprintf(stderr, "image_loading: %s\n", took.status().ToString().c_str());
    return 1;
  }
  std::printf("%.6f\n", *took);
  return 0;
}
