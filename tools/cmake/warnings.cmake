# tenon_warnings(<target>)
#
#   tenon_warnings(tenon_core_graph)
#
# The warning set of this repository on one target; errors when TENON_WERROR is on (presets dev, ci, asan, tsan, ubsan).
function(tenon_warnings target)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wshadow -Wconversion)
  if(TENON_WERROR)
    target_compile_options(${target} PRIVATE -Werror)
  endif()
endfunction()
