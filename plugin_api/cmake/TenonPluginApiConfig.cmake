# The Tenon plugin interface as a CMake package; nothing else of Tenon is needed.
#
#   find_package(TenonPluginApi CONFIG REQUIRED)          # -DTenonPluginApi_DIR=<plugin_api>/cmake
#   tenon_add_plugin(vendor_npu  SOURCES plugin.cc  LIBS npu_runtime)
#
# Gives the target Tenon::PluginApi (include folder), the variables TenonPluginApi_INCLUDE_DIR and
# TenonPluginApi_VERSION, and the function tenon_add_plugin.
cmake_minimum_required(VERSION 3.16)

get_filename_component(TenonPluginApi_INCLUDE_DIR "${CMAKE_CURRENT_LIST_DIR}/../include" ABSOLUTE)
set(TenonPluginApi_CMAKE_DIR "${CMAKE_CURRENT_LIST_DIR}")
set(TenonPluginApi_VERSION "1.0")

if(NOT TARGET Tenon::PluginApi)
  add_library(Tenon::PluginApi INTERFACE IMPORTED GLOBAL)
  set_target_properties(Tenon::PluginApi PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "${TenonPluginApi_INCLUDE_DIR}")
endif()

include("${CMAKE_CURRENT_LIST_DIR}/tenon_add_plugin.cmake")
