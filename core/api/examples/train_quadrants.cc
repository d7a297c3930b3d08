// A network from YAML text, trained on batches of your own: train_quadrants [steps]. Build it with
//   c++ -std=c++17 train_quadrants.cc -I<prefix>/include -L<prefix>/lib -ltenon -Wl,-rpath,<prefix>/lib
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "tenon/tenon.h"

namespace tn = tenon::api;

namespace {

constexpr const char* kNetwork = R"(
network:
  layers:
    - linear: {out: 16}
    - relu
    - linear: {out: 2}
loss: {type: softmax_cross_entropy}
optimizer: {type: sgd, lr: 0.5, momentum: 0.9}
)";

// Points of the plane; the class says whether x * y is positive.
struct Batch {
  std::vector<float> points;
  std::vector<std::int64_t> classes;
};

Batch MakeBatch(int count, unsigned* random) {
  Batch batch;
  for (int i = 0; i < count; ++i) {
    float point[2];
    for (float& value : point) {
      *random = *random * 1664525u + 1013904223u;
      value = static_cast<float>(*random >> 8) / 8388608.0f - 1.0f;
      batch.points.push_back(value);
    }
    batch.classes.push_back(point[0] * point[1] > 0 ? 1 : 0);
  }
  return batch;
}

}  // namespace

int main(int argc, char** argv) {
  const int steps = argc > 1 ? std::atoi(argv[1]) : 300;
  try {
    const tn::Runtime runtime;
    tn::Network network = tn::Network::FromText(runtime, kNetwork);
    unsigned random = 1;
    double loss = 0;
    for (int step = 0; step < steps; ++step) {
      const Batch batch = MakeBatch(64, &random);
      loss = network.TrainStep(tn::Tensor::Of(runtime, {64, 2}, batch.points),
                               tn::Tensor::Of(runtime, {64}, batch.classes));
    }
    const tn::Tensor corners =
        tn::Tensor::Of<float>(runtime, {4, 2}, {0.5f, 0.5f, -0.5f, 0.5f, -0.5f, -0.5f, 0.5f, -0.5f});
    const std::vector<float> scores = network.Run(corners).Values<float>();
    std::printf("loss %.4f after %d steps on %s\n", loss, steps, runtime.device().c_str());
    for (std::size_t i = 0; i < 4; ++i)
      std::printf("quadrant %zu: class %d\n", i + 1, scores[2 * i + 1] > scores[2 * i] ? 1 : 0);
    return 0;
  } catch (const tn::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
