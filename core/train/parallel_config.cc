#include "core/train/parallel_config.h"

#include "core/config/fields.h"

namespace tenon {

const ConfigTable& ConfigTableOf(const ParallelConfig*) {
  using T = ParallelConfig;
  static const ConfigTable table =
      Table<T>("How the processes of a run work together; a launcher starts them.",
               {
                   Field("comm", &T::comm, "plugin of the collectives: auto, an id or a file name"),
                   Field("first_bucket_mb", &T::first_bucket_mb, Between(0.0001, 4096),
                         "size of the first bucket of gradients, which is summed first, in 2^20 bytes"),
                   Field("bucket_mb", &T::bucket_mb, Between(0.0001, 4096), "size of the other buckets, in 2^20 bytes"),
                   Field("timeout_s", &T::timeout_s, Above(0) & AtMost(1e6),
                         "longest wait for the other processes, at the start and in each operation, in seconds"),
                   Field("straggler_every", &T::straggler_every, AtLeast(0),
                         "steps between two looks for processes that are slower than the others; 0: none"),
               });
  return table;
}

}  // namespace tenon
