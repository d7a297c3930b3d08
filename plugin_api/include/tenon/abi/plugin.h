/* Entry point, descriptor and interface records. One exported symbol per library: tenon_plugin_query_v1. */
#ifndef TENON_ABI_PLUGIN_H
#define TENON_ABI_PLUGIN_H

#include "tenon/abi/host.h"
#include "tenon/abi/types.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TENON_DESCRIPTOR_MAGIC 0x4E4E5444u /* "DTNN" */
#define TENON_ENTRY_SYMBOL "tenon_plugin_query_v1"

/* Interface ids. Vendors add their own under a reverse-DNS prefix. */
#define TENON_INTERFACE_DEVICE "tenon.device"
#define TENON_INTERFACE_MEMORY "tenon.memory"
#define TENON_INTERFACE_STREAM "tenon.stream"
#define TENON_INTERFACE_OP "tenon.op"
#define TENON_INTERFACE_SUBGRAPH "tenon.subgraph"
#define TENON_INTERFACE_COLLECTIVE "tenon.collective"
#define TENON_INTERFACE_PROFILER "tenon.profiler"

/* Kind mask of the descriptor and the ELF note: one bit per interface. */
enum tenon_kind {
  TENON_KIND_DEVICE = 1, /* device, memory and stream come together */
  TENON_KIND_OP = 2,
  TENON_KIND_SUBGRAPH = 4,
  TENON_KIND_COLLECTIVE = 8,
  TENON_KIND_PROFILER = 16,
  TENON_KIND_VENDOR = 0x8000 /* vendor interfaces only */
};

/* What the host tells before anything is created. */
typedef struct tenon_host_info {
  uint32_t struct_size;
  uint32_t flags; /* reserved, 0 */
  uint32_t abi_major;
  uint32_t abi_minor;
  uint32_t oldest_plugin_minor; /* plugins built against an older minor are refused */
  uint32_t abi_draft;
  tenon_str host_version; /* for messages; may be empty */
  uint64_t features;      /* optional: reserved, 0 */
} tenon_host_info;

/* One interface of the plugin. */
typedef struct tenon_interface {
  uint32_t struct_size;
  uint32_t abi_minor; /* minor that the vtable was compiled at; vendor interfaces: their own version */
  tenon_str id;
  const void* vtable; /* starts with uint32_t struct_size */
  uint64_t flags;     /* optional: reserved, 0 */
} tenon_interface;

enum tenon_sanitizer_kind {
  TENON_SANITIZER_NONE = 0,
  TENON_SANITIZER_ADDRESS = 1,
  TENON_SANITIZER_THREAD = 2,
  TENON_SANITIZER_MEMORY = 3
};

/* What is needed to create an instance. */
typedef struct tenon_create_args {
  uint32_t struct_size;
  uint32_t thread_budget;     /* compute threads that the plugin may keep busy at once; at least 1 */
  const tenon_host_api* host; /* never freed */
  tenon_str instance_name;    /* for messages */
  tenon_str plugin_path;      /* optional: file that was opened */
} tenon_create_args;

