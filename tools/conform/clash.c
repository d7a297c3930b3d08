/* Functions with the names of libraries that plugins often carry inside. Nobody may call them; they count who does. */
int tenon_clash_calls;

#define CLASH(name)      \
  int name(void);        \
  int name(void) {       \
    ++tenon_clash_calls; \
    return 0;            \
  }

CLASH(deflate)
CLASH(inflate)
CLASH(compress2)
CLASH(adler32)
CLASH(GOMP_parallel)
CLASH(GOMP_barrier)
CLASH(omp_get_max_threads)
CLASH(omp_get_thread_num)
CLASH(__kmpc_fork_call)
CLASH(_ZN6google8protobuf13MessageLiteD1Ev)
CLASH(_ZN6google8protobuf13MessageLiteD0Ev)
CLASH(_ZN6google8protobuf8internal14VerifyVersionEiiPKc)
CLASH(cblas_sgemm)
CLASH(tenon_plugin_query)
