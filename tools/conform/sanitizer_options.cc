// What the kit asks of AddressSanitizer when it is built with it: an allocation that is too large fails, as it does without,
// because cases try what a plugin makes of that.
extern "C" const char* __asan_default_options() { return "allocator_may_return_null=1"; }
