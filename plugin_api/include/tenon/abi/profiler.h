/* tenon.profiler: records in buffers of the host. A plugin asks for a buffer, fills records, gives it back. Ids, never
 * pointers. Failures of a profiler never fail the run. */
#ifndef TENON_ABI_PROFILER_H
#define TENON_ABI_PROFILER_H

#include "tenon/abi/types.h"

#ifdef __cplusplus
extern "C" {
#endif

enum tenon_record_kind {
  TENON_RECORD_RUNTIME_CALL = 1,
  TENON_RECORD_KERNEL = 2,
  TENON_RECORD_COPY = 3,
  TENON_RECORD_FILL = 4,
  TENON_RECORD_SYNC = 5,
  TENON_RECORD_COLLECTIVE = 6,
  TENON_RECORD_COLLECTIVE_STEP = 7,
  TENON_RECORD_ALLOCATION = 8,
  TENON_RECORD_COUNTER = 9,
  TENON_RECORD_MARKER = 10
};
enum tenon_record_flag {
  TENON_RECORD_END_ENQUEUED = 1, /* collectives: what end means; exactly one of the three */
  TENON_RECORD_END_STARTED = 2,
  TENON_RECORD_END_FINISHED = 4,
  TENON_RECORD_FAILED = 8
};
/* Frozen, 48 bytes. Times are in ticks of the clock domain; the host converts. */
typedef struct tenon_record_header {
  uint16_t kind; /* tenon_record_kind */
  uint16_t size; /* of the whole record, a multiple of 8 */
  uint16_t flags;
  uint16_t clock_domain;
  uint32_t device;         /* index of the device; UINT32_MAX: host */
  uint32_t stream;         /* number chosen by the plugin; 0: none */
  uint64_t correlation_id; /* as in the call record; 0: none */
  uint64_t parent_id;      /* correlation id of the enclosing record; 0: none */
  uint64_t start;
  uint64_t end;
} tenon_record_header;

/* Body of every record, after the header; which fields count depends on the kind. Grows by header.size. */
typedef struct tenon_record {
  tenon_record_header header;
  uint64_t name;    /* id from the host's intern; 0: none */
  uint64_t bytes;   /* moved, filled, allocated, reduced */
  uint64_t address; /* allocations, fills */
  uint64_t detail;  /* kernel: algorithm; collective: sequence; copy: source space kind << 32 | target space kind */
  double value;     /* counters; optional */
} tenon_record;

/* Clock of a device against the host's clock_ns. */
typedef struct tenon_clock_info {
  uint32_t struct_size;
  uint32_t flags; /* reserved, 0 */
  tenon_str name; /* static */
  double ns_per_tick;
  uint64_t bits; /* optional: the counter wraps after this many bits; 0: 64 */
} tenon_clock_info;
typedef struct tenon_clock_pair {
  uint32_t struct_size;
  uint32_t flags; /* reserved, 0 */
  uint64_t domain_ticks;
  uint64_t host_ns;
  uint64_t uncertainty_ns; /* optional */
} tenon_clock_pair;

typedef struct tenon_profiler_config {
  uint32_t struct_size;
  uint32_t flags; /* reserved, 0 */
  uint64_t mask;  /* bit k: records of kind k are wanted */
  void* user;
  /* Gives a buffer of at least one record; NULL when there is none: count the record as dropped.
   * @since 1.0 @threads T3 @blocks never @async no
   * @own buffer owned by the plugin until buffer_return; user as given @null user may be NULL
   * @errors none: NULL means none @reentrant yes @capture no @shutdown no @fork never @fallback n/a @idempotent no */
  void* (*buffer_request)(void* user, uint64_t* bytes);
  /* Gives a buffer back with used bytes of records and the number of records dropped since the last return.
   * @since 1.0 @threads T3 @blocks never @async no @own buffer is consumed; user as given
   * @null user may be NULL; buffer may be NULL with used 0: then only dropped counts
   * @errors none @reentrant yes @capture no @shutdown yes @fork never @fallback n/a @idempotent no */
  void (*buffer_return)(void* user, void* buffer, uint64_t used, uint64_t dropped);
  uint64_t buffer_bytes; /* optional: usual size of a buffer */
} tenon_profiler_config;

typedef struct tenon_profiler_vtable {
  uint32_t struct_size;
  uint32_t flags; /* reserved, 0 */
  /* Number of clock domains.
   * @since 1.0 @threads T3 @blocks never @async no @own arguments borrowed for the call
   * @null only the error sink may be NULL @errors none else @reentrant yes @capture no @shutdown no @fork never
   * @fallback required @idempotent yes */
  int32_t (*clock_count)(tenon_plugin* plugin, uint32_t* out, tenon_error* error);
  /* Name and resolution of a clock domain.
   * @since 1.0 @threads T3 @blocks never @async no @own text in *out is static
   * @null only the error sink may be NULL @errors OUT_OF_RANGE @reentrant yes @capture no @shutdown no @fork never
   * @fallback required @idempotent yes */
  int32_t (*clock_info)(tenon_plugin* plugin, uint32_t index, tenon_clock_info* out, tenon_error* error);
  /* One calibration pair; the host asks at start, at stop and in between.
   * @since 1.0 @threads T3 @blocks device @async no @own arguments borrowed for the call
   * @null only the error sink may be NULL @errors OUT_OF_RANGE DEVICE_LOST @reentrant yes @capture no @shutdown no
   * @fork never @fallback required @idempotent yes */
  int32_t (*clock_pair)(tenon_plugin* plugin, uint32_t index, tenon_clock_pair* out, tenon_error* error);
  /* Starts a session.
   * @since 1.0 @threads T1 @blocks device @async no
   * @own config borrowed for the call, user until stop returns; *out owned by the host until stop
   * @null only the error sink may be NULL @errors ALREADY_EXISTS UNAVAILABLE RESOURCE_EXHAUSTED @reentrant no
   * @capture no @shutdown no @fork never @fallback required @idempotent no */
  int32_t (*start)(tenon_plugin* plugin, const tenon_profiler_config* config, tenon_profiler_session** out,
                   tenon_error* error);
  /* Ends a session: all buffers are returned and no record is written once it returns.
   * @since 1.0 @threads T1 @blocks device @async no @own session is consumed, also on error
   * @null only the error sink may be NULL @errors DEVICE_LOST @reentrant no @capture no @shutdown yes @fork never
   * @fallback required @idempotent no */
  int32_t (*stop)(tenon_profiler_session* session, tenon_error* error);
  /* Returns all buffers with finished records.
   * @since 1.0 @threads T2 @blocks device @async no @own arguments borrowed for the call
   * @null only the error sink may be NULL @errors DEVICE_LOST @reentrant no @capture no @shutdown no @fork never
   * @fallback required @idempotent yes */
  int32_t (*flush)(tenon_profiler_session* session, tenon_error* error);
  /* Changes which kinds are recorded; disabled kinds cost one branch.
   * @since 1.0 @threads T3 @blocks never @async no @own arguments borrowed for the call
   * @null only the error sink may be NULL @errors none else @reentrant yes @capture no @shutdown no @fork never
   * @fallback the mask of start stays @idempotent yes */
  int32_t (*set_mask)(tenon_profiler_session* session, uint64_t mask, tenon_error* error);
} tenon_profiler_vtable;

#ifdef __cplusplus
}
#endif
#endif
