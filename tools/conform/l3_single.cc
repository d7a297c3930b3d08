// Checks of structs and errors (cases 21, 24 to 26) on a communicator of one rank.
#include "tools/conform/cases.h"
#include "tools/conform/world.h"

namespace tenon::conform {

void TryCollectiveStructs(Context& context) {
  RunWorld(context, 1, [&context](Rank& rank) { TryCapacitiesOfProgress(context, rank.table(), rank.comm()); });
}

void TryUnknownReduction(Context& context) {
  RunWorld(context, 1, [&context](Rank& rank) {
    if (rank.table().all_reduce == nullptr) context.Skip("The plugin has no all_reduce.");
    float value = 1;
    tenon_collective_op op = rank.NewOp();
    op.send = op.receive = reinterpret_cast<std::uintptr_t>(&value);
    op.count = 1;
    op.dtype = TENON_DTYPE_F32;
    op.reduction = 4711;
    tenon_error error;
    std::int32_t code = TENON_CALL(tenon.collective, &rank.table(), all_reduce, rank.comm(), &op, &error);
    context.Require(code == TENON_INVALID_ARGUMENT || code == TENON_UNIMPLEMENTED,
                    "all_reduce with reduction 4711 answers {}.", code);
    context.Require(error.message_text().find("4711") != std::string_view::npos,
                    "The error of all_reduce does not name the reduction 4711: '{}'", error.message_text());
    op.reduction = TENON_REDUCE_SUM;
    op.dtype = 4711;
    code = TENON_CALL(tenon.collective, &rank.table(), all_reduce, rank.comm(), &op, nullptr);
    context.Require(code == TENON_INVALID_ARGUMENT || code == TENON_UNIMPLEMENTED,
                    "all_reduce with dtype 4711 answers {}.", code);
  });
}

}  // namespace tenon::conform
