// Operations that a plugin lacks, made of those that it has; the table stands in docs/reference/data_parallel.md.
#include "core/comm/communicator.h"

namespace tenon {

Status Communicator::Emulate(Operation& operation, const tenon_collective_op& op, std::uint64_t tag) {
  ++counts_.emulated[std::string(CollectiveName(operation.kind))];
  tenon_collective_op part = op;
  switch (operation.kind) {
    case TENON_COLLECTIVE_ALL_REDUCE: {
      const bool average = op.reduction == TENON_REDUCE_AVERAGE;
      if (average && Supports(operation.kind, op.dtype, TENON_REDUCE_SUM)) {
        part.reduction = TENON_REDUCE_SUM;
        part.scale = (op.scale == 0 ? 1 : op.scale) / size();
        return IssueAs(operation, operation.kind, part, tag);
      }
      if (!Supports(TENON_COLLECTIVE_REDUCE, op.dtype, op.reduction) ||
          !Supports(TENON_COLLECTIVE_BROADCAST, op.dtype, 0))
        return Missing(operation.kind, op);
      TENON_TRY(IssueAs(operation, TENON_COLLECTIVE_REDUCE, part, tag));
      part.send = op.receive;
      part.reduction = 0;
      part.scale = 0;
      return IssueAs(operation, TENON_COLLECTIVE_BROADCAST, part, tag);
    }
    case TENON_COLLECTIVE_BROADCAST: {
      if (!Supports(TENON_COLLECTIVE_SEND, op.dtype, 0) || !Supports(TENON_COLLECTIVE_RECV, op.dtype, 0))
        return Missing(operation.kind, op);
      part.peer = op.root;
      if (rank() != op.root) return IssueAs(operation, TENON_COLLECTIVE_RECV, part, tag);
      const std::uint64_t sequence = sequence_;
      for (part.peer = 0; part.peer < size(); ++part.peer) {
        if (part.peer == op.root) continue;
        sequence_ = sequence;  // one number on every rank
        TENON_TRY(IssueAs(operation, TENON_COLLECTIVE_SEND, part, tag));
      }
      return {};
    }
    case TENON_COLLECTIVE_ALL_GATHER: {
      if (!Supports(TENON_COLLECTIVE_BROADCAST, op.dtype, 0)) return Missing(operation.kind, op);
      for (part.root = 0; part.root < size(); ++part.root) {
        part.receive = op.receive + part.root * op.count;
        part.send = part.root == rank() ? op.send : part.receive;
        TENON_TRY(IssueAs(operation, TENON_COLLECTIVE_BROADCAST, part, tag));
      }
      return {};
    }
    default: {
      operation.staging.assign(sizeof(std::int32_t), 0);
      part.send = part.receive = AddressOf(operation.staging.data());
      part.count = 1;
      part.dtype = TENON_DTYPE_I32;
      part.reduction = TENON_REDUCE_MAX;
      if (stream_ || !Supports(TENON_COLLECTIVE_ALL_REDUCE, part.dtype, part.reduction))
        return Missing(operation.kind, op);
      return IssueAs(operation, TENON_COLLECTIVE_ALL_REDUCE, part, tag);
    }
  }
}

Status Communicator::Missing(std::uint32_t kind, const tenon_collective_op& op) const {
  const std::string what =
      kind == TENON_COLLECTIVE_BARRIER
          ? std::string(CollectiveName(kind))
          : fmt::format("{} of {}", CollectiveName(kind), ::tenon::NameOf(static_cast<DType>(op.dtype)));
  return Error(Code::kUnimplemented,
               "Plugin {} has no {} in memory of kind '{}', nor what it could be made of. Name another plugin with "
               "'parallel.comm'.",
               plugin_.id, what, kind_);
}

}  // namespace tenon
