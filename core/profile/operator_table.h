#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/profile/timeline.h"

namespace tenon::profile {

// Where the time of a profiled run went. Rows of nodes have the time of the kernel on its device, or on the host where the
// reference ran; "(host)" is what the main thread did beside kernels and the other rows. So on a device that works while it
// is called the rows add up to the length of the timeline; one that works beside the host gives more.
struct OperatorTable {
  struct Row {
    std::string op;      // operator with its domain, or what was done
    std::string device;  // "cpu:0"; "host"
    std::string kernel;  // "-" for what runs none
    std::int64_t calls = 0;
    std::int64_t self_ns = 0;  // without what is a row of its own
    std::int64_t bytes = 0;    // read and written
  };
  std::vector<Row> rows;  // the longest first
  std::int64_t length_ns = 0;
};

OperatorTable MakeOperatorTable(const Timeline& timeline);

// Lines for people: operator, calls, self time, share of the length, device, kernel, bytes.
std::vector<std::string> Print(const OperatorTable& table);

}  // namespace tenon::profile
