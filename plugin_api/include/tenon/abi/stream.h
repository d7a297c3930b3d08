/* tenon.stream: in-order queues, events, capture. Two streams are unordered unless an event links them. Destroying a
 * stream or an event while work is pending is legal: it is released later and each token is completed exactly once. */
#ifndef TENON_ABI_STREAM_H
#define TENON_ABI_STREAM_H

#include "tenon/abi/types.h"

#ifdef __cplusplus
extern "C" {
#endif

enum tenon_stream_role { TENON_STREAM_COMPUTE = 1, TENON_STREAM_COPY = 2, TENON_STREAM_COLLECTIVE = 3 };
typedef struct tenon_stream_options {
  uint32_t struct_size;
  uint32_t role;    /* tenon_stream_role, a hint */
  tenon_str name;   /* for people; may be empty */
  int64_t priority; /* optional: 0 normal, negative more urgent; unsupported values are clamped */
} tenon_stream_options;

enum tenon_event_flag { TENON_EVENT_TIMING = 1 };

typedef struct tenon_stream_vtable {
  uint32_t struct_size;
  uint32_t flags; /* reserved, 0 */
  /* Makes a stream.
   * @since 1.0 @threads T3 @blocks device @async no
   * @own options borrowed; *out owned by the host until stream_destroy @null only the error sink may be NULL
   * @errors RESOURCE_EXHAUSTED DEVICE_LOST @reentrant yes @capture no @shutdown no @fork never @fallback required
   * @idempotent no */
  int32_t (*stream_create)(tenon_device* device, const tenon_stream_options* options, tenon_stream** out,
                           tenon_error* error);
  /* Destroys a stream; pending work still runs.
   * @since 1.0 @threads T3 @blocks never @async no @own stream is consumed @null NULL does nothing @errors none
   * @reentrant yes @capture no @shutdown yes @fork never @fallback required @idempotent no */
  void (*stream_destroy)(tenon_stream* stream);
  /* OK when all work is done, WOULD_BLOCK when not, or the stream's sticky error.
   * @since 1.0 @threads T3 @blocks never @async no @own arguments borrowed for the call
   * @null only the error sink may be NULL @errors WOULD_BLOCK DEVICE_LOST and errors of the work @reentrant yes
   * @capture no @shutdown yes @fork never @fallback required @idempotent yes */
  int32_t (*stream_query)(tenon_stream* stream, tenon_error* error);
  /* Waits until all work enqueued so far is done. timeout_ns UINT64_MAX waits for ever.
   * @since 1.0 @threads T3 @blocks device @async no @own arguments borrowed for the call
   * @null only the error sink may be NULL @errors DEADLINE_EXCEEDED DEVICE_LOST and errors of the work
   * @reentrant no @capture no @shutdown yes @fork never @fallback required @idempotent yes */
  int32_t (*stream_synchronize)(tenon_stream* stream, uint64_t timeout_ns, tenon_error* error);
  /* Work enqueued later waits for the event, also for one of another device of this plugin.
   * @since 1.0 @threads T3 @blocks never @async OK means enqueued @own arguments borrowed for the call
   * @null only the error sink may be NULL @errors FAILED_PRECONDITION (never recorded) DEVICE_LOST @reentrant yes
   * @capture yes @shutdown no @fork never @fallback required @idempotent yes */
  int32_t (*stream_wait_event)(tenon_stream* stream, tenon_event* event, tenon_error* error);
  /* Completes token when all work enqueued so far is done: with OK, the error, or CANCELLED on destruction.
   * @since 1.0 @threads T3 @blocks never @async OK means registered
   * @own token owned by the plugin until completed; not consumed on error @null only the error sink may be NULL
   * @errors RESOURCE_EXHAUSTED DEVICE_LOST @reentrant yes @capture no @shutdown yes @fork never @fallback required
   * @idempotent no */
  int32_t (*stream_notify)(tenon_stream* stream, tenon_token* token, tenon_error* error);
  /* Makes an event, not recorded yet. flags is tenon_event_flag.
   * @since 1.0 @threads T3 @blocks device @async no @own *out owned by the host until event_destroy
   * @null only the error sink may be NULL @errors RESOURCE_EXHAUSTED DEVICE_LOST @reentrant yes @capture no
   * @shutdown no @fork never @fallback required @idempotent no */
  int32_t (*event_create)(tenon_device* device, uint32_t flags, tenon_event** out, tenon_error* error);
  /* Destroys an event, also a pending one.
   * @since 1.0 @threads T3 @blocks never @async no @own event is consumed @null NULL does nothing @errors none
   * @reentrant yes @capture no @shutdown yes @fork never @fallback required @idempotent no */
  void (*event_destroy)(tenon_event* event);
  /* The event now stands for the work enqueued on stream so far; recording again is allowed.
   * @since 1.0 @threads T3 @blocks never @async OK means enqueued @own arguments borrowed for the call
   * @null only the error sink may be NULL @errors DEVICE_LOST @reentrant yes @capture yes @shutdown no @fork never
   * @fallback required @idempotent no */
  int32_t (*event_record)(tenon_event* event, tenon_stream* stream, tenon_error* error);
  /* OK when reached, WOULD_BLOCK when not, or the error of the work.
   * @since 1.0 @threads T3 @blocks never @async no @own arguments borrowed for the call
   * @null only the error sink may be NULL @errors WOULD_BLOCK FAILED_PRECONDITION (never recorded) DEVICE_LOST
   * @reentrant yes @capture no @shutdown yes @fork never @fallback required @idempotent yes */
  int32_t (*event_query)(tenon_event* event, tenon_error* error);
  /* Waits for the event. timeout_ns UINT64_MAX waits for ever.
   * @since 1.0 @threads T3 @blocks device @async no @own arguments borrowed for the call
   * @null only the error sink may be NULL
   * @errors DEADLINE_EXCEEDED FAILED_PRECONDITION (never recorded) DEVICE_LOST @reentrant no @capture no
   * @shutdown yes @fork never @fallback required @idempotent yes */
  int32_t (*event_synchronize)(tenon_event* event, uint64_t timeout_ns, tenon_error* error);
  /* Nanoseconds between two reached events of one device, both made with TENON_EVENT_TIMING.
   * @since 1.0 @threads T3 @blocks never @async no @own arguments borrowed for the call
   * @null only the error sink may be NULL @errors FAILED_PRECONDITION WOULD_BLOCK DEVICE_LOST @reentrant yes
   * @capture no @shutdown no @fork never @fallback the host takes times around synchronisation @idempotent yes */
  int32_t (*event_elapsed)(tenon_event* from, tenon_event* to, double* out_ns, tenon_error* error);
  /* Native handle of a stream; its kind is the device's native_stream_kind.
   * @since 1.0 @threads T3 @blocks never @async no @own handle valid as long as stream
   * @null only the error sink may be NULL @errors none else @reentrant yes @capture yes @shutdown no @fork never
   * @fallback kernels and collectives of other plugins cannot use the device @idempotent yes */
  int32_t (*native)(tenon_stream* stream, uint64_t* out, tenon_error* error);
  /* From now on work on stream is recorded, not run.
   * @since 1.0 @threads T2 @blocks never @async no @own arguments borrowed for the call
   * @null only the error sink may be NULL @errors FAILED_PRECONDITION DEVICE_LOST @reentrant yes @capture no
   * @shutdown no @fork never @fallback steps are enqueued one by one @idempotent no */
  int32_t (*capture_begin)(tenon_stream* stream, tenon_error* error);
  /* Ends recording and makes it ready for replay.
   * @since 1.0 @threads T2 @blocks device @async no @own *out owned by the host until capture_destroy
   * @null only the error sink may be NULL
   * @errors FAILED_PRECONDITION (something on the way cannot be captured) DEVICE_LOST @reentrant yes @capture yes
   * @shutdown no @fork never @fallback as capture_begin @idempotent no */
  int32_t (*capture_end)(tenon_stream* stream, tenon_capture** out, tenon_error* error);
  /* Enqueues the recorded work, with the addresses that it was recorded with.
   * @since 1.0 @threads T3 @blocks never @async OK means enqueued @own arguments borrowed for the call
   * @null only the error sink may be NULL @errors DEVICE_LOST @reentrant yes @capture no @shutdown no @fork never
   * @fallback as capture_begin @idempotent no */
  int32_t (*capture_replay)(tenon_capture* capture, tenon_stream* stream, tenon_error* error);
  /* Frees a recording; pending replays still run.
   * @since 1.0 @threads T3 @blocks never @async no @own capture is consumed @null NULL does nothing @errors none
   * @reentrant yes @capture no @shutdown yes @fork never @fallback as capture_begin @idempotent no */
  void (*capture_destroy)(tenon_capture* capture);
  /* Makes a stream of a native handle that stays the caller's.
   * @since 1.0 @threads T3 @blocks never @async no
   * @own handle borrowed until stream_destroy; *out owned by the host @null only the error sink may be NULL
   * @errors INVALID_ARGUMENT UNIMPLEMENTED @reentrant yes @capture no @shutdown no @fork never
   * @fallback streams of other libraries cannot be used @idempotent no */
  int32_t (*wrap_native)(tenon_device* device, uint64_t native, tenon_stream** out, tenon_error* error);
} tenon_stream_vtable;

#ifdef __cplusplus
}
#endif
#endif
