#include "operation.h"

#include <algorithm>
#include <cstring>

#include "reduce/reduce.h"

namespace tenon::hccl {
namespace {

const char* ReductionName(uint32_t reduction) {
  constexpr const char* kNames[] = {"none", "sum", "prod", "min", "max", "average"};
  return reduction < sizeof(kNames) / sizeof(kNames[0]) ? kNames[reduction] : "unknown";
}

bool HasRoot(uint32_t kind) {
  return kind == TENON_COLLECTIVE_REDUCE || kind == TENON_COLLECTIVE_BROADCAST || kind == TENON_COLLECTIVE_GATHER ||
         kind == TENON_COLLECTIVE_SCATTER;
}

Fault BadArgument(uint32_t kind, int32_t code, const std::string& sentence) {
  return MakeFault(code, Ei::kArgument, std::string(KindName(kind)) + ": " + sentence);
}

void CheckTypes(const Operation& operation) {
  const tenon_collective_op& op = operation.op;
  if (operation.kind == TENON_COLLECTIVE_BARRIER) return;
  if (operation.width() == 0)
    throw BadArgument(operation.kind, TENON_INVALID_ARGUMENT,
                      "dtype " + std::to_string(op.dtype) + " is not known or has no whole bytes.");
  if (!operation.reduces()) return;
  if (op.reduction < TENON_REDUCE_SUM || op.reduction > TENON_REDUCE_AVERAGE)
    throw BadArgument(operation.kind, TENON_INVALID_ARGUMENT,
                      "Reduction " + std::to_string(op.reduction) + " is not known.");
  if (!Reduces(op.dtype))
    throw BadArgument(operation.kind, TENON_UNIMPLEMENTED,
                      "values of dtype " + std::to_string(op.dtype) + " cannot be reduced.");
}

void CheckRanks(const Operation& operation, uint32_t size) {
  const tenon_collective_op& op = operation.op;
  const auto check = [&](const char* what, uint32_t rank) {
    if (rank < size) return;
    throw BadArgument(operation.kind, TENON_INVALID_ARGUMENT,
                      std::string(what) + " " + std::to_string(rank) + " is not below the number of ranks, " +
                          std::to_string(size) + ".");
  };
  if (HasRoot(operation.kind)) check("root", op.root);
  if (operation.point_to_point()) check("peer", op.peer);
}

void CheckSize(const Operation& operation, uint32_t size) {
  const uint64_t width = std::max<uint64_t>(operation.width(), 1);
  if (operation.op.count > UINT64_MAX / 2 / width / size)
    throw BadArgument(operation.kind, TENON_INVALID_ARGUMENT,
                      "count " + std::to_string(operation.op.count) + " is more than memory can hold.");
}

void CopyCounts(const tenon_collective_op& op, uint32_t size, Operation* operation) {
  if (op.send_counts == nullptr || op.send_offsets == nullptr || op.receive_counts == nullptr ||
      op.receive_offsets == nullptr)
    throw BadArgument(operation->kind, TENON_INVALID_ARGUMENT, "an array of counts or offsets is NULL.");
  operation->send_counts.assign(op.send_counts, op.send_counts + size);
  operation->send_offsets.assign(op.send_offsets, op.send_offsets + size);
  operation->receive_counts.assign(op.receive_counts, op.receive_counts + size);
  operation->receive_offsets.assign(op.receive_offsets, op.receive_offsets + size);
}

bool Same(const Header& a, const Header& b) {
  const bool fingerprints = a.fingerprint == 0 || b.fingerprint == 0 || a.fingerprint == b.fingerprint;
  return a.kind == b.kind && a.dtype == b.dtype && a.reduction == b.reduction && a.root == b.root &&
         a.count == b.count && a.factor == b.factor && fingerprints;
}

}  // namespace

const char* KindName(uint32_t kind) {
  constexpr const char* kNames[] = {"nothing",        "all_reduce", "reduce",       "broadcast", "all_gather",
                                    "reduce_scatter", "all_to_all", "all_to_all_v", "gather",    "scatter",
                                    "send",           "recv",       "barrier"};
  if (kind == kShareBlock) return "buffer_alloc";
  return kind < sizeof(kNames) / sizeof(kNames[0]) ? kNames[kind] : "unknown";
}

uint64_t Operation::width() const { return sdk::DTypeBits(op.dtype) / 8; }

bool Operation::reduces() const {
  return kind == TENON_COLLECTIVE_ALL_REDUCE || kind == TENON_COLLECTIVE_REDUCE ||
         kind == TENON_COLLECTIVE_REDUCE_SCATTER;
}

Operation CheckedOperation(uint32_t kind, const tenon_collective_op& op, uint32_t size) {
  Operation operation;
  operation.kind = kind;
  std::memcpy(&operation.op, &op, std::min<size_t>(op.struct_size, sizeof operation.op));
  CheckTypes(operation);
  CheckRanks(operation, size);
  CheckSize(operation, size);
  if (kind == TENON_COLLECTIVE_ALL_TO_ALL_V) CopyCounts(operation.op, size, &operation);
  if (kind == TENON_COLLECTIVE_BARRIER) operation.op.count = 0;
  return operation;
}

Extent ExtentOf(const Operation& operation, uint32_t rank, uint32_t size) {
  const uint64_t count = operation.op.count;
  const bool root = rank == operation.op.root;
  const auto reach = [size](const std::vector<uint64_t>& counts, const std::vector<uint64_t>& offsets) {
    uint64_t end = 0;
    for (uint32_t peer = 0; peer < size; ++peer) {
      if (counts[peer] > 0) end = std::max(end, offsets[peer] + counts[peer]);
    }
    return end;
  };
  switch (operation.kind) {
    case TENON_COLLECTIVE_ALL_REDUCE:
      return {count, count};
    case TENON_COLLECTIVE_REDUCE:
      return {count, root ? count : 0};
    case TENON_COLLECTIVE_BROADCAST:
      return {root ? count : 0, count};
    case TENON_COLLECTIVE_ALL_GATHER:
      return {count, count * size};
    case TENON_COLLECTIVE_REDUCE_SCATTER:
      return {count * size, count};
    case TENON_COLLECTIVE_ALL_TO_ALL:
      return {count * size, count * size};
    case TENON_COLLECTIVE_ALL_TO_ALL_V:
      return {reach(operation.send_counts, operation.send_offsets),
              reach(operation.receive_counts, operation.receive_offsets)};
    case TENON_COLLECTIVE_GATHER:
      return {count, root ? count * size : 0};
    case TENON_COLLECTIVE_SCATTER:
      return {root ? count * size : 0, count};
    case TENON_COLLECTIVE_SEND:
      return {count, 0};
    case TENON_COLLECTIVE_RECV:
      return {0, count};
    default:
      return {0, 0};
  }
}

Header HeaderOf(const Operation& operation) {
  const tenon_collective_op& op = operation.op;
  Header header;
  header.kind = operation.kind;
  header.dtype = operation.kind == TENON_COLLECTIVE_BARRIER ? 0 : op.dtype;
  header.reduction = operation.reduces() ? op.reduction : 0;
  header.root = HasRoot(operation.kind) ? op.root : 0;
  header.count = operation.kind == TENON_COLLECTIVE_ALL_TO_ALL_V ? 0 : op.count;
  header.sequence = op.sequence;
  header.fingerprint = op.fingerprint;
  if (operation.reduces()) {
    const double factor = operation.factor();
    std::memcpy(&header.factor, &factor, sizeof factor);
  }
  for (const uint64_t count : operation.send_counts) header.largest = std::max(header.largest, count);
  header.send = operation.send_place;
  header.receive = operation.receive_place;
  return header;
}

std::string DescribeHeader(const Header& header) {
  std::string text = KindName(header.kind);
  if (header.kind == kShareBlock) return text + " of " + std::to_string(header.count) + " bytes";
  if (header.kind != TENON_COLLECTIVE_BARRIER && header.kind != TENON_COLLECTIVE_ALL_TO_ALL_V)
    text += " of " + std::to_string(header.count);
  if (header.dtype != 0) text += " " + std::string(sdk::DTypeName(header.dtype));
  if (header.reduction != 0) text += ", " + std::string(ReductionName(header.reduction));
  double factor = 1;
  if (header.factor != 0) std::memcpy(&factor, &header.factor, sizeof factor);
  if (factor != 1) text += " times " + std::to_string(factor);
  if (HasRoot(header.kind)) text += ", root " + std::to_string(header.root);
  return text + " (operation " + std::to_string(header.sequence) + ")";
}

void CompareHeaders(const std::vector<Header>& headers, const std::vector<uint32_t>& ranks) {
  size_t other = 1;
  while (other < headers.size() && Same(headers[0], headers[other])) ++other;
  if (other >= headers.size()) return;
  std::string text = "Ranks run different operations: ";
  constexpr size_t kShown = 16;
  for (size_t i = 0; i < headers.size() && i < kShown; ++i) {
    text += (i == 0 ? "rank " : "; rank ") + std::to_string(ranks[i]) + " " + DescribeHeader(headers[i]);
    if (headers[i].fingerprint != 0 && headers[0].kind == headers[other].kind &&
        headers[0].count == headers[other].count)
      text += " with fingerprint " + std::to_string(headers[i].fingerprint);
  }
  if (headers.size() > kShown) text += "; and " + std::to_string(headers.size() - kShown) + " more";
  throw MakeFault(TENON_INVALID_ARGUMENT, Ei::kMismatch, text + ".");
}

}  // namespace tenon::hccl
