// Mutations of collectives.
#include <unistd.h>

#include "mutations.h"

namespace mutant {
namespace {

void Complete(const tenon_collective_op* op) {
  if (op->completion != nullptr) Host()->complete(Host()->host, op->completion, TENON_OK, {nullptr, 0});
}

void AllReduceDoesNothing(Tables* tables) {
  tables->collective.all_reduce = [](tenon_comm*, const tenon_collective_op* op, tenon_error*) {
    Complete(op);
    return static_cast<int32_t>(TENON_OK);
  };
}

void AllReduceOnlySynchronizes(Tables* tables) {
  tables->collective.all_reduce = [](tenon_comm* comm, const tenon_collective_op* op, tenon_error* error) {
    return Sound().collective.barrier(comm, op, error);
  };
}

void AverageSums(Tables* tables) {
  tables->collective.all_reduce = [](tenon_comm* comm, const tenon_collective_op* op, tenon_error* error) {
    tenon_collective_op sum = *op;
    if (sum.reduction == TENON_REDUCE_AVERAGE) sum.reduction = TENON_REDUCE_SUM;
    return Sound().collective.all_reduce(comm, &sum, error);
  };
}

void ReducesIntoSource(Tables* tables) {
  tables->collective.all_reduce = [](tenon_comm* comm, const tenon_collective_op* op, tenon_error* error) {
    tenon_collective_op in_place = *op;
    in_place.receive = in_place.send;
    return Sound().collective.all_reduce(comm, &in_place, error);
  };
}

void GathersShort(Tables* tables) {
  tables->collective.all_gather = [](tenon_comm* comm, const tenon_collective_op* op, tenon_error* error) {
    tenon_collective_op even = *op;
    even.count = op->count / 2 * 2;
    return Sound().collective.all_gather(comm, &even, error);
  };
}

void ForgetsZeroCounts(Tables* tables) {
  tables->collective.all_reduce = [](tenon_comm* comm, const tenon_collective_op* op, tenon_error* error) {
    return op->count == 0 ? static_cast<int32_t>(TENON_OK) : Sound().collective.all_reduce(comm, op, error);
  };
}

void PromisesMaximum(Tables* tables) {
  tables->collective.all_reduce = [](tenon_comm* comm, const tenon_collective_op* op, tenon_error* error) {
    if (op->reduction == TENON_REDUCE_MAX) return Fail(error, TENON_UNIMPLEMENTED, "There is no maximum.");
    return Sound().collective.all_reduce(comm, op, error);
  };
}

// Host arrays are read after the call.
void ReadsCountsLate(Tables* tables) {
  tables->collective.all_to_all_v = [](tenon_comm* comm, const tenon_collective_op* op, tenon_error* error) {
    static thread_local uint64_t zeros[64] = {};
    tenon_collective_op late = *op;
    late.receive_counts = late.send_counts = zeros;
    return Sound().collective.all_to_all_v(comm, &late, error);
  };
}

tenon_collective_op Alone(const tenon_collective_op* op) {
  tenon_collective_op alone = *op;
  alone.group = nullptr;
  return alone;
}

void GroupsAreIgnored(Tables* tables) {
  tables->collective.send = [](tenon_comm* comm, const tenon_collective_op* op, tenon_error* error) {
    const tenon_collective_op alone = Alone(op);
    return Sound().collective.send(comm, &alone, error);
  };
  tables->collective.recv = [](tenon_comm* comm, const tenon_collective_op* op, tenon_error* error) {
    const tenon_collective_op alone = Alone(op);
    return Sound().collective.recv(comm, &alone, error);
  };
}

void GroupsNest(Tables* tables) {
  tables->collective.group_begin = [](tenon_comm* const* comms, uint64_t count, tenon_comm_group** out,
                                      tenon_error* error) {
    const int32_t code = Sound().collective.group_begin(comms, count, out, error);
    return code == TENON_FAILED_PRECONDITION ? static_cast<int32_t>(TENON_OK) : code;
  };
}

void TimeoutIgnored(Tables* tables) {
  tables->collective.all_reduce = [](tenon_comm* comm, const tenon_collective_op* op, tenon_error* error) {
    tenon_collective_op patient = *op;
    patient.timeout_ns = TENON_MAX_TIMEOUT;
    return Sound().collective.all_reduce(comm, &patient, error);
  };
}

void MissingRankUnnamed(Tables* tables) {
  tables->collective.comm_create = [](tenon_plugin* plugin, const tenon_comm_config* config, tenon_comm** out,
                                      tenon_error* error) {
    const int32_t code = Sound().collective.comm_create(plugin, config, out, nullptr);
    return code == TENON_OK ? code : Fail(error, code, "A rank is missing.");
  };
}

void AsyncErrorIsOk(Tables* tables) {
  tables->collective.async_error = [](tenon_comm*, tenon_error*) { return static_cast<int32_t>(TENON_OK); };
}

void AbortWaits(Tables* tables) {
  tables->collective.abort_mark = [](tenon_comm* comm, int32_t code, tenon_str reason) {
    ::usleep(500'000);
    Sound().collective.abort_mark(comm, code, reason);
  };
}

void AbortIgnored(Tables* tables) {
  tables->collective.abort_mark = [](tenon_comm*, int32_t, tenon_str) {};
}

void WorksAfterAbort(Tables* tables) {
  tables->collective.all_reduce = [](tenon_comm* comm, const tenon_collective_op* op, tenon_error* error) {
    const int32_t code = Sound().collective.all_reduce(comm, op, error);
    return code == TENON_ABORTED ? static_cast<int32_t>(TENON_OK) : code;
  };
}

void EnqueueWaits(Tables* tables) {
  tables->collective.all_reduce = [](tenon_comm* comm, const tenon_collective_op* op, tenon_error* error) {
    const int32_t code = Sound().collective.all_reduce(comm, op, error);
    for (int i = 0; code == TENON_OK && i < 2000; ++i) {
      tenon_comm_progress progress = TENON_INIT(tenon_comm_progress);
      Sound().collective.progress(comm, &progress, nullptr);
      if (progress.finished >= op->sequence) break;
      ::usleep(1000);
    }
    return code;
  };
}

void FingerprintIgnored(Tables* tables) {
  tables->collective.all_reduce = [](tenon_comm* comm, const tenon_collective_op* op, tenon_error* error) {
    tenon_collective_op blind = *op;
    blind.fingerprint = 0;
    return Sound().collective.all_reduce(comm, &blind, error);
  };
}

void ProgressIgnoresCapacity(Tables* tables) {
  tables->collective.progress = [](tenon_comm* comm, tenon_comm_progress* out, tenon_error* error) {
    out->struct_size = sizeof(*out);
    return Sound().collective.progress(comm, out, error);
  };
}

void CompletesOperationTwice(Tables* tables) {
  tables->collective.broadcast = [](tenon_comm* comm, const tenon_collective_op* op, tenon_error* error) {
    Complete(op);
    return Sound().collective.broadcast(comm, op, error);
  };
}

constexpr Mutation kMutations[] = {
    {"all_reduce_does_nothing", AllReduceDoesNothing},
    {"all_reduce_only_synchronizes", AllReduceOnlySynchronizes},
    {"average_sums", AverageSums},
    {"reduces_into_source", ReducesIntoSource},
    {"gathers_short", GathersShort},
    {"forgets_zero_counts", ForgetsZeroCounts},
    {"promises_maximum", PromisesMaximum},
    {"reads_counts_late", ReadsCountsLate},
    {"groups_are_ignored", GroupsAreIgnored},
    {"groups_nest", GroupsNest},
    {"timeout_ignored", TimeoutIgnored},
    {"missing_rank_unnamed", MissingRankUnnamed},
    {"async_error_is_ok", AsyncErrorIsOk},
    {"abort_waits", AbortWaits},
    {"abort_ignored", AbortIgnored},
    {"works_after_abort", WorksAfterAbort},
    {"enqueue_waits", EnqueueWaits},
    {"fingerprint_ignored", FingerprintIgnored},
    {"progress_ignores_capacity", ProgressIgnoresCapacity},
    {"completes_operation_twice", CompletesOperationTwice},
};

}  // namespace

const Mutation* FindCollectiveMutation(std::string_view name) { return FindIn(kMutations, name); }

}  // namespace mutant
