#pragma once

#include "core/launch/attempt.h"

namespace tenon {

// The last screen of a job that failed: who was first, why, its log and the last lines of it, and how the others ended.
void PrintFinalReport(const LaunchPlan& plan, const AttemptResult& result);

// The exit code of the worker that failed first; 1 when none of ours did; 128 + signal for an interrupted launcher.
int FinalExitCode(const AttemptResult& result);

}  // namespace tenon
