/* tenon.collective: communicators and collective operations. Every operation is enqueued on a stream and returns
 * without waiting. Zero counts are legal everywhere and still synchronise order. In place means: all_reduce and reduce
 * send == receive; all_gather send == receive + rank * count elements; reduce_scatter receive == send +
 * rank * count. */
#ifndef TENON_ABI_COLLECTIVE_H
#define TENON_ABI_COLLECTIVE_H

#include "tenon/abi/host.h"
#include "tenon/abi/types.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TENON_COMM_CONFIG_MAGIC 0x4D4F4354u /* "TCOM" */
#define TENON_MAX_TIMEOUT UINT64_MAX

enum tenon_reduction {
  TENON_REDUCE_SUM = 1,
  TENON_REDUCE_PROD = 2,
  TENON_REDUCE_MIN = 3,
  TENON_REDUCE_MAX = 4,
  TENON_REDUCE_AVERAGE = 5
};
enum tenon_collective_kind {
  TENON_COLLECTIVE_ALL_REDUCE = 1,
  TENON_COLLECTIVE_REDUCE = 2,
  TENON_COLLECTIVE_BROADCAST = 3,
  TENON_COLLECTIVE_ALL_GATHER = 4,
  TENON_COLLECTIVE_REDUCE_SCATTER = 5,
  TENON_COLLECTIVE_ALL_TO_ALL = 6,
  TENON_COLLECTIVE_ALL_TO_ALL_V = 7,
  TENON_COLLECTIVE_GATHER = 8,
  TENON_COLLECTIVE_SCATTER = 9,
  TENON_COLLECTIVE_SEND = 10,
  TENON_COLLECTIVE_RECV = 11,
  TENON_COLLECTIVE_BARRIER = 12
};
enum tenon_comm_flag {
  TENON_COMM_NONBLOCKING = 1,  /* comm_create may return before all ranks are there: see comm_state */
  TENON_COMM_DETERMINISTIC = 2 /* same inputs and size, same bits; refused with UNIMPLEMENTED when impossible */
};
/* What a communicator is made from. */
typedef struct tenon_comm_config {
  uint32_t struct_size;
  uint32_t flags; /* tenon_comm_flag */
  uint32_t magic; /* TENON_COMM_CONFIG_MAGIC */
  uint32_t reserved;
  uint32_t rank;
  uint32_t size;
  uint32_t local_rank; /* among the ranks of this node */
  uint32_t local_size;
  tenon_str name;               /* equal on all ranks; keys in the store start with it */
  tenon_store* store;           /* with the host's store_* slots; the only rendezvous */
  uint64_t timeout_ns;          /* default of an operation and of creation; 0: none */
  tenon_str native_memory_kind; /* of the device's addresses */
  tenon_str native_stream_kind; /* of the device's streams */
  uint64_t native_device;       /* native device number, meaning by kind; 0 for the host */
  tenon_str node_name;          /* optional: ranks with equal names share memory */
} tenon_comm_config;

/* One operation. Fields that an operation does not use are 0. Counts are elements. */
typedef struct tenon_collective_op {
  uint32_t struct_size;
  uint32_t flags; /* reserved, 0 */
  uint64_t send;  /* address */
  uint64_t receive;
  uint64_t count; /* per rank for all_gather, reduce_scatter, all_to_all, gather, scatter; else of the whole */
  uint32_t dtype;
  uint32_t reduction; /* tenon_reduction */
  uint32_t root;
  uint32_t peer;
  const uint64_t* send_counts; /* all_to_all_v: size entries each */
  const uint64_t* send_offsets;
  const uint64_t* receive_counts;
  const uint64_t* receive_offsets;
  uint64_t native_stream;  /* handle of the config's native_stream_kind */
  tenon_comm_group* group; /* NULL: on its own */
  uint64_t sequence;       /* number of the operation on this communicator, from 1 */
  uint64_t fingerprint;    /* hash of kind, dtype, count, reduction, root; compared between ranks; 0: do not compare */
  uint64_t timeout_ns;     /* 0: the communicator's */
  uint64_t correlation_id;
  tenon_token* completion; /* optional: completed when the operation is done; CANCELLED after an abort */
  double scale;            /* optional: factor on the result of a reduction; 0 means 1 */
} tenon_collective_op;

enum tenon_comm_buffer_flag { TENON_COMM_BUFFER_SHARED = 1 /* one block that all ranks of the node map */ };
typedef struct tenon_comm_buffer_info {
  uint32_t struct_size;
  uint32_t flags; /* tenon_comm_buffer_flag */
  uint64_t address;
  uint64_t bytes;
  tenon_comm_buffer* handle;
  tenon_str native_memory_kind; /* optional */
} tenon_comm_buffer_info;

