/* tenon.device: enumeration, opening, capability queries, layouts. No thread-local "current device" anywhere. */
#ifndef TENON_ABI_DEVICE_H
#define TENON_ABI_DEVICE_H

#include "tenon/abi/types.h"

#ifdef __cplusplus
extern "C" {
#endif

enum tenon_device_flag {
  TENON_DEVICE_HOST_MEMORY = 1,   /* the host CPU may read and write its default space; streams run on the host */
  TENON_DEVICE_DETERMINISTIC = 2, /* same inputs, same bits */
  TENON_DEVICE_INLINE_STREAMS = 4 /* work is finished when the enqueueing call returns: no synchronisation needed */
};

/* What is known about a device before it is opened. Text is static or lives as long as the instance. */
typedef struct tenon_device_info {
  uint32_t struct_size;
  uint32_t flags;               /* tenon_device_flag */
  tenon_str kind;               /* word used in the YAML: "cpu", "npu", ... */
  tenon_str name;               /* for people */
  tenon_str unique_id;          /* same device, same text, in every process */
  uint64_t memory_bytes;        /* of the default space; 0: not known */
  tenon_str native_stream_kind; /* "host", "cuda.stream", ...: what tenon.stream native returns */
  tenon_str native_memory_kind; /* "host", "cuda.device", ...: what an address of the default space means */
  int32_t numa_node;            /* -1: none */
  uint32_t pci_bus;             /* 0: none */
  tenon_str driver_version;     /* optional */
} tenon_device_info;

typedef struct tenon_layout_info {
  uint32_t struct_size;
  uint32_t flags;   /* tenon_layout_flag */
  uint64_t bytes;   /* of a tensor with these dims, padding included; 0 for an empty tensor */
  uint64_t align;   /* of its first byte */
  int64_t* strides; /* NULL, or room for rank strides that is filled when TENON_LAYOUT_IS_STRIDED */
  tenon_str name;   /* optional, for people: "nChw16c"; lives as long as the device */
} tenon_layout_info;
enum tenon_layout_flag {
  TENON_LAYOUT_IS_STRIDED = 1, /* dims and strides describe it fully */
  TENON_LAYOUT_ZERO_PADDED = 2 /* padding is zero and stays zero under layout-blind operators */
};

/* Keys of query (vendors add their own under a reverse-DNS prefix). Value kind in brackets.
 *   "dtypes" [ints] dtypes with kernels          "capture" [flag]            "peer_access" [ints] device indices
 *   "unified_memory" [flag]                      "event_timing" [flag]       "stream_priorities" [i64] count
 *   "max_rank" [i64]  "max_dim" [i64]            "async_copy_engines" [i64]  "deterministic" [flag]
 *   "compute_threads" [i64]                      "instruction_set" [text]
 * A "yes" is a promise: the feature must not answer UNIMPLEMENTED later. */

typedef struct tenon_device_vtable {
  uint32_t struct_size;
  uint32_t flags; /* reserved, 0 */
  /* Number of devices seen now; 0 is not an error.
   * @since 1.0 @threads T3 @blocks device @async no @own arguments borrowed for the call
   * @null only the error sink may be NULL @errors UNAVAILABLE @reentrant yes @capture no @shutdown no @fork never
   * @fallback required @idempotent yes */
  int32_t (*device_count)(tenon_plugin* plugin, uint32_t* out, tenon_error* error);
  /* Describes device index without opening it.
   * @since 1.0 @threads T3 @blocks device @async no @own text in *out lives as long as plugin
   * @null only the error sink may be NULL @errors OUT_OF_RANGE UNAVAILABLE @reentrant yes @capture no @shutdown no
   * @fork never @fallback required @idempotent yes */
  int32_t (*device_info)(tenon_plugin* plugin, uint32_t index, tenon_device_info* out, tenon_error* error);
  /* Opens device index. A device may be opened several times; the handles are independent.
   * @since 1.0 @threads T3 @blocks device @async no @own *out owned by the host until close
   * @null only the error sink may be NULL @errors OUT_OF_RANGE UNAVAILABLE RESOURCE_EXHAUSTED PERMISSION_DENIED
   * @reentrant no @capture no @shutdown no @fork never @fallback required @idempotent no */
  int32_t (*open)(tenon_plugin* plugin, uint32_t index, tenon_device** out, tenon_error* error);
  /* Closes a device; all its streams, events, buffers and kernels were destroyed before.
   * @since 1.0 @threads T1 @blocks device @async no @own device is consumed @null NULL does nothing @errors none
   * @reentrant no @capture no @shutdown yes @fork never @fallback required @idempotent no */
  void (*close)(tenon_device* device);
  /* Answers a capability key for device index, before or after it is opened. Cheap, same answer each time. An
   * unknown key is OK with the answer unknown.
   * @since 1.0 @threads T3 @blocks never @async no @own key borrowed; text and ints in *out live as long as plugin
   * @null only the error sink may be NULL @errors OUT_OF_RANGE @reentrant yes @capture no @shutdown no @fork never
   * @fallback required @idempotent yes */
  int32_t (*query)(tenon_plugin* plugin, uint32_t index, tenon_str key, tenon_value* out, tenon_error* error);
  /* OK while the device works; DEVICE_LOST is sticky until it is opened again.
   * @since 1.0 @threads T3 @blocks never @async no @own arguments borrowed for the call
   * @null only the error sink may be NULL @errors DEVICE_LOST @reentrant yes @capture no @shutdown yes @fork never
   * @fallback the device counts as healthy @idempotent yes */
  int32_t (*status)(tenon_device* device, tenon_error* error);
  /* Bytes, alignment and nature of a layout for these dims.
   * @since 1.0 @threads T3 @blocks never @async no @own dims borrowed; text in *out lives as long as device
   * @null dims may be NULL with rank 0 @errors NOT_FOUND (unknown id) INVALID_ARGUMENT (dims do not fit it)
   * @reentrant yes @capture yes @shutdown no @fork never @fallback the device has no layouts of its own
   * @idempotent yes */
  int32_t (*layout_info)(tenon_device* device, uint32_t layout, uint32_t dtype, uint32_t rank, const int64_t* dims,
                         tenon_layout_info* out, tenon_error* error);
  /* Copies source to target on stream, converting the layout; same dims and dtype, either side may be strided.
   * Padding of the target is zeroed.
   * @since 1.0 @threads T3 @blocks never @async OK means enqueued
   * @own views borrowed for the call; memory must live until stream completion
   * @null stream NULL: done when it returns @errors INVALID_ARGUMENT UNIMPLEMENTED (pair of layouts) DEVICE_LOST
   * @reentrant yes @capture yes @shutdown no @fork never @fallback the device has no layouts of its own
   * @idempotent yes */
  int32_t (*reorder)(tenon_device* device, const tenon_tensor* source, const tenon_tensor* target, tenon_stream* stream,
                     tenon_error* error);
  /* Id of a layout by the name that layout_info gives, for kernels of other plugins.
   * @since 1.0 @threads T3 @blocks never @async no @own name borrowed @null only the error sink may be NULL
   * @errors NOT_FOUND @reentrant yes @capture no @shutdown no @fork never
   * @fallback other plugins use strided tensors @idempotent yes */
  int32_t (*find_layout)(tenon_device* device, tenon_str name, uint32_t* out, tenon_error* error);
} tenon_device_vtable;

#ifdef __cplusplus
}
#endif
#endif
