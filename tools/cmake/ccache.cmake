# Uses ccache when it is installed and nothing else was asked for. It is what makes a second build quick.
if(NOT DEFINED CMAKE_CXX_COMPILER_LAUNCHER)
  find_program(TENON_CCACHE ccache)
  mark_as_advanced(TENON_CCACHE)
  if(TENON_CCACHE)
    set(CMAKE_C_COMPILER_LAUNCHER "${TENON_CCACHE}")
    set(CMAKE_CXX_COMPILER_LAUNCHER "${TENON_CCACHE}")
  endif()
endif()
