# tenon_test(<path below tests/> [SOURCES <file>...] [DEPS <core folder>...] [LIBS <library>...] [LABELS <label>...]
#            [DATA <target>...] [TIMEOUT <seconds>] [NO_MAIN])
#
#   tenon_test(unit/graph/verifier_test.cc  DEPS graph)
#
# One GoogleTest program and one ctest entry, named by the path without its ending and labelled by the first folder
# of the path (unit, ops, passes, errors, e2e ...) and by LABELS. SOURCES are further files, relative to tests/.
# DATA are targets (plugins, programs) that must be built before the test runs. NO_MAIN: the file has its own main().
# The test runs in the root of the repository with TENON_SOURCE_DIR and TENON_BUILD_DIR in its environment, and
# with TENON_SOURCE_DIR as a string macro.
# A program in which every test skips itself (GTEST_SKIP) is shown as skipped.
function(tenon_test path)
  cmake_parse_arguments(PARSE_ARGV 1 arg "NO_MAIN" "TIMEOUT" "SOURCES;DEPS;LIBS;LABELS;DATA")
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "tenon_test(${path}): unknown arguments: ${arg_UNPARSED_ARGUMENTS}")
  endif()
  if(NOT TENON_BUILD_TESTS)
    return()
  endif()
  string(REGEX REPLACE "\\.[a-z]+$" "" name "${path}")
  string(REGEX REPLACE "/.*$" "" label "${path}")
  string(REPLACE "/" "_" target "${name}")

  set(files "${CMAKE_SOURCE_DIR}/tests/${path}")
  foreach(file IN LISTS arg_SOURCES)
    list(APPEND files "${CMAKE_SOURCE_DIR}/tests/${file}")
  endforeach()
  foreach(file IN LISTS files)
    if(NOT EXISTS "${file}")
      message(FATAL_ERROR "tenon_test(${path}): ${file} does not exist, the test is left out")
      return()
    endif()
  endforeach()
  add_executable(${target} ${files})
  tenon_defaults(${target})
  target_compile_definitions(${target} PRIVATE TENON_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
  tenon_link(${target} PRIVATE DEPS ${arg_DEPS} LIBS ${arg_LIBS} GTest::gtest)
  if(NOT arg_NO_MAIN)
    target_link_libraries(${target} PRIVATE tenon_test_main)
  endif()
  set_target_properties(${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/tests")
  if(arg_DATA)
    add_dependencies(${target} ${arg_DATA})
  endif()
  add_test(NAME ${name} COMMAND ${target} WORKING_DIRECTORY "${CMAKE_SOURCE_DIR}")
  tenon_test_properties(${name} "${label};${arg_LABELS}" "${arg_TIMEOUT}")
  set_tests_properties(${name} PROPERTIES SKIP_RETURN_CODE 77)
endfunction()

# tenon_script_test(<name> COMMAND <program> <argument>... [LABELS <label>...] [TIMEOUT <seconds>] [ENVIRONMENT <k=v>...])
#
#   tenon_script_test(e2e/resume  COMMAND bash ${CMAKE_CURRENT_SOURCE_DIR}/resume.sh $<TARGET_FILE:tenon>)
#
# A ctest entry that runs a script or a program, labelled by the first part of the name and by LABELS. Exit code 77
# means skipped; the script says why.
function(tenon_script_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "TIMEOUT" "COMMAND;LABELS;ENVIRONMENT")
  if(NOT TENON_BUILD_TESTS)
    return()
  endif()
  string(REGEX REPLACE "/.*$" "" label "${name}")
  add_test(NAME ${name} COMMAND ${TENON_TEST_LAUNCHER} ${arg_COMMAND} WORKING_DIRECTORY "${CMAKE_SOURCE_DIR}")
  tenon_test_properties(${name} "${label};${arg_LABELS}" "${arg_TIMEOUT}")
  set_tests_properties(${name} PROPERTIES SKIP_RETURN_CODE 77)
  if(arg_ENVIRONMENT)
    set_property(TEST ${name} APPEND PROPERTY ENVIRONMENT ${arg_ENVIRONMENT})
  endif()
endfunction()

# tenon_test_properties(<name> <labels> <timeout or empty>)
#
# Labels, time limit (longer under a sanitizer) and environment of one ctest entry.
function(tenon_test_properties name labels timeout)
  list(REMOVE_ITEM labels "")
  list(REMOVE_DUPLICATES labels)
  if(NOT timeout)
    set(timeout 120)
  endif()
  if(TENON_SANITIZE)
    math(EXPR timeout "${timeout} * 5")
  endif()
  set_tests_properties(${name} PROPERTIES
    LABELS "${labels}" TIMEOUT ${timeout} ENVIRONMENT "${TENON_TEST_ENVIRONMENT}")
endfunction()