/* Constant data; valid as long as the library is mapped. The fields up to vendor never move and never change. */
typedef struct tenon_plugin_descriptor {
  uint32_t struct_size;
  uint32_t magic; /* TENON_DESCRIPTOR_MAGIC */
  uint16_t abi_major;
  uint16_t abi_minor;         /* minor that the plugin was built for */
  uint16_t oldest_host_minor; /* the plugin cannot live with an older host */
  uint16_t abi_draft;
  tenon_str plugin_id;      /* reverse DNS, equal to the note's */
  tenon_str plugin_version; /* SemVer */
  tenon_str vendor;
  tenon_str licence;    /* SPDX expression */
  uint64_t kinds;       /* tenon_kind mask */
  uint32_t sanitizer;   /* tenon_sanitizer_kind */
  uint32_t debug_build; /* 0 release, 1 debug */
  tenon_str compiler;
  tenon_str c_library_floor; /* oldest C library that works, for messages; may be empty */
  const tenon_interface* interfaces;
  uint32_t interface_count;
  uint32_t interface_stride;
  /* Creates one instance: reads options, sizes pools, touches no device that it was not asked to open. Several
   * instances may live at once.
   * @since 1.0 @threads T1 @blocks host @async no
   * @own args and what they point to are borrowed for the call, except host, which lives for ever; *out owned by the
   * host until destroy
   * @null args, host and out are never NULL @errors INVALID_ARGUMENT ABI_MISMATCH UNAVAILABLE RESOURCE_EXHAUSTED
   * @reentrant no @capture no @shutdown no @fork never @fallback required @idempotent no */
  int32_t (*create)(const tenon_create_args* args, tenon_plugin** out, tenon_error* error);
  /* Frees an instance. All devices, streams, kernels and communicators were destroyed before; all threads of the
   * plugin are joined when it returns.
   * @since 1.0 @threads T1 @blocks host @async no @own plugin is consumed @null NULL does nothing @errors none
   * @reentrant no @capture no @shutdown yes @fork never @fallback required @idempotent no */
  void (*destroy)(tenon_plugin* plugin);
  /* Looks up an experimental function "name@since"; a name may vanish in any release.
   * @since 1.0 @threads T3 @blocks never @async no @own name borrowed for the call @null never NULL
   * @errors none: NULL means not there @reentrant yes @capture no @shutdown yes @fork never
   * @fallback no experimental functions @idempotent yes */
  tenon_function (*get_experimental)(tenon_str name);
} tenon_plugin_descriptor;

/* Version fields that the compiler fills in, not a person. First members of the initialiser of a descriptor. */
#define TENON_PLUGIN_DESCRIPTOR_HEAD                                                            \
  sizeof(tenon_plugin_descriptor), TENON_DESCRIPTOR_MAGIC, TENON_ABI_MAJOR, TENON_TARGET_MINOR, \
      TENON_REQUIRED_HOST_MINOR, TENON_ABI_DRAFT
/* Element of the interfaces array; id is a string literal. */
#ifdef __cplusplus
}
#if __cplusplus >= 201402L
constexpr
#else
inline
#endif
    tenon_interface
    tenon_abi_interface(tenon_str id, const void* vtable) {
  tenon_interface record = TENON_INIT(tenon_interface);
  record.abi_minor = TENON_TARGET_MINOR;
  record.id = id;
  record.vtable = vtable;
  return record;
}
extern "C" {
#define TENON_INTERFACE_RECORD(id, vtable_pointer) tenon_abi_interface(TENON_STR(id), (vtable_pointer))
#else
#define TENON_INTERFACE_RECORD(interface_id, vtable_pointer)                                                \
  {                                                                                                         \
    .struct_size = sizeof(tenon_interface), .abi_minor = TENON_TARGET_MINOR, .id = TENON_STR(interface_id), \
    .vtable = (vtable_pointer)                                                                              \
  }
#endif

#if defined(__SANITIZE_ADDRESS__)
#define TENON_BUILD_SANITIZER 1
#elif defined(__SANITIZE_THREAD__)
#define TENON_BUILD_SANITIZER 2
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define TENON_BUILD_SANITIZER 1
#elif __has_feature(thread_sanitizer)
#define TENON_BUILD_SANITIZER 2
#elif __has_feature(memory_sanitizer)
#define TENON_BUILD_SANITIZER 3
#endif
#endif
#ifndef TENON_BUILD_SANITIZER
#define TENON_BUILD_SANITIZER 0
#endif

#if defined(__GNUC__)
#define TENON_EXPORT __attribute__((visibility("default")))
#else
#define TENON_EXPORT
#endif

/* Type of tenon_plugin_query_v1. Pure: no allocation, threads, files or devices; the same pointer each time. NULL
 * when the plugin cannot live with the host's major.
 * @since 1.0 @threads T3 @blocks never @async no
 * @own host borrowed for the call; result constant, valid while mapped
 * @null host may be NULL: then the newest descriptor is returned @errors none: NULL means refused @reentrant yes
 * @capture no @shutdown yes @fork allowed @fallback required @idempotent yes */
typedef const tenon_plugin_descriptor* (*tenon_plugin_query_fn)(const tenon_host_info* host);

/* The one exported symbol; defined by the plugin, never by the host. */
TENON_EXPORT const tenon_plugin_descriptor* tenon_plugin_query_v1(const tenon_host_info* host);

#ifdef __cplusplus
}
#endif
#endif
