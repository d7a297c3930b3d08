# tenon_op_table()
#
#   tenon_core_library(ops  SOURCES op_def.cc registry.cc  DEPS tensor plugin)
#   tenon_op_table()
#
# Adds every core/ops/builtin/*.cc to tenon_core_ops, and a generated file with
#
#   void tenon::DefineBuiltinOps(OpRegistry& ops);
#
# which calls DefineOp_<stem>(ops) for each file, in alphabetical order. A new operator is a new file and nothing
# else; a file that lacks its function fails to link. This is the only glob of the build.
function(tenon_op_table)
  file(GLOB files CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/core/ops/builtin/*.cc")
  list(SORT files)
  set(declarations "")
  set(calls "")
  foreach(file IN LISTS files)
    get_filename_component(stem "${file}" NAME_WE)
    string(APPEND declarations "void DefineOp_${stem}(OpRegistry& ops);\n")
    string(APPEND calls "  DefineOp_${stem}(ops);\n")
  endforeach()
  if(NOT files)
    set(calls "  static_cast<void>(ops);\n")
  endif()
  set(table "${CMAKE_BINARY_DIR}/generated/op_table.gen.cc")
  file(CONFIGURE OUTPUT "${table}" CONTENT "// Generated from the file names in core/ops/builtin by tools/cmake/tenon_op_table.cmake.
namespace tenon {

class OpRegistry;

@declarations@
void DefineBuiltinOps(OpRegistry& ops);

void DefineBuiltinOps(OpRegistry& ops) {
@calls@}

}  // namespace tenon
" @ONLY)
  target_sources(tenon_core_ops PRIVATE ${files} "${table}")
endfunction()
