// Everything for a device plugin with kernels and fused operators.
#pragma once

#include "tenon/sdk/device.h"
#include "tenon/sdk/fusion.h"
#include "tenon/sdk/gradient_rule.h"
#include "tenon/sdk/host_device.h"
#include "tenon/sdk/kernel.h"
#include "tenon/sdk/operator.h"
#include "tenon/sdk/plugin.h"
#include "tenon/sdk/profiler.h"
