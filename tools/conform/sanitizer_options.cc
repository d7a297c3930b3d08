// What the kit asks of AddressSanitizer when it is built with it: an allocation that is too large fails, as it does without,
// because cases try what a plugin makes of that. The sanitizer's library looks the function up by name.
extern "C" __attribute__((visibility("default"))) const char* __asan_default_options();
extern "C" const char* __asan_default_options() { return "allocator_may_return_null=1"; }
