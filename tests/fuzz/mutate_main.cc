// main() of the fuzz targets where the compiler has no libFuzzer: gives the target the seeds that it makes itself and
// many damaged copies of them, the same in every run.
//   TARGET [RUNS]
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "core/data/counter_rng.h"
#include "tests/fuzz/seeds.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

void Give(const std::string& input) {
  LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(input.data()), input.size());
}

// Cuts, overwrites, inserts or repeats bytes; `run` decides which.
std::string Damage(std::string input, std::uint64_t run) {
  const tenon::CounterRng rng(run, 0);
  const std::uint64_t changes = 1 + rng.Below(0, 4);
  for (std::uint64_t c = 1; c <= 4 * changes; c += 4) {
    if (input.empty()) return input;
    const std::size_t at = rng.Below(c, input.size());
    const char byte = static_cast<char>(rng.Below(c + 1, 256));
    switch (rng.Below(c + 2, 5)) {
      case 0:
        input.resize(at);
        break;
      case 1:
        input[at] = byte;
        break;
      case 2:
        input.insert(at, 1, byte);
        break;
      case 3:
        input[at] = static_cast<char>(input[at] ^ (1 << rng.Below(c + 3, 8)));
        break;
      default:
        input.insert(at, input.substr(at, 1 + rng.Below(c + 3, 16)));
        break;
    }
  }
  return input;
}

}  // namespace

int main(int argc, char** argv) {
  const std::uint64_t runs = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 20000;
  const std::vector<std::string> seeds = tenon::fuzz::Seeds();
  Give("");
  for (const std::string& seed : seeds) Give(seed);
  for (std::uint64_t run = 0; run < runs; ++run) Give(Damage(seeds[run % seeds.size()], run));
  std::printf("%llu inputs\n", static_cast<unsigned long long>(runs + seeds.size() + 1));
}
