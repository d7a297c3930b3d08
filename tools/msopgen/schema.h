#pragma once

namespace tenon::msopgen {

// Prints the JSON schema of operator files (templates/msopgen/op_schema.json); returns the exit code.
int PrintSchema();

}  // namespace tenon::msopgen
