// The same all-reduce through MPI: mpirun -np 2 comm_mpi BYTES [ROUNDS]. Rank 0 prints the median in microseconds.
#include <mpi.h>

#include <cstdlib>

#include "benchmarks/comm/measure.h"

using namespace tenon::bench;

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const std::size_t bytes = std::strtoull(argv[1], nullptr, 10), count = bytes / sizeof(float);
  const int rounds = argc > 2 ? std::atoi(argv[2]) : RoundsFor(bytes);
  auto* values = static_cast<float*>(std::aligned_alloc(4096, std::max<std::size_t>(bytes, 4096)));
  const std::uint64_t expected = ExpectedChecksum(count, ranks);
  std::vector<std::int64_t> start(static_cast<std::size_t>(rounds)), end(start);
  for (int round = 0; round < rounds; ++round) {
    Fill(values, count, rank);
    MPI_Barrier(MPI_COMM_WORLD);
    start[static_cast<std::size_t>(round)] = NowNs();
    MPI_Allreduce(MPI_IN_PLACE, values, static_cast<int>(count), MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    const std::uint64_t sum = Checksum(values, count);
    end[static_cast<std::size_t>(round)] = NowNs();
    if (sum != expected) MPI_Abort(MPI_COMM_WORLD, 1);
  }
  std::vector<std::int64_t> starts(start.size() * static_cast<std::size_t>(ranks)), ends(starts);
  std::vector<std::int64_t> by_round(starts.size());
  for (auto* pair : {&start, &end}) {
    MPI_Gather(pair->data(), rounds, MPI_INT64_T, by_round.data(), rounds, MPI_INT64_T, 0, MPI_COMM_WORLD);
    std::vector<std::int64_t>& to = pair == &start ? starts : ends;
    for (int one = 0; one < ranks; ++one) {
      for (int round = 0; round < rounds; ++round)
        to[static_cast<std::size_t>(round * ranks + one)] = by_round[static_cast<std::size_t>(one * rounds + round)];
    }
  }
  if (rank == 0) std::printf("%.3f\n", MedianUs(starts.data(), ends.data(), rounds, ranks));
  MPI_Finalize();
  return 0;
}
