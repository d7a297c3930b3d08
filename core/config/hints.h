#pragma once

#include <string>
#include <string_view>

#include "core/config/table.h"

namespace tenon {

// What to tell a person about a key that a section does not know, as sentences with a leading space: where the key
// belongs, the nearest name, or the keys there are.
//   " It is a key of type adam, not of sgd."       another kind of the same section has it
//   " Did you mean 'clip_norm'?"                   a misspelling
//   " Did you mean 'optimizer.lr'?"                right name, wrong place
//   " Known keys: epochs and steps."
std::string UnknownKeyHint(std::string_view key, const ConfigTable& table, const ConfigReader& reader,
                           const ConfigType* variants, std::string_view chosen);

}  // namespace tenon
