// The functions of all cases, in the order of their numbers, and what files of cases share.
#pragma once

#include "tenon/abi/collective.h"
#include "tools/conform/case.h"

namespace tenon::conform {

// l0_binary.cc
void ExportedSymbol(Context& context);
void NoteEqualsDescriptor(Context& context);
void UndefinedSymbols(Context& context);
void UniqueSymbols(Context& context);
void HardenedFile(Context& context);
void RunPath(Context& context);
void StaticTls(Context& context);
void VersionFloor(Context& context);
// l0_query.cc
void QueryIsPure(Context& context);
void HostStructSizes(Context& context);
void OlderHost(Context& context);
void FutureHost(Context& context);
void UnknownMajor(Context& context);
void HostTableGarbage(Context& context);
void OptionalServicesAbsent(Context& context);
// l0_create.cc
void CreateUnderFaults(Context& context);
void CreateManyTimes(Context& context);
void TwoInstances(Context& context);
void ClashingNames(Context& context);
void LazyAndNow(Context& context);
void UnknownOption(Context& context);
// l0_structs.cc
void OutStructCapacity(Context& context);
void InStructLarger(Context& context);
void ReservedFields(Context& context);
void UnknownEnum(Context& context);
void NullSink(Context& context);
void ErrorText(Context& context);
void ArrayStride(Context& context);
void InjectedException(Context& context);
void ProcessUntouched(Context& context);
void TryCapacitiesOfProgress(Context& context, const tenon_collective_vtable& table, tenon_comm* comm);
// l1_memory.cc
void SpaceAlignment(Context& context);
void ZeroBytes(Context& context);
void OutOfMemory(Context& context);
void StatsAddUp(Context& context);
void StreamOrderedFree(Context& context);
void OverlappingCopy(Context& context);
void StridedCopy(Context& context);
void PeerCopy(Context& context);
void HostSource(Context& context);
void WrapExternal(Context& context);
// l1_streams.cc
void EventBeforeRecord(Context& context);
void EventRecordedAgain(Context& context);
void CrossStreamOrder(Context& context);
void DestroyPending(Context& context);
void CallbackCallsBack(Context& context);
void StickyErrors(Context& context);
void ManyThreads(Context& context);
void DeviceLost(Context& context);
void CheckLostDevice(Context& context);
// l2_numerics.cc
void Numerics(Context& context);
void Views(Context& context);
void EmptyAndScalar(Context& context);
void OddSizes(Context& context);
void SpecialValues(Context& context);
// l2_kernels.cc
void Workspace(Context& context);
void Aliasing(Context& context);
void SameSeedSameResult(Context& context);
void KernelAttributes(Context& context);
void CaptureAndReplay(Context& context);
void ConcurrentExecute(Context& context);
void Cancellation(Context& context);
void NoAllocationInExecute(Context& context);
// l2_operators.cc
void ShapeRules(Context& context);
void ShapeRulesWithoutDevice(Context& context);
// l2_claims.cc
void ConvexClaims(Context& context);
void SameClaims(Context& context);
void GraphPointers(Context& context);
void SubsetOfClaim(Context& context);
void BlobRoundTrip(Context& context);
void ReasonsForRefusals(Context& context);
// l2_gradient.cc
void FiniteDifferences(Context& context);
// l3_results.cc
void CollectiveResults(Context& context);
void GroupsAndCycles(Context& context);
void TwoCommunicators(Context& context);
void CollectiveDeterminism(Context& context);
// l3_failures.cc
void RankNeverArrives(Context& context);
void RankDies(Context& context);
void AbortFromElsewhere(Context& context);
void MarkAllThenDestroy(Context& context);
void DestroyCommPending(Context& context);
void FingerprintMismatch(Context& context);
void StoreFailures(Context& context);
// l3_single.cc
void TryCollectiveStructs(Context& context);
void TryUnknownReduction(Context& context);

// l4_profiler.cc
void CorrelationIds(Context& context);
void RecordTimes(Context& context);
void ClockDrift(Context& context);
void TinyBuffers(Context& context);
void StartStopUnderLoad(Context& context);
void FailingCollector(Context& context);
void OffCost(Context& context);
// l5_stress.cc
void ApiFuzz(Context& context);
void ShutdownWhileBusy(Context& context);
void ExitWithoutShutdown(Context& context);
void ForkedChild(Context& context);
void LongRun(Context& context);
void NeighbourHosts(Context& context);

}  // namespace tenon::conform
