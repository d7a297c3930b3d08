// What the kit asks of the sanitizers when it is built with one: an allocation that is too large fails, as it does without,
// because cases try what a plugin makes of that. Their libraries look the functions up by name.
#define TENON_SANITIZER_OPTIONS(function)                                   \
  extern "C" __attribute__((visibility("default"))) const char* function(); \
  extern "C" const char* function() { return "allocator_may_return_null=1"; }

TENON_SANITIZER_OPTIONS(__asan_default_options)
TENON_SANITIZER_OPTIONS(__tsan_default_options)
