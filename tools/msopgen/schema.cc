#include "tools/msopgen/schema.h"

#include <cstdio>
#include <fstream>
#include <iterator>

#include "tools/cli/cli.h"
#include "tools/msopgen/project_files.h"

namespace tenon::msopgen {

int PrintSchema() {
  const std::string file = TemplateFolder() + "/op_schema.json";
  std::ifstream stream(file);
  const std::string text((std::istreambuf_iterator<char>(stream)), std::istreambuf_iterator<char>());
  if (!stream) return cli::Report(Error(Code::kNotFound, "{} cannot be read.", file));
  std::fputs(text.c_str(), stdout);
  return 0;
}

}  // namespace tenon::msopgen
