/* Host services: the table that create receives. Every slot may be called from any thread; the table is never freed;
 * after destroy of the instance every fallible slot returns FAILED_PRECONDITION. A plugin holds no lock of its own
 * while it calls the host, and the host holds none while it calls a plugin. Nothing is imported by symbol name. */
#ifndef TENON_ABI_HOST_H
#define TENON_ABI_HOST_H

#include "tenon/abi/types.h"

#ifdef __cplusplus
extern "C" {
#endif

enum tenon_log_level {
  TENON_LOG_TRACE = 1,
  TENON_LOG_DEBUG = 2,
  TENON_LOG_INFO = 3,
  TENON_LOG_WARNING = 4,
  TENON_LOG_ERROR = 5
};

/* Body of a parallel loop over [begin, end); worker is below the number of workers of this loop.
 * @since 1.0 @threads T3 @blocks never @async no @own user as given @null user may be NULL @errors none
 * @reentrant yes @capture no @shutdown no @fork never @fallback n/a @idempotent yes */
typedef void (*tenon_range_fn)(void* user, uint64_t begin, uint64_t end, uint32_t worker);
/* A task, or the release of its user data.
 * @since 1.0 @threads T3 @blocks never @async no @own user as given @null user may be NULL @errors none
 * @reentrant yes @capture no @shutdown no @fork never @fallback n/a @idempotent yes */
typedef void (*tenon_task_fn)(void* user);

typedef struct tenon_host_api {
  uint32_t struct_size;
  uint32_t abi_minor; /* of the host */
  tenon_host* host;   /* first argument of the slots below */

  /* ---- errors ---- */
  /* Fills the error sink of the call that is running. Allocates nothing.
   * @since 1.0 @threads T3 @blocks never @async no @own info borrowed for the call @null error NULL does nothing
   * @errors none @reentrant yes @capture yes @shutdown yes @fork never @fallback required
   * @idempotent last call wins */
  void (*error_set)(tenon_error* error, const tenon_error_info* info);

  /* ---- log ---- */
  /* Writes one line. Repetitions of component and text within interval_ms are counted, not written; 0 writes all.
   * @since 1.0 @threads T3 @blocks never @async no @own text borrowed for the call
   * @null only the error sink may be NULL @errors none @reentrant yes @capture yes @shutdown yes @fork never
   * @fallback required @idempotent no */
  void (*log)(tenon_host* host, uint32_t level, tenon_str component, tenon_str text, uint32_t interval_ms);

  /* ---- memory of the host ---- */
  /* Allocates host memory, counted under tag. align is a power of two; 0 bytes gives NULL.
   * @since 1.0 @threads T3 @blocks host @async no @own *out owned by the caller until mem_free
   * @null only the error sink may be NULL @errors INVALID_ARGUMENT RESOURCE_EXHAUSTED FAILED_PRECONDITION
   * @reentrant yes @capture no @shutdown no @fork never @fallback required @idempotent no */
  int32_t (*mem_alloc)(tenon_host* host, uint64_t bytes, uint64_t align, tenon_str tag, void** out, tenon_error* error);
  /* Frees memory of mem_alloc.
   * @since 1.0 @threads T3 @blocks host @async no @own memory is consumed @null NULL does nothing @errors none
   * @reentrant yes @capture no @shutdown yes @fork never @fallback required @idempotent no */
  void (*mem_free)(tenon_host* host, void* memory);

  /* ---- threads ---- */
  /* Compute threads that the plugin may keep busy at once, at least 1. May change between steps, never within a
   * call.
   * @since 1.0 @threads T3 @blocks never @async no @own arguments borrowed for the call
   * @null only the error sink may be NULL @errors none @reentrant yes @capture yes @shutdown no @fork never
   * @fallback required @idempotent yes */
  uint32_t (*thread_budget)(tenon_host* host);
  /* Runs fn over [0, count) in pieces of at least grain on at most max_workers threads (0: the budget) of the
   * host's pool and returns when all are done. The calling thread takes part. Splits depend only on the arguments.
   * @since 1.0 @threads T3 @blocks host @async no @own user borrowed until return
   * @null only the error sink may be NULL @errors INVALID_ARGUMENT FAILED_PRECONDITION
   * @reentrant yes: a nested loop runs on the calling thread @capture no @shutdown no @fork never
   * @fallback required @idempotent no */
  int32_t (*parallel_for)(tenon_host* host, uint64_t count, uint64_t grain, uint32_t max_workers, tenon_range_fn fn,
                          void* user, tenon_error* error);
  /* Queues one task on the host's pool. release runs exactly once, also when submit fails.
   * @since 1.0 @threads T3 @blocks never @async OK means queued @own user owned by the host until release
   * @null release and user may be NULL @errors RESOURCE_EXHAUSTED FAILED_PRECONDITION @reentrant yes @capture no
   * @shutdown no @fork never @fallback required @idempotent no */
  int32_t (*submit)(tenon_host* host, tenon_task_fn fn, void* user, tenon_task_fn release, tenon_error* error);
  /* Completes a token: exactly once, from any thread, driver callbacks included. Takes no lock, allocates nothing.
   * @since 1.0 @threads T3 @blocks never @async no @own token is consumed; text copied
   * @null only the error sink may be NULL @errors none @reentrant yes @capture no @shutdown yes @fork never
   * @fallback required @idempotent no */
  void (*complete)(tenon_host* host, tenon_token* token, int32_t code, tenon_str text);
  /* 1 when the work of this cancellation token should end early.
   * @since 1.0 @threads T3 @blocks never @async no @own arguments borrowed for the call @null cancel NULL gives 0
   * @errors none @reentrant yes @capture yes @shutdown yes @fork never @fallback required @idempotent yes */
  uint32_t (*cancelled)(const tenon_cancel* cancel);

  /* ---- options: the plugin's entry in the YAML file. Dots in key reach into maps ("pool.bytes"). A key that was not
     asked for until create returned OK is reported to the user as unknown; a wrong type fails create. ---- */
  /* Reads an integer option; *out keeps default_value when the key is absent.
   * @since 1.0 @threads T3 @blocks never @async no @own key and help borrowed for the call
   * @null only the error sink may be NULL @errors INVALID_ARGUMENT (wrong type, out of [low, high]) @reentrant yes
   * @capture no @shutdown no @fork never @fallback required @idempotent yes */
  int32_t (*option_i64)(tenon_host* host, tenon_str key, int64_t default_value, int64_t low, int64_t high,
                        tenon_str help, int64_t* out, tenon_error* error);
  /* Reads a real option; *out is default_value when the key is absent.
   * @since 1.0 @threads T3 @blocks never @async no @own key and help borrowed for the call
   * @null only the error sink may be NULL @errors INVALID_ARGUMENT @reentrant yes @capture no @shutdown no
   * @fork never @fallback required @idempotent yes */
  int32_t (*option_f64)(tenon_host* host, tenon_str key, double default_value, tenon_str help, double* out,
                        tenon_error* error);
  /* Reads true or false into *out as 1 or 0.
   * @since 1.0 @threads T3 @blocks never @async no @own key and help borrowed for the call
   * @null only the error sink may be NULL @errors INVALID_ARGUMENT @reentrant yes @capture no @shutdown no
   * @fork never @fallback required @idempotent yes */
  int32_t (*option_flag)(tenon_host* host, tenon_str key, uint32_t default_value, tenon_str help, uint32_t* out,
                         tenon_error* error);
  /* Reads a text option.
   * @since 1.0 @threads T3 @blocks never @async no
   * @own key and help borrowed for the call; *out owned by the host, valid until destroy
   * @null only the error sink may be NULL @errors INVALID_ARGUMENT @reentrant yes @capture no @shutdown no
   * @fork never @fallback required @idempotent yes */
  int32_t (*option_text)(tenon_host* host, tenon_str key, tenon_str default_value, tenon_str help, tenon_str* out,
                         tenon_error* error);

  /* ---- key-value store shared by all ranks; the store comes with a communicator's config ---- */
  /* Waits up to timeout_ns for key and copies its value; *size is the full size, also when capacity is too small
   * (OUT_OF_RANGE). timeout_ns 0 does not wait.
   * @since 1.0 @threads T3 @blocks network @async no @own buffer filled by the host
   * @null buffer may be NULL with capacity 0 @errors NOT_FOUND DEADLINE_EXCEEDED OUT_OF_RANGE UNAVAILABLE
   * @reentrant yes @capture no @shutdown no @fork never @fallback required @idempotent yes */
  int32_t (*store_get)(tenon_store* store, tenon_str key, uint64_t timeout_ns, void* buffer, uint64_t capacity,
                       uint64_t* size, tenon_error* error);
  /* Sets key, overwriting.
   * @since 1.0 @threads T3 @blocks network @async no @own data borrowed for the call
   * @null data may be NULL with size 0 @errors UNAVAILABLE DEADLINE_EXCEEDED @reentrant yes @capture no
   * @shutdown no @fork never @fallback required @idempotent yes */
  int32_t (*store_put)(tenon_store* store, tenon_str key, const void* data, uint64_t size, tenon_error* error);
  /* Removes key.
   * @since 1.0 @threads T3 @blocks network @async no @own key borrowed for the call
   * @null only the error sink may be NULL @errors NOT_FOUND UNAVAILABLE DEADLINE_EXCEEDED @reentrant yes
   * @capture no @shutdown no @fork never @fallback required @idempotent yes */
  int32_t (*store_delete)(tenon_store* store, tenon_str key, tenon_error* error);

  /* ---- time, names, places ---- */
  /* Monotonic raw clock in nanoseconds, the host's time base.
   * @since 1.0 @threads T3 @blocks never @async no @own arguments borrowed for the call
   * @null only the error sink may be NULL @errors none @reentrant yes @capture yes @shutdown yes @fork never
   * @fallback required @idempotent yes */
  uint64_t (*clock_ns)(tenon_host* host);
  /* Id of a text, equal for equal texts, never 0; 0 when memory is short.
   * @since 1.0 @threads T3 @blocks host @async no @own text copied @null only the error sink may be NULL
   * @errors none: 0 means failed @reentrant yes @capture no @shutdown no @fork never @fallback required
   * @idempotent yes */
  uint64_t (*intern)(tenon_host* host, tenon_str text);
  /* Folder in which the plugin may keep files between runs; it exists and is writable.
   * @since 1.0 @threads T3 @blocks disk @async no @own *out owned by the host, valid until destroy
   * @null only the error sink may be NULL @errors UNAVAILABLE PERMISSION_DENIED @reentrant yes @capture no
   * @shutdown no @fork never @fallback required @idempotent yes */
  int32_t (*cache_folder)(tenon_host* host, tenon_str* out, tenon_error* error);

  /* ---- inside a kernel call ---- */
  /* Allocates output i of the running call with its true dims and fills *out. Only for kernels with the trait
   * HOST_SYNC. alloc is the call's output_alloc.
   * @since 1.0 @threads T2 @blocks host @async no @own dims borrowed for the call; *out owned by the host
   * @null only the error sink may be NULL @errors INVALID_ARGUMENT RESOURCE_EXHAUSTED FAILED_PRECONDITION
   * @reentrant yes @capture no @shutdown no @fork never @fallback required @idempotent no */
  int32_t (*alloc_output)(tenon_output_alloc* alloc, uint32_t index, uint32_t rank, const int64_t* dims,
                          tenon_tensor* out, tenon_error* error);

  /* ---- optional from here: a host may leave them NULL ---- */
  /* Opens a trace scope on this thread; name is a text that outlives the scope.
   * @since 1.0 @threads T3 @blocks never @async no @own name borrowed until trace_end
   * @null only the error sink may be NULL @errors none @reentrant yes @capture yes @shutdown no @fork never
   * @fallback no scope is recorded @idempotent no */
  void (*trace_begin)(tenon_host* host, tenon_str name, uint64_t correlation_id);
  /* Closes the newest scope of this thread.
   * @since 1.0 @threads T3 @blocks never @async no @own arguments borrowed for the call
   * @null only the error sink may be NULL @errors none @reentrant yes @capture yes @shutdown no @fork never
   * @fallback no scope is recorded @idempotent no */
  void (*trace_end)(tenon_host* host);
  /* Tells the watchdog that a long call (compilation, file reading) still advances.
   * @since 1.0 @threads T3 @blocks never @async no @own text borrowed for the call
   * @null only the error sink may be NULL @errors none @reentrant yes @capture no @shutdown no @fork never
   * @fallback the watchdog sees no progress @idempotent yes */
  void (*heartbeat)(tenon_host* host, tenon_str text);
  /* Looks up an experimental host function "name@since".
   * @since 1.0 @threads T3 @blocks never @async no @own name borrowed for the call
   * @null only the error sink may be NULL @errors none: NULL means not there @reentrant yes @capture no
   * @shutdown no @fork never @fallback no experimental functions @idempotent yes */
  tenon_function (*get_experimental)(tenon_host* host, tenon_str name);
} tenon_host_api;

#ifdef __cplusplus
}
#endif
#endif
