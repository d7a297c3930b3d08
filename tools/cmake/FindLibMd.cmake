# Finds libmd (message digests: <sha.h>, <sha256.h>, <md5.h>) and defines LibMd::LibMd.
find_path(LibMd_INCLUDE_DIR sha256.h)
find_library(LibMd_LIBRARY md)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(LibMd REQUIRED_VARS LibMd_LIBRARY LibMd_INCLUDE_DIR)
mark_as_advanced(LibMd_INCLUDE_DIR LibMd_LIBRARY)

if(LibMd_FOUND AND NOT TARGET LibMd::LibMd)
  add_library(LibMd::LibMd UNKNOWN IMPORTED)
  set_target_properties(LibMd::LibMd PROPERTIES
    IMPORTED_LOCATION "${LibMd_LIBRARY}" INTERFACE_INCLUDE_DIRECTORIES "${LibMd_INCLUDE_DIR}")
endif()