/* How far a communicator is: sequence numbers of operations. */
typedef struct tenon_comm_progress {
  uint32_t struct_size;
  uint32_t flags; /* reserved, 0 */
  uint64_t enqueued;
  uint64_t started;
  uint64_t finished;
  int64_t waiting_for; /* optional: a rank that is waited for; -1: none or not known */
} tenon_comm_progress;

typedef struct tenon_collective_vtable {
  uint32_t struct_size;
  uint32_t flags; /* reserved, 0 */
  /* Native memory kinds that a communicator can address, best first ("host", "cuda.device", ...). Others are
   * staged by the host.
   * @since 1.0 @threads T3 @blocks never @async no @own *out lives as long as plugin
   * @null only the error sink may be NULL @errors UNAVAILABLE @reentrant yes @capture no @shutdown no @fork never
   * @fallback required @idempotent yes */
  int32_t (*memory_kinds)(tenon_plugin* plugin, const tenon_str** out, uint64_t* count, tenon_error* error);
  /* Is kind (tenon_collective_kind) with dtype and reduction there for this memory kind? *answer is tenon_answer.
   * Missing operations are emulated by the host.
   * @since 1.0 @threads T3 @blocks never @async no @own memory_kind borrowed @null only the error sink may be NULL
   * @errors none else @reentrant yes @capture no @shutdown no @fork never @fallback required @idempotent yes */
  int32_t (*supports)(tenon_plugin* plugin, uint32_t kind, uint32_t dtype, uint32_t reduction, tenon_str memory_kind,
                      uint32_t* answer, tenon_error* error);
  /* Joins a communicator; returns when all ranks have joined, or at once with TENON_COMM_NONBLOCKING. Before data
   * flows the ranks compare plugin id, version, build and ABI minor through the store.
   * @since 1.0 @threads T1 @blocks network, bounded by timeout_ns @async no
   * @own config borrowed for the call, store until comm_destroy; *out owned by the host
   * @null only the error sink may be NULL
   * @errors DEADLINE_EXCEEDED ABI_MISMATCH INVALID_ARGUMENT UNIMPLEMENTED UNAVAILABLE @reentrant no @capture no
   * @shutdown no @fork never @fallback required @idempotent no */
  int32_t (*comm_create)(tenon_plugin* plugin, const tenon_comm_config* config, tenon_comm** out, tenon_error* error);
  /* OK when ready, WOULD_BLOCK while joining, or the sticky error. Wait-free.
   * @since 1.0 @threads T3 @blocks never @async no @own arguments borrowed for the call
   * @null only the error sink may be NULL @errors WOULD_BLOCK ABORTED DEADLINE_EXCEEDED UNAVAILABLE @reentrant yes
   * @capture no @shutdown yes @fork never @fallback required @idempotent yes */
  int32_t (*comm_state)(tenon_comm* comm, tenon_error* error);
  /* First asynchronous error of the communicator, OK when there is none. Wait-free.
   * @since 1.0 @threads T3 @blocks never @async no @own arguments borrowed for the call
   * @null only the error sink may be NULL
   * @errors ABORTED DEADLINE_EXCEEDED UNAVAILABLE INVALID_ARGUMENT (fingerprints differ) INTERNAL @reentrant yes
   * @capture no @shutdown yes @fork never @fallback required @idempotent yes */
  int32_t (*async_error)(tenon_comm* comm, tenon_error* error);
  /* Sequence numbers last enqueued, started and finished. Wait-free.
   * @since 1.0 @threads T3 @blocks never @async no @own arguments borrowed for the call
   * @null only the error sink may be NULL @errors none else @reentrant yes @capture no @shutdown yes @fork never
   * @fallback required @idempotent yes */
  int32_t (*progress)(tenon_comm* comm, tenon_comm_progress* out, tenon_error* error);
  /* Marks the communicator as aborted: never waits, allocates or locks; pending operations end with CANCELLED.
   * @since 1.0 @threads T3 @blocks never @async no @own reason copied @null only the error sink may be NULL
   * @errors none @reentrant yes @capture no @shutdown yes @fork never @fallback required @idempotent yes */
  void (*abort_mark)(tenon_comm* comm, int32_t code, tenon_str reason);
  /* Frees a communicator; pending operations finish or, after abort_mark, end with CANCELLED.
   * @since 1.0 @threads T2 @blocks host @async no @own comm is consumed @null NULL does nothing @errors none
   * @reentrant no @capture no @shutdown yes @fork never @fallback required @idempotent no */
  void (*comm_destroy)(tenon_comm* comm);
  /* receive = reduction over ranks of send.
   * @since 1.0 @threads T2 @blocks never @async OK means enqueued
   * @own record borrowed for the call, memory until completion @null only the error sink may be NULL
   * @errors INVALID_ARGUMENT UNIMPLEMENTED ABORTED DEVICE_LOST @reentrant yes @capture by capability @shutdown no
   * @fork never @fallback reduce and broadcast @idempotent no */
  int32_t (*all_reduce)(tenon_comm* comm, const tenon_collective_op* op, tenon_error* error);
  /* receive on root = reduction over ranks of send.
   * @since 1.0 @threads T2 @blocks never @async OK means enqueued
   * @own record borrowed for the call, memory until completion @null only the error sink may be NULL
   * @errors INVALID_ARGUMENT UNIMPLEMENTED ABORTED DEVICE_LOST @reentrant yes @capture by capability @shutdown no
   * @fork never @fallback all_reduce into scratch @idempotent no */
  int32_t (*reduce)(tenon_comm* comm, const tenon_collective_op* op, tenon_error* error);
  /* receive on every rank = send of root.
   * @since 1.0 @threads T2 @blocks never @async OK means enqueued
   * @own record borrowed for the call, memory until completion @null only the error sink may be NULL
   * @errors INVALID_ARGUMENT UNIMPLEMENTED ABORTED DEVICE_LOST @reentrant yes @capture by capability @shutdown no
   * @fork never @fallback send and recv @idempotent no */
  int32_t (*broadcast)(tenon_comm* comm, const tenon_collective_op* op, tenon_error* error);
  /* receive holds the sends of all ranks in rank order.
   * @since 1.0 @threads T2 @blocks never @async OK means enqueued
   * @own record borrowed for the call, memory until completion @null only the error sink may be NULL
   * @errors INVALID_ARGUMENT UNIMPLEMENTED ABORTED DEVICE_LOST @reentrant yes @capture by capability @shutdown no
   * @fork never @fallback one broadcast per rank @idempotent no */
  int32_t (*all_gather)(tenon_comm* comm, const tenon_collective_op* op, tenon_error* error);
  /* receive = this rank's count elements of the reduction over ranks of send.
   * @since 1.0 @threads T2 @blocks never @async OK means enqueued
   * @own record borrowed for the call, memory until completion @null only the error sink may be NULL
   * @errors INVALID_ARGUMENT UNIMPLEMENTED ABORTED DEVICE_LOST @reentrant yes @capture by capability @shutdown no
   * @fork never @fallback all_reduce into scratch @idempotent no */
  int32_t (*reduce_scatter)(tenon_comm* comm, const tenon_collective_op* op, tenon_error* error);
  /* Block j of send goes to rank j, which stores it as block of this rank.
   * @since 1.0 @threads T2 @blocks never @async OK means enqueued
   * @own record borrowed for the call, memory until completion @null only the error sink may be NULL
   * @errors INVALID_ARGUMENT UNIMPLEMENTED ABORTED DEVICE_LOST @reentrant yes @capture by capability @shutdown no
   * @fork never @fallback send and recv in a group @idempotent no */
  int32_t (*all_to_all)(tenon_comm* comm, const tenon_collective_op* op, tenon_error* error);
  /* all_to_all with counts and offsets per rank.
   * @since 1.0 @threads T2 @blocks never @async OK means enqueued
   * @own record and count arrays borrowed for the call, memory until completion
   * @null only the error sink may be NULL @errors INVALID_ARGUMENT UNIMPLEMENTED ABORTED DEVICE_LOST
   * @reentrant yes @capture by capability @shutdown no @fork never @fallback send and recv in a group
   * @idempotent no */
  int32_t (*all_to_all_v)(tenon_comm* comm, const tenon_collective_op* op, tenon_error* error);
  /* receive on root holds the sends of all ranks in rank order.
   * @since 1.0 @threads T2 @blocks never @async OK means enqueued
   * @own record borrowed for the call, memory until completion @null only the error sink may be NULL
   * @errors INVALID_ARGUMENT UNIMPLEMENTED ABORTED DEVICE_LOST @reentrant yes @capture by capability @shutdown no
   * @fork never @fallback all_gather into scratch @idempotent no */
  int32_t (*gather)(tenon_comm* comm, const tenon_collective_op* op, tenon_error* error);
  /* receive = this rank's block of root's send.
   * @since 1.0 @threads T2 @blocks never @async OK means enqueued
   * @own record borrowed for the call, memory until completion @null only the error sink may be NULL
   * @errors INVALID_ARGUMENT UNIMPLEMENTED ABORTED DEVICE_LOST @reentrant yes @capture by capability @shutdown no
   * @fork never @fallback broadcast into scratch @idempotent no */
  int32_t (*scatter)(tenon_comm* comm, const tenon_collective_op* op, tenon_error* error);
  /* Sends count elements to peer, matched by its recv in order.
   * @since 1.0 @threads T2 @blocks never @async OK means enqueued
   * @own record borrowed for the call, memory until completion @null only the error sink may be NULL
   * @errors INVALID_ARGUMENT UNIMPLEMENTED ABORTED DEVICE_LOST @reentrant yes @capture by capability @shutdown no
   * @fork never @fallback none: point-to-point is not available @idempotent no */
  int32_t (*send)(tenon_comm* comm, const tenon_collective_op* op, tenon_error* error);
  /* Receives count elements from peer.
   * @since 1.0 @threads T2 @blocks never @async OK means enqueued
   * @own record borrowed for the call, memory until completion @null only the error sink may be NULL
   * @errors INVALID_ARGUMENT UNIMPLEMENTED ABORTED DEVICE_LOST @reentrant yes @capture by capability @shutdown no
   * @fork never @fallback none: point-to-point is not available @idempotent no */
  int32_t (*recv)(tenon_comm* comm, const tenon_collective_op* op, tenon_error* error);
  /* No rank passes on its stream before all have reached it.
   * @since 1.0 @threads T2 @blocks never @async OK means enqueued @own record borrowed for the call
   * @null only the error sink may be NULL @errors INVALID_ARGUMENT ABORTED DEVICE_LOST @reentrant yes
   * @capture by capability @shutdown no @fork never @fallback all_reduce of one element @idempotent no */
  int32_t (*barrier)(tenon_comm* comm, const tenon_collective_op* op, tenon_error* error);
  /* Opens a group: operations that name it start together at group_end. Groups do not nest and belong to no
   * thread.
   * @since 1.0 @threads T2 @blocks never @async no
   * @own comms borrowed for the call; *out owned by the host until group_end @null only the error sink may be NULL
   * @errors INVALID_ARGUMENT FAILED_PRECONDITION (a communicator is in another group) @reentrant yes @capture no
   * @shutdown no @fork never @fallback operations are issued one by one @idempotent no */
  int32_t (*group_begin)(tenon_comm* const* comms, uint64_t count, tenon_comm_group** out, tenon_error* error);
  /* Issues the operations of the group and frees it, also on error.
   * @since 1.0 @threads T2 @blocks never @async OK means enqueued @own group is consumed
   * @null only the error sink may be NULL @errors those of the operations @reentrant yes @capture no @shutdown no
   * @fork never @fallback as group_begin @idempotent no */
  int32_t (*group_end)(tenon_comm_group* group, tenon_error* error);
  /* Buffer hook: memory in which this communicator is fastest. All ranks call it in the same order with the same
   * arguments.
   * @since 1.0 @threads T2 @blocks network, bounded by the timeout @async no
   * @own handle in *out owned by the host until buffer_free @null only the error sink may be NULL
   * @errors RESOURCE_EXHAUSTED UNIMPLEMENTED ABORTED @reentrant yes @capture no @shutdown no @fork never
   * @fallback ordinary device memory @idempotent no */
  int32_t (*buffer_alloc)(tenon_comm* comm, uint64_t bytes, uint64_t align, tenon_comm_buffer_info* out,
                          tenon_error* error);
  /* Frees memory of the buffer hook.
   * @since 1.0 @threads T2 @blocks host @async no @own buffer is consumed @null NULL does nothing @errors none
   * @reentrant yes @capture no @shutdown yes @fork never @fallback as buffer_alloc @idempotent no */
  void (*buffer_free)(tenon_comm* comm, tenon_comm_buffer* buffer);
  /* One line on topology and algorithm, for people.
   * @since 1.0 @threads T3 @blocks never @async no @own *out lives as long as comm
   * @null only the error sink may be NULL @errors none else @reentrant yes @capture no @shutdown no @fork never
   * @fallback nothing is shown @idempotent yes */
  int32_t (*describe)(tenon_comm* comm, tenon_str* out, tenon_error* error);
} tenon_collective_vtable;

#ifdef __cplusplus
}
#endif
#endif
