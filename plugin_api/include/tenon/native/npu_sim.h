/* Native kinds of the simulated accelerator: what its native handles mean to plugins that are not its own, as a driver's
 * headers say it for a real device.
 *   "npu.sim.stream"  a native stream is the address of a tenon_npu_sim_stream
 *   "npu.sim.memfd"   an address is a number in a reserved range; locate turns it into a place in a memory file */
#ifndef TENON_NATIVE_NPU_SIM_H
#define TENON_NATIVE_NPU_SIM_H

#include "tenon/abi/types.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TENON_NPU_SIM_STREAM_KIND "npu.sim.stream"
#define TENON_NPU_SIM_MEMORY_KIND "npu.sim.memfd"

/* One stream; lives as long as the stream. Both functions may be called from any thread and do not block. */
typedef struct tenon_npu_sim_stream {
  uint32_t struct_size;
  uint32_t flags; /* reserved, 0 */
  /* Runs fn(user) on the stream's thread when all work before it is done; work behind it waits. It runs once, also when
   * earlier work failed. A result other than TENON_OK becomes the stream's error. DEVICE_LOST: it will not run. */
  int32_t (*enqueue)(struct tenon_npu_sim_stream* stream, int32_t (*fn)(void* user), void* user);
  /* The memory file (owned by the device, not to be closed) and the place in it of bytes at address, which lie in one
   * allocation of the stream's device. INVALID_ARGUMENT when they do not. */
  int32_t (*locate)(struct tenon_npu_sim_stream* stream, uint64_t address, uint64_t bytes, int32_t* file,
                    uint64_t* offset);
} tenon_npu_sim_stream;

#ifdef __cplusplus
}
#endif
#endif
