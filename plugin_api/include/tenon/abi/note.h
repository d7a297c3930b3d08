/* ELF note: read by the host before the library is opened. Place TENON_PLUGIN_NOTE once, at file scope:
 *
 *   TENON_PLUGIN_NOTE("com.vendor.npu", "2.3.0", TENON_KIND_DEVICE | TENON_KIND_OP, 0, 0);
 */
#ifndef TENON_ABI_NOTE_H
#define TENON_ABI_NOTE_H

#include <stdint.h>

#include "tenon/abi/plugin.h"

#define TENON_NOTE_NAME "Tenon"
#define TENON_NOTE_TYPE 1u
#define TENON_NOTE_MAGIC 0x4F4E4E54u /* "TNNO" */

/* Flags of the note. */
enum tenon_note_flag {
  TENON_NOTE_OPENMP = 1,     /* brings an OpenMP runtime */
  TENON_NOTE_STATIC_TLS = 2, /* needs static thread-local storage */
  TENON_NOTE_DRIVER = 4      /* useful only with a vendor driver installed */
};

/* CPU features that the whole library needs (kernels that test at run time need none). Bits of cpu_features. */
enum tenon_cpu_feature {
  TENON_CPU_SSE42 = 1,
  TENON_CPU_AVX = 2,
  TENON_CPU_F16C = 4,
  TENON_CPU_FMA = 8,
  TENON_CPU_AVX2 = 16,
  TENON_CPU_AVX512F = 32,
  TENON_CPU_AVX512BW = 64,
  TENON_CPU_AVX512VL = 128,
  TENON_CPU_AVX512DQ = 256,
  TENON_CPU_AVX512_VNNI = 512,
  TENON_CPU_AVX512_BF16 = 1024,
  TENON_CPU_AMX_TILE = 2048,
  TENON_CPU_AMX_BF16 = 4096,
  TENON_CPU_NEON = 0x10000,
  TENON_CPU_SVE = 0x20000
};

/* Descriptor of the note as it lies in the file, little-endian. Frozen, 160 bytes. 64-bit numbers are two words, low
 * one first, because a note is only 4-byte aligned. */
typedef struct tenon_note {
  uint32_t magic;
  uint32_t size;
  uint16_t abi_major;
  uint16_t abi_minor;
  uint16_t oldest_host_minor;
  uint16_t abi_draft;
  uint32_t kinds[2];
  uint32_t flags[2];
  uint32_t cpu_features[2];
  uint32_t sanitizer;
  uint8_t header_hash[20];
  char plugin_id[64];      /* NUL-terminated */
  char plugin_version[32]; /* NUL-terminated */
} tenon_note;

/* The note with its ELF header. Frozen, 180 bytes. */
typedef struct tenon_note_record {
  uint32_t name_size;
  uint32_t desc_size;
  uint32_t type;
  char name[8];
  tenon_note desc;
} tenon_note_record;

#define TENON_NOTE_WORDS(mask) \
  { ((mask) + UINT64_C(0)) & 0xFFFFFFFFu, ((mask) + UINT64_C(0)) >> 32 }

/* plugin_id: at most 63 characters; plugin_version: at most 31; kinds: tenon_kind; flags: tenon_note_flag;
 * cpu_features: tenon_cpu_feature. */
#define TENON_PLUGIN_NOTE(plugin_id, plugin_version, kinds, flags, cpu_features)                    \
  static const tenon_note_record tenon_plugin_note                                                  \
      __attribute__((section(".note.tenon"), used, aligned(4))) = {6,                               \
                                                                   sizeof(tenon_note),              \
                                                                   TENON_NOTE_TYPE,                 \
                                                                   TENON_NOTE_NAME,                 \
                                                                   {TENON_NOTE_MAGIC,               \
                                                                    sizeof(tenon_note),             \
                                                                    TENON_ABI_MAJOR,                \
                                                                    TENON_TARGET_MINOR,             \
                                                                    TENON_REQUIRED_HOST_MINOR,      \
                                                                    TENON_ABI_DRAFT,                \
                                                                    TENON_NOTE_WORDS(kinds),        \
                                                                    TENON_NOTE_WORDS(flags),        \
                                                                    TENON_NOTE_WORDS(cpu_features), \
                                                                    TENON_BUILD_SANITIZER,          \
                                                                    {TENON_ABI_HEADER_HASH_BYTES},  \
                                                                    plugin_id,                      \
                                                                    plugin_version}}
#endif
