# TENON_SANITIZE covers everything in the build, plugins and test fixtures too: a plugin built with a sanitizer
# opens only in a host built with the same one.
#
# Sets for the test helpers:
#   TENON_TEST_LAUNCHER      command put before every test: setarch -R, because ThreadSanitizer (and now and then
#                            AddressSanitizer) fails at start where the kernel randomises addresses with more bits
#   TENON_TEST_ENVIRONMENT   environment of every test
set(TENON_TEST_LAUNCHER "")
set(TENON_TEST_ENVIRONMENT "TENON_SOURCE_DIR=${CMAKE_SOURCE_DIR}" "TENON_BUILD_DIR=${CMAKE_BINARY_DIR}")

if(TENON_SANITIZE)
  set(tenon_sanitizer_flags "-fsanitize=${TENON_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer")
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # Instrumented code hides from g++ that a variable was set.
    string(APPEND tenon_sanitizer_flags " -Wno-maybe-uninitialized")
  endif()
  string(APPEND CMAKE_C_FLAGS " ${tenon_sanitizer_flags}")
  string(APPEND CMAKE_CXX_FLAGS " ${tenon_sanitizer_flags}")

  find_program(TENON_SETARCH setarch)
  mark_as_advanced(TENON_SETARCH)
  if(TENON_SETARCH)
    set(TENON_TEST_LAUNCHER "${TENON_SETARCH};-R")
    set(CMAKE_CROSSCOMPILING_EMULATOR "${TENON_TEST_LAUNCHER}")
  endif()
  list(APPEND TENON_TEST_ENVIRONMENT "TENON_SANITIZE=${TENON_SANITIZE}")

  # Tests ask for more memory than there is and expect an error, as without a sanitizer. The leak checker of g++ 12 reads
  # thread-local storage of libraries that were opened at run time from addresses that it notes itself, and dies of a wrong
  # one; without the note it finds that storage by asking the C library.
  if(TENON_SANITIZE MATCHES "address")
    list(APPEND TENON_TEST_ENVIRONMENT "ASAN_OPTIONS=allocator_may_return_null=1:intercept_tls_get_addr=0")
  endif()
  if(TENON_SANITIZE MATCHES "thread")
    # OpenMP code in a vendor library: libomp with its archer tool tells ThreadSanitizer about the barriers.
    find_file(TENON_LIBOMP libomp.so.5 PATHS /usr/lib/llvm-14/lib /usr/lib/llvm-15/lib /usr/lib/llvm-16/lib
              /usr/lib/x86_64-linux-gnu)
    find_file(TENON_ARCHER libarcher.so PATHS /usr/lib/llvm-14/lib /usr/lib/llvm-15/lib /usr/lib/llvm-16/lib
              /usr/lib/x86_64-linux-gnu)
    mark_as_advanced(TENON_LIBOMP TENON_ARCHER)
    list(APPEND TENON_TEST_ENVIRONMENT "TSAN_OPTIONS=ignore_noninstrumented_modules=1:allocator_may_return_null=1:suppressions=${CMAKE_SOURCE_DIR}/tools/cmake/tsan.supp")
    if(TENON_LIBOMP AND TENON_ARCHER)
      list(APPEND TENON_TEST_ENVIRONMENT "LD_PRELOAD=${TENON_LIBOMP}" "OMP_TOOL_LIBRARIES=${TENON_ARCHER}")
    else()
      message(STATUS "tsan: libomp or libarcher not found (package libomp-dev); OpenMP code in libraries may report falsely")
    endif()
  endif()
endif()
