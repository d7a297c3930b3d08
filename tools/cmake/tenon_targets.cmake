# Build rules for libraries of core/ and for programs. Each does what must not be forgotten: warnings, hidden
# visibility, position-independent code, the include root, the version string.

# tenon_defaults(<target>)
#
# What every library, program and test of this repository shares.
function(tenon_defaults target)
  tenon_warnings(${target})
  target_include_directories(${target} PRIVATE "${CMAKE_SOURCE_DIR}")
  target_compile_definitions(${target} PRIVATE TENON_VERSION_STRING="${PROJECT_VERSION}")
  set_target_properties(${target} PROPERTIES
    POSITION_INDEPENDENT_CODE ON
    CXX_VISIBILITY_PRESET hidden
    C_VISIBILITY_PRESET hidden
    VISIBILITY_INLINES_HIDDEN ON)
  target_compile_options(${target} PRIVATE -ffunction-sections -fdata-sections)
endfunction()

# tenon_core_library(<folder> SOURCES <file>... [DEPS <core folder>...] [LIBS <library>...] [PLUGIN_API])
#
#   tenon_core_library(graph  SOURCES graph.cc verifier.cc text.cc  DEPS ops)
#
# Static library tenon_core_<folder> from files of core/<folder>. A folder with a slash (convert/onnx) gets an
# underscore in the target name. DEPS are other folders of core/, LIBS anything that CMake can link. PLUGIN_API puts
# plugin_api/include on the include path, also for the folders that depend on this one.
function(tenon_core_library folder)
  cmake_parse_arguments(PARSE_ARGV 1 arg "PLUGIN_API" "" "SOURCES;DEPS;LIBS")
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "tenon_core_library(${folder}): unknown arguments: ${arg_UNPARSED_ARGUMENTS}")
  endif()
  string(REPLACE "/" "_" target "tenon_core_${folder}")
  add_library(${target} STATIC ${arg_SOURCES})
  tenon_defaults(${target})
  tenon_link(${target} PUBLIC DEPS ${arg_DEPS} LIBS ${arg_LIBS})
  if(arg_PLUGIN_API)
    target_include_directories(${target} PUBLIC "${CMAKE_SOURCE_DIR}/plugin_api/include")
  endif()
endfunction()

# tenon_tool(<name> SOURCES <file>... [DEPS <core folder>...] [LIBS <library>...])
#
#   tenon_tool(msrun  SOURCES main.cc  DEPS launch  LIBS CLI11::CLI11)
#
# Program <build>/bin/<name>. Its own symbols stay hidden from the plugins that it opens. Each program is run with
# --help and --version, plain and --json, by a test that belongs to this rule.
function(tenon_tool name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;DEPS;LIBS")
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "tenon_tool(${name}): unknown arguments: ${arg_UNPARSED_ARGUMENTS}")
  endif()
  add_executable(${name} ${arg_SOURCES})
  tenon_defaults(${name})
  tenon_link(${name} PRIVATE DEPS ${arg_DEPS} LIBS ${arg_LIBS})
  target_link_options(${name} PRIVATE -Wl,--gc-sections -Wl,--as-needed)
  set_target_properties(${name} PROPERTIES
    ENABLE_EXPORTS OFF
    RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bin")
  install(TARGETS ${name} RUNTIME DESTINATION bin)
  if(TENON_BUILD_TESTS)
    tenon_script_test(checks/face_${name} LABELS checks
      COMMAND python3 "${CMAKE_SOURCE_DIR}/tools/check_face.py" --version-string "${PROJECT_VERSION}" $<TARGET_FILE:${name}>)
  endif()
endfunction()

# tenon_link(<target> PUBLIC|PRIVATE [DEPS <core folder>...] [LIBS <library>...])
#
# Links core folders by their folder names, and other libraries.
function(tenon_link target scope)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "" "DEPS;LIBS")
  foreach(dependency IN LISTS arg_DEPS)
    string(REPLACE "/" "_" dependency "tenon_core_${dependency}")
    target_link_libraries(${target} ${scope} ${dependency})
  endforeach()
  target_link_libraries(${target} ${scope} ${arg_LIBS})
endfunction()

# tenon_proto(<core folder> <file.proto>...)
#
#   tenon_proto(train  tenon_checkpoint.proto)
#
# Adds the generated code of protocol files to tenon_core_<folder>. Name the file tenon_*.proto and choose LITE_RUNTIME:
# the descriptor pool of a process is shared by everybody who links protobuf, and a clash of file names ends it.
# The header is included by its bare name: #include "tenon_checkpoint.pb.h".
function(tenon_proto folder)
  string(REPLACE "/" "_" target "tenon_core_${folder}")
  set(out "${CMAKE_CURRENT_BINARY_DIR}/proto")
  file(MAKE_DIRECTORY "${out}")
  foreach(file IN LISTS ARGN)
    if(NOT file MATCHES "^tenon_[a-z0-9_]+\\.proto$")
      message(FATAL_ERROR "tenon_proto(${folder}): '${file}' must be called tenon_<something>.proto")
    endif()
    string(REGEX REPLACE "\\.proto$" "" stem "${file}")
    add_custom_command(
      OUTPUT "${out}/${stem}.pb.cc" "${out}/${stem}.pb.h"
      COMMAND protobuf::protoc --cpp_out "${out}" -I "${CMAKE_CURRENT_SOURCE_DIR}" "${CMAKE_CURRENT_SOURCE_DIR}/${file}"
      DEPENDS "${file}" VERBATIM)
    target_sources(${target} PRIVATE "${out}/${stem}.pb.cc" "${out}/${stem}.pb.h")
    set_source_files_properties("${out}/${stem}.pb.cc" PROPERTIES COMPILE_OPTIONS -w)
  endforeach()
  target_include_directories(${target} SYSTEM PUBLIC "${out}")
  target_link_libraries(${target} PUBLIC protobuf::libprotobuf-lite)
endfunction()
