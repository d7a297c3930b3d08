# tenon_add_plugin(<name> SOURCES <file>... [LIBS <library>...] [OUTPUT_DIRECTORY <folder>])
#
#   tenon_add_plugin(device_null  SOURCES plugin.cc)
#   tenon_add_plugin(vendor_npu   SOURCES plugin.cc kernels.cc  LIBS npu_runtime  OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/out)
#
# One plugin: the loadable library <name>.so that exports tenon_plugin_query_v1 and nothing else, with all symbols bound
# when it is opened, no search path of the build machine, and no C++ object shared with other plugins by accident.
# OUTPUT_DIRECTORY is by default TENON_PLUGIN_OUTPUT_DIRECTORY if that is set, else the usual place of CMake.
# Warnings are errors when TENON_WERROR is on.
function(tenon_add_plugin name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "OUTPUT_DIRECTORY" "SOURCES;LIBS")
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "tenon_add_plugin(${name}): unknown arguments: ${arg_UNPARSED_ARGUMENTS}")
  endif()
  if(NOT arg_SOURCES)
    message(FATAL_ERROR "tenon_add_plugin(${name}): SOURCES is missing")
  endif()
  if(NOT arg_OUTPUT_DIRECTORY AND TENON_PLUGIN_OUTPUT_DIRECTORY)
    set(arg_OUTPUT_DIRECTORY "${TENON_PLUGIN_OUTPUT_DIRECTORY}")
  endif()

  add_library(${name} MODULE ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE ${arg_LIBS} Tenon::PluginApi)
  target_include_directories(${name} PRIVATE "${CMAKE_CURRENT_SOURCE_DIR}")
  set_target_properties(${name} PROPERTIES
    PREFIX ""
    POSITION_INDEPENDENT_CODE ON
    C_VISIBILITY_PRESET hidden
    CXX_VISIBILITY_PRESET hidden
    VISIBILITY_INLINES_HIDDEN ON
    BUILD_WITH_INSTALL_RPATH ON
    INSTALL_RPATH "$ORIGIN")
  if(NOT CMAKE_CXX_STANDARD)
    target_compile_features(${name} PRIVATE cxx_std_17)
  endif()
  if(arg_OUTPUT_DIRECTORY)
    set_target_properties(${name} PROPERTIES LIBRARY_OUTPUT_DIRECTORY "${arg_OUTPUT_DIRECTORY}")
  endif()

  set(languages "$<OR:$<COMPILE_LANGUAGE:C>,$<COMPILE_LANGUAGE:CXX>>")
  target_compile_options(${name} PRIVATE "$<${languages}:-Wall;-Wextra;-Wshadow;-Wconversion>")
  if(TENON_WERROR)
    target_compile_options(${name} PRIVATE "$<${languages}:-Werror>")
  endif()
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # A unique symbol would be shared by all plugins of a process; clang makes none and does not know the option.
    target_compile_options(${name} PRIVATE "$<$<COMPILE_LANGUAGE:CXX>:-fno-gnu-unique>")
  endif()

  set(script "${TenonPluginApi_CMAKE_DIR}/tenon_plugin.map")
  set_property(TARGET ${name} APPEND PROPERTY LINK_DEPENDS "${script}")
  target_link_options(${name} PRIVATE
    "LINKER:--version-script=${script}" LINKER:-z,now LINKER:-z,relro LINKER:--exclude-libs,ALL LINKER:--build-id=sha1)
  # clang leaves the functions of a sanitizer to the program.
  if(NOT (CMAKE_CXX_COMPILER_ID MATCHES "Clang" AND "${CMAKE_CXX_FLAGS} ${CMAKE_C_FLAGS}" MATCHES "-fsanitize="))
    target_link_options(${name} PRIVATE LINKER:-z,defs)
  endif()
endfunction()
