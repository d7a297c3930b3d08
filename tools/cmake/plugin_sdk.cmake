# The vendor package: `cmake --install <build> --component plugin_sdk --prefix <folder>` makes one folder with all that a
# plugin author needs, and nothing else of Tenon. It is no part of an ordinary installation.
set(sdk COMPONENT plugin_sdk EXCLUDE_FROM_ALL)

install(DIRECTORY plugin_api/ DESTINATION . ${sdk} PATTERN "__pycache__" EXCLUDE)
install(DIRECTORY tests/fixtures/device_null/ DESTINATION skeleton ${sdk})
install(FILES docs/howto/write-a-device-plugin.md DESTINATION docs/howto ${sdk})
install(FILES docs/reference/abi.md docs/reference/versioning.md docs/reference/plugin_messages.md
        DESTINATION docs/reference ${sdk})
if(EXISTS "${CMAKE_SOURCE_DIR}/docs/reference/conformance.md")
  install(FILES docs/reference/conformance.md DESTINATION docs/reference ${sdk})
endif()
install(FILES LICENSE DESTINATION . ${sdk})
if(TARGET tenon-conform)
  install(PROGRAMS $<TARGET_FILE:tenon-conform> DESTINATION bin ${sdk})
endif()

# Found through CMAKE_PREFIX_PATH as well as through TenonPluginApi_DIR=<folder>/cmake.
foreach(file IN ITEMS TenonPluginApiConfig.cmake TenonPluginApiConfigVersion.cmake)
  file(WRITE "${CMAKE_BINARY_DIR}/plugin_sdk/${file}" "include(\"\${CMAKE_CURRENT_LIST_DIR}/../../../cmake/${file}\")\n")
  install(FILES "${CMAKE_BINARY_DIR}/plugin_sdk/${file}" DESTINATION lib/cmake/TenonPluginApi ${sdk})
endforeach()
