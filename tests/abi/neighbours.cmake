# tenon_neighbour_plugin(<name> <older|newer> SOURCES <file>... [LIBS <library>...] [OUTPUT_DIRECTORY <folder>])
#
#   include(${CMAKE_SOURCE_DIR}/tests/abi/neighbours.cmake)
#   tenon_neighbour_plugin(one_field_short older SOURCES plugin.cc)
#
# tenon_add_plugin against a neighbour of today's ABI (plugin_api/abi/make_neighbours.py), made in the build folder:
# TENON_NEIGHBOURS_DIR/{older,newer}/include.
find_package(Python3 COMPONENTS Interpreter QUIET)
set(TENON_NEIGHBOURS_DIR "${CMAKE_BINARY_DIR}/abi_neighbours")

if(NOT TARGET tenon_abi_neighbours)
  file(GLOB neighbour_headers CONFIGURE_DEPENDS
    "${CMAKE_SOURCE_DIR}/plugin_api/include/tenon/abi/*.h" "${CMAKE_SOURCE_DIR}/plugin_api/include/tenon/sdk/*.h")
  add_custom_command(
    OUTPUT "${TENON_NEIGHBOURS_DIR}/stamp"
    COMMAND ${Python3_EXECUTABLE} -B "${CMAKE_SOURCE_DIR}/plugin_api/abi/make_neighbours.py" "${TENON_NEIGHBOURS_DIR}"
    COMMAND ${CMAKE_COMMAND} -E touch "${TENON_NEIGHBOURS_DIR}/stamp"
    DEPENDS ${neighbour_headers} "${CMAKE_SOURCE_DIR}/plugin_api/abi/make_neighbours.py"
            "${CMAKE_SOURCE_DIR}/plugin_api/abi/abi_headers.py"
    COMMENT "Making the neighbours of the ABI"
    VERBATIM)
  add_custom_target(tenon_abi_neighbours DEPENDS "${TENON_NEIGHBOURS_DIR}/stamp")
endif()

function(tenon_neighbour_plugin name neighbour)
  tenon_add_plugin(${name} ${ARGN})
  target_include_directories(${name} BEFORE PRIVATE "${TENON_NEIGHBOURS_DIR}/${neighbour}/include")
  # What the older sdk cannot fill leaves parameters unused.
  target_compile_options(${name} PRIVATE -Wno-unused-parameter)
  add_dependencies(${name} tenon_abi_neighbours)
endfunction()
