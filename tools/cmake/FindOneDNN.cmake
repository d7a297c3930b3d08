# Finds oneDNN by path and defines OneDNN::OneDNN.
#
# The config package that comes with oneDNN 2.6 is not used: it stops the configure run unless OpenCL's headers are
# installed, and then links OpenCL.
#
# Result: OneDNN_FOUND, OneDNN_VERSION, OneDNN_INCLUDE_DIR, OneDNN_LIBRARY.
find_path(OneDNN_INCLUDE_DIR oneapi/dnnl/dnnl.hpp)
find_library(OneDNN_LIBRARY dnnl)

if(OneDNN_INCLUDE_DIR AND EXISTS "${OneDNN_INCLUDE_DIR}/oneapi/dnnl/dnnl_version.h")
  file(STRINGS "${OneDNN_INCLUDE_DIR}/oneapi/dnnl/dnnl_version.h" onednn_version_lines
       REGEX "^#define DNNL_VERSION_(MAJOR|MINOR|PATCH) +[0-9]+")
  foreach(part IN ITEMS MAJOR MINOR PATCH)
    string(REGEX MATCH "DNNL_VERSION_${part} +([0-9]+)" unused "${onednn_version_lines}")
    set(onednn_${part} "${CMAKE_MATCH_1}")
  endforeach()
  set(OneDNN_VERSION "${onednn_MAJOR}.${onednn_MINOR}.${onednn_PATCH}")
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(OneDNN REQUIRED_VARS OneDNN_LIBRARY OneDNN_INCLUDE_DIR VERSION_VAR OneDNN_VERSION)
mark_as_advanced(OneDNN_INCLUDE_DIR OneDNN_LIBRARY)

if(OneDNN_FOUND AND NOT TARGET OneDNN::OneDNN)
  add_library(OneDNN::OneDNN UNKNOWN IMPORTED)
  set_target_properties(OneDNN::OneDNN PROPERTIES
    IMPORTED_LOCATION "${OneDNN_LIBRARY}" INTERFACE_INCLUDE_DIRECTORIES "${OneDNN_INCLUDE_DIR}")
endif()
