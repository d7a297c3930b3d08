// oneDNN, opened when the first kernel of it is asked for: a process that plans none pays nothing for it.
#pragma once

#include <oneapi/dnnl/dnnl.h>

#include <string>
#include <string_view>

namespace tenon::cpu::onednn {

// Memory descriptors as functions of the library take them: structs in version 2, handles in version 3.
#if DNNL_VERSION_MAJOR >= 3
using DescArg = const_dnnl_memory_desc_t;
#else
using DescArg = const dnnl_memory_desc_t*;
#endif

// The functions that the plugin calls. Those that only one major version has are in descriptors.cc.
#define TENON_ONEDNN_COMMON(X)               \
  X(dnnl_version)                            \
  X(dnnl_set_max_cpu_isa)                    \
  X(dnnl_engine_create)                      \
  X(dnnl_stream_create)                      \
  X(dnnl_stream_destroy)                     \
  X(dnnl_memory_create)                      \
  X(dnnl_memory_destroy)                     \
  X(dnnl_memory_desc_equal)                  \
  X(dnnl_memory_desc_get_size)               \
  X(dnnl_primitive_attr_create)              \
  X(dnnl_primitive_attr_destroy)             \
  X(dnnl_primitive_attr_set_scratchpad_mode) \
  X(dnnl_primitive_desc_query)               \
  X(dnnl_primitive_desc_query_md)            \
  X(dnnl_primitive_desc_destroy)             \
  X(dnnl_primitive_create)                   \
  X(dnnl_primitive_destroy)                  \
  X(dnnl_primitive_execute)                  \
  X(dnnl_reorder_primitive_desc_create)
#if DNNL_VERSION_MAJOR >= 3
#define TENON_ONEDNN_VERSIONED(X)                         \
  X(dnnl_memory_desc_create_with_strides)                 \
  X(dnnl_memory_desc_create_with_tag)                     \
  X(dnnl_memory_desc_destroy)                             \
  X(dnnl_primitive_desc_next_impl)                        \
  X(dnnl_convolution_forward_primitive_desc_create)       \
  X(dnnl_convolution_backward_data_primitive_desc_create) \
  X(dnnl_convolution_backward_weights_primitive_desc_create)
#else
#define TENON_ONEDNN_VERSIONED(X)                     \
  X(dnnl_memory_desc_init_by_strides)                 \
  X(dnnl_memory_desc_init_by_tag)                     \
  X(dnnl_primitive_desc_iterator_create)              \
  X(dnnl_primitive_desc_iterator_fetch)               \
  X(dnnl_primitive_desc_iterator_next)                \
  X(dnnl_primitive_desc_iterator_destroy)             \
  X(dnnl_dilated_convolution_forward_desc_init)       \
  X(dnnl_dilated_convolution_backward_data_desc_init) \
  X(dnnl_dilated_convolution_backward_weights_desc_init)
#endif

struct Functions {
#define TENON_ONEDNN_MEMBER(name) decltype(&::name) name = nullptr;
  TENON_ONEDNN_COMMON(TENON_ONEDNN_MEMBER)
  TENON_ONEDNN_VERSIONED(TENON_ONEDNN_MEMBER)
#undef TENON_ONEDNN_MEMBER
  // Of the OpenMP runtime that the library was built with.
  void (*omp_set_num_threads)(int) = nullptr;
  int (*omp_get_max_threads)() = nullptr;
};

// The opened library with its engine; lives until the process ends. Any thread.
class Library {
 public:
  // The first call opens it and limits it to instruction set `isa` ("sse2", "avx2", "avx512"); later ones get the same.
  static const Library& Get(std::string_view isa);

  // Why it cannot be used; empty when it can.
  const std::string& problem() const { return problem_; }
  const Functions& functions() const { return functions_; }
  dnnl_engine_t engine() const { return engine_; }

 private:
  explicit Library(std::string_view isa);
  bool Open();
  Functions functions_;
  dnnl_engine_t engine_ = nullptr;
  std::string problem_;
};

// Throws Failure that names the function and the library's code, unless `status` is success.
void Check(dnnl_status_t status, const char* what);

// While it lives, parallel regions that this thread opens have `threads` members.
class ThreadScope {
 public:
  ThreadScope(const Functions& functions, int threads)
      : functions_(functions), before_(functions.omp_get_max_threads()) {
    functions_.omp_set_num_threads(threads);
  }
  ~ThreadScope() { functions_.omp_set_num_threads(before_); }
  ThreadScope(const ThreadScope&) = delete;
  ThreadScope& operator=(const ThreadScope&) = delete;

 private:
  const Functions& functions_;
  int before_;
};

}  // namespace tenon::cpu::onednn
