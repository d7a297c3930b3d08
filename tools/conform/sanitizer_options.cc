// What the kit asks of the sanitizers when it is built with one. Their libraries look the functions up by name.
#define TENON_SANITIZER_ANSWER(function, text)                              \
  extern "C" __attribute__((visibility("default"))) const char* function(); \
  extern "C" const char* function() { return text; }

// An allocation that is too large fails, as it does without, because cases try what a plugin makes of that. A touch of a
// guarded page ends the process by its signal, as it does without, because the report names signal and kernel.
TENON_SANITIZER_ANSWER(__asan_default_options, "allocator_may_return_null=1:handle_segv=0")
// A case that is skipped ends where it stands, with its device open; threads that a plugin leaves are counted by a case of its own.
TENON_SANITIZER_ANSWER(__tsan_default_options, "allocator_may_return_null=1:handle_segv=0:report_thread_leaks=0")

// The text of the file with the reasons, placed here by the assembler.
extern "C" const char tenon_tsan_suppressions[];
asm(".section .rodata\n"
    ".global tenon_tsan_suppressions\n"
    "tenon_tsan_suppressions:\n"
    ".incbin \"" TENON_TSAN_SUPPRESSIONS
    "\"\n"
    ".byte 0\n"
    ".previous\n");
TENON_SANITIZER_ANSWER(__tsan_default_suppressions, tenon_tsan_suppressions)
