#pragma once

#include <string>

namespace tenon::rendezvous {

// What differs between two configurations, each a line "path: value" for every value: the first keys with both values,
// "'train.epochs' is 4 on rank 0 and 5 on rank 1", and how many more there are. Empty when nothing does. The order of the
// lines does not count. `one` and `other` name those who have them.
std::string DescribeDifference(const std::string& lines, const std::string& one, const std::string& other_lines,
                               const std::string& other);

}  // namespace tenon::rendezvous
