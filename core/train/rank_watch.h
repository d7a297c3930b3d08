#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/train/run_ranks.h"
#include "core/train/run_summary.h"
#include "core/train/straggler.h"

namespace tenon {

// Looks at where the time of each rank of a run goes: every so many steps for one that is slow, at the end over all steps.
// All ranks call the same functions at the same steps. One thread.
class RankWatch {
 public:
  // `every`: steps between two looks, 0: none. `ranks` must outlive the watch.
  RankWatch(RunRanks& ranks, std::int64_t every) : ranks_(ranks), every_(every) {}

  // Time that this rank has stood still for the others so far.
  std::int64_t wait_ns() const;
  // After each step but the first, which compiles. A sentence when a look finds a slow rank, else nothing.
  Result<std::string> Note(const RankTimes& step);
  // At the end: the times of all ranks, and what stands out as warnings.
  Status AddTo(RunSummary* summary);

 private:
  struct Total {
    RankTimes sum;
    std::int64_t steps = 0;
    void Add(const RankTimes& step);
    RankTimes Mean() const;
  };
  Result<std::vector<RankTimes>> Gather(const Total& total);

  RunRanks& ranks_;
  std::int64_t every_;
  Total all_, since_look_;
};

// "Rank 1 stands still for communication during 31 % of its steps (3.1 of 10.0 ms). ..." when it is worth looking at: more
// than 20 %; else nothing.
std::string DescribeCommunication(std::size_t rank, const RankTimes& times, bool has_straggler);

}  // namespace tenon
