# Finds oneDNN by path and defines OneDNN::OneDNN.
#
# The config package that comes with oneDNN 2.6 is not used: it stops the configure run unless OpenCL's headers are
# installed, and then links OpenCL.
#
# -DTENON_ONEDNN_ROOT=DIR takes the installation in DIR (DIR/include, DIR/lib) in place of the system's.
#
# Result: OneDNN_FOUND, OneDNN_VERSION, OneDNN_INCLUDE_DIR, OneDNN_LIBRARY, and OneDNN_RUNTIME: what a program that opens
# the library itself passes to dlopen.
if(NOT "${TENON_ONEDNN_ROOT}" STREQUAL "${OneDNN_ROOT_OF_RESULT}")
  unset(OneDNN_INCLUDE_DIR CACHE)
  unset(OneDNN_LIBRARY CACHE)
endif()
set(OneDNN_ROOT_OF_RESULT "${TENON_ONEDNN_ROOT}" CACHE INTERNAL "TENON_ONEDNN_ROOT of the last search")
if(TENON_ONEDNN_ROOT)
  find_path(OneDNN_INCLUDE_DIR oneapi/dnnl/dnnl.h PATHS "${TENON_ONEDNN_ROOT}/include" NO_DEFAULT_PATH)
  find_library(OneDNN_LIBRARY dnnl PATHS "${TENON_ONEDNN_ROOT}/lib" "${TENON_ONEDNN_ROOT}/lib64" NO_DEFAULT_PATH)
  if(NOT OneDNN_INCLUDE_DIR OR NOT OneDNN_LIBRARY)
    message(FATAL_ERROR "TENON_ONEDNN_ROOT is '${TENON_ONEDNN_ROOT}', which has no include/oneapi/dnnl/dnnl.h or no lib/libdnnl.so")
  endif()
else()
  find_path(OneDNN_INCLUDE_DIR oneapi/dnnl/dnnl.h)
  find_library(OneDNN_LIBRARY dnnl)
endif()

if(OneDNN_INCLUDE_DIR AND EXISTS "${OneDNN_INCLUDE_DIR}/oneapi/dnnl/dnnl_version.h")
  file(STRINGS "${OneDNN_INCLUDE_DIR}/oneapi/dnnl/dnnl_version.h" onednn_version_lines
       REGEX "^#define DNNL_VERSION_(MAJOR|MINOR|PATCH) +[0-9]+")
  foreach(part IN ITEMS MAJOR MINOR PATCH)
    string(REGEX MATCH "DNNL_VERSION_${part} +([0-9]+)" unused "${onednn_version_lines}")
    set(onednn_${part} "${CMAKE_MATCH_1}")
  endforeach()
  set(OneDNN_VERSION "${onednn_MAJOR}.${onednn_MINOR}.${onednn_PATCH}")
  if(TENON_ONEDNN_ROOT)
    set(OneDNN_RUNTIME "${OneDNN_LIBRARY}")
  else()
    set(OneDNN_RUNTIME "libdnnl.so.${onednn_MAJOR}")
  endif()
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(OneDNN REQUIRED_VARS OneDNN_LIBRARY OneDNN_INCLUDE_DIR VERSION_VAR OneDNN_VERSION)
mark_as_advanced(OneDNN_INCLUDE_DIR OneDNN_LIBRARY)

if(OneDNN_FOUND AND NOT TARGET OneDNN::OneDNN)
  add_library(OneDNN::OneDNN UNKNOWN IMPORTED)
  set_target_properties(OneDNN::OneDNN PROPERTIES
    IMPORTED_LOCATION "${OneDNN_LIBRARY}" INTERFACE_INCLUDE_DIRECTORIES "${OneDNN_INCLUDE_DIR}")
endif()
