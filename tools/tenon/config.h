#pragma once

#include <string>
#include <vector>

namespace tenon {

struct ConfigShowOptions {
  std::string config;                  // the run file
  std::vector<std::string> overrides;  // --set
  bool plugins_only = false;           // data and network may be absent
  bool json = false;
};

// `tenon config show`: prints the whole config, defaults included, as YAML or JSON. Returns the exit code.
int RunConfigShow(const ConfigShowOptions& options);

struct ConfigSchemaOptions {
  bool markdown = false;
  bool layers = false;
};

// `tenon config schema`: prints the JSON Schema of run files, or a reference page. Returns the exit code.
int RunConfigSchema(const ConfigSchemaOptions& options);

}  // namespace tenon
