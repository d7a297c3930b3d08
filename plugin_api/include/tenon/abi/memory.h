/* tenon.memory: memory spaces, allocation, copies. Objects hold their parents: buffer -> space -> device -> plugin. */
#ifndef TENON_ABI_MEMORY_H
#define TENON_ABI_MEMORY_H

#include "tenon/abi/types.h"

#ifdef __cplusplus
extern "C" {
#endif

enum tenon_space_kind {
  TENON_SPACE_DEVICE = 1,
  TENON_SPACE_PINNED_HOST = 2,
  TENON_SPACE_UNIFIED = 3,
  TENON_SPACE_PEER = 4 /* visible to other devices or processes */
};
enum tenon_space_flag {
  TENON_SPACE_HOST_ACCESSIBLE = 1, /* an address is a pointer for the host CPU */
  TENON_SPACE_HOST_POOLS = 2,      /* the host keeps a cache of blocks over alloc */
  TENON_SPACE_PLUGIN_POOLS = 4,    /* the plugin pools; the host passes every request through */
  TENON_SPACE_DEFAULT = 8          /* where tensors of the device live; exactly one per device */
};
typedef struct tenon_space_info {
  uint32_t struct_size;
  uint32_t flags; /* tenon_space_flag; exactly one of the two pool flags */
  uint32_t kind;  /* tenon_space_kind */
  uint32_t reserved;
  uint64_t min_align;           /* of every allocation; a power of two */
  uint64_t max_bytes;           /* of one allocation; 0: not known */
  tenon_str native_memory_kind; /* meaning of an address; static */
  tenon_str name;               /* optional, for people; static */
} tenon_space_info;

typedef struct tenon_memory_stats {
  uint32_t struct_size;
  uint32_t flags; /* reserved, 0 */
  uint64_t current_bytes;
  uint64_t peak_bytes;
  uint64_t reserved_bytes;     /* held from the system, current included */
  uint64_t largest_free_bytes; /* optional; 0: not known */
} tenon_memory_stats;

enum tenon_alloc_hint {
  TENON_ALLOC_DEFAULT = 0,
  TENON_ALLOC_ARENA = 1,     /* one large block for a whole program: big pages pay */
  TENON_ALLOC_TEMPORARY = 2, /* freed within the step */
  TENON_ALLOC_WEIGHTS = 3    /* lives as long as the model */
};

/* When may the caller change or free the host memory of a copy's source? */
enum tenon_host_source {
  TENON_HOST_SOURCE_DURING_CALL = 1, /* after the call returns */
  TENON_HOST_SOURCE_UNTIL_EVENT = 2, /* after the stream has passed the copy */
  TENON_HOST_SOURCE_ZERO_COPY = 3    /* never while the target lives: the target may be the same memory */
};
/* rows blocks of row_bytes; rows 1 is a plain copy. A NULL space is ordinary host memory. Ranges must not overlap. */
typedef struct tenon_copy {
  uint32_t struct_size;
  uint32_t host_source; /* tenon_host_source, when source_space is NULL */
  tenon_space* source_space;
  tenon_space* target_space;
  uint64_t source;
  uint64_t target;
  uint64_t row_bytes;
  uint64_t rows;
  uint64_t source_pitch; /* bytes from row to row; ignored when rows is 1 */
  uint64_t target_pitch;
  uint64_t correlation_id; /* optional */
} tenon_copy;

/* Ends the life of wrapped memory; runs exactly once, on any thread.
 * @since 1.0 @threads T3 @blocks never @async no @own user as given @null user may be NULL @errors none
 * @reentrant yes @capture no @shutdown yes @fork never @fallback n/a @idempotent no */
typedef void (*tenon_deleter_fn)(void* user);

typedef struct tenon_memory_vtable {
  uint32_t struct_size;
  uint32_t flags; /* reserved, 0 */
  /* Number of memory spaces, at least 1.
   * @since 1.0 @threads T3 @blocks never @async no @own arguments borrowed for the call
   * @null only the error sink may be NULL @errors DEVICE_LOST @reentrant yes @capture no @shutdown no @fork never
   * @fallback required @idempotent yes */
  int32_t (*space_count)(tenon_device* device, uint32_t* out, tenon_error* error);
  /* Handle and description of space index.
   * @since 1.0 @threads T3 @blocks never @async no @own *space lives as long as device; text in *info likewise
   * @null only the error sink may be NULL @errors OUT_OF_RANGE @reentrant yes @capture no @shutdown no @fork never
   * @fallback required @idempotent yes */
  int32_t (*space_get)(tenon_device* device, uint32_t index, tenon_space** space, tenon_space_info* info,
                       tenon_error* error);
  /* Allocates bytes aligned to align (a power of two, 0: the space's). With a stream the block may be used on it
   * at once. hint is tenon_alloc_hint.
   * @since 1.0 @threads T3 @blocks device @async no @own *out owned by the host until free
   * @null stream may be NULL; 0 bytes gives OK, address 0 and a handle
   * @errors INVALID_ARGUMENT RESOURCE_EXHAUSTED (with the byte fields of the error) DEVICE_LOST @reentrant yes
   * @capture no @shutdown no @fork never @fallback required @idempotent no */
  int32_t (*alloc)(tenon_space* space, uint64_t bytes, uint64_t align, tenon_stream* stream, uint32_t hint,
                   tenon_buffer** out, uint64_t* address, tenon_error* error);
  /* Frees a buffer. With a stream: reusable on it at once, on others after the work enqueued so far; without: all
   * work that used it has finished.
   * @since 1.0 @threads T3 @blocks device @async no @own buffer is consumed
   * @null buffer NULL does nothing; stream may be NULL @errors none @reentrant yes @capture no @shutdown yes
   * @fork never @fallback required @idempotent no */
  void (*free)(tenon_buffer* buffer, tenon_stream* stream);
  /* Enqueues a copy. At least one side belongs to this device; peer copies name two devices' spaces.
   * @since 1.0 @threads T3 @blocks never @async OK means enqueued
   * @own record borrowed for the call, memory until stream completion (source: host_source)
   * @null stream NULL: done when it returns; zero bytes are OK
   * @errors INVALID_ARGUMENT (overlap, range) UNIMPLEMENTED (peer) DEVICE_LOST @reentrant yes @capture yes
   * @shutdown no @fork never @fallback required @idempotent yes */
  int32_t (*copy)(tenon_device* device, const tenon_copy* copy, tenon_stream* stream, tenon_error* error);
  /* Enqueues filling bytes with the low pattern_bytes (1, 2, 4, 8) of pattern.
   * @since 1.0 @threads T3 @blocks never @async OK means enqueued @own memory must live until stream completion
   * @null stream NULL: done when it returns; zero bytes are OK @errors INVALID_ARGUMENT DEVICE_LOST @reentrant yes
   * @capture yes @shutdown no @fork never @fallback required @idempotent yes */
  int32_t (*fill)(tenon_space* space, uint64_t address, uint64_t bytes, uint64_t pattern, uint32_t pattern_bytes,
                  tenon_stream* stream, tenon_error* error);
  /* Makes a buffer of memory that belongs to somebody else. deleter runs exactly once: when the buffer is freed,
   * or before this returns an error.
   * @since 1.0 @threads T3 @blocks never @async no
   * @own user owned by the plugin until deleter; *out owned by the host until free
   * @null deleter and user may be NULL @errors INVALID_ARGUMENT UNIMPLEMENTED @reentrant yes @capture no
   * @shutdown no @fork never @fallback the host copies @idempotent no */
  int32_t (*wrap_external)(tenon_space* space, uint64_t address, uint64_t bytes, tenon_deleter_fn deleter, void* user,
                           tenon_buffer** out, tenon_error* error);
  /* Counters of a space.
   * @since 1.0 @threads T3 @blocks never @async no @own arguments borrowed for the call
   * @null only the error sink may be NULL @errors DEVICE_LOST @reentrant yes @capture no @shutdown yes @fork never
   * @fallback the host counts its own requests @idempotent yes */
  int32_t (*stats)(tenon_space* space, tenon_memory_stats* out, tenon_error* error);
  /* Gives cached free blocks back to the system.
   * @since 1.0 @threads T3 @blocks device @async no @own arguments borrowed for the call
   * @null only the error sink may be NULL @errors DEVICE_LOST @reentrant yes @capture no @shutdown no @fork never
   * @fallback nothing is given back @idempotent yes */
  int32_t (*trim)(tenon_space* space, tenon_error* error);
} tenon_memory_vtable;

#ifdef __cplusplus
}
#endif
#endif
