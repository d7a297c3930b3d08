// What a host of another minor believes the sizes to be. Compiled against that neighbour's headers.
#include "tenon/abi/device.h"
#include "tenon/abi/memory.h"
#include "tenon/abi/op.h"
#include "tenon/abi/plugin.h"
#include "tenon/abi/profiler.h"
#include "tenon/abi/stream.h"
#include "tenon/abi/subgraph.h"

extern "C" {
#define TENON_HOST_STRUCT(type)                 \
  extern const uint32_t tenon_host_size_##type; \
  const uint32_t tenon_host_size_##type = sizeof(type);
#include "structs.inc"
#undef TENON_HOST_STRUCT
extern const uint32_t tenon_host_minor;
const uint32_t tenon_host_minor = TENON_ABI_MINOR;
}
