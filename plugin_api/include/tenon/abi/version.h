/* Version of the plugin ABI. Rules of evolution: plugin_api/abi/CHANGELOG.md. */
#ifndef TENON_ABI_VERSION_H
#define TENON_ABI_VERSION_H

/* The major version is part of the entry symbol (tenon_plugin_query_v1) and changes only together with it. */
#define TENON_ABI_MAJOR 1
/* Newest minor that these headers declare. */
#define TENON_ABI_MINOR 0
/* 1 until the first freeze: a draft host loads only plugins that were built with identical headers (TN-PLG-013). */
#define TENON_ABI_DRAFT 1
/* Oldest plugin minor that a host built with these headers still accepts. */
#define TENON_ABI_MINOR_FLOOR 0

/* Minor that this translation unit is written for. Declarations newer than it are hidden, so that a plugin cannot
 * need a newer host by accident. Define it before the first include to choose an older one. */
#ifndef TENON_TARGET_MINOR
#define TENON_TARGET_MINOR TENON_ABI_MINOR
#endif

/* Oldest host minor that the plugin can work with. Define it before the first include when it is not 0. */
#ifndef TENON_REQUIRED_HOST_MINOR
#define TENON_REQUIRED_HOST_MINOR 0
#endif

#if TENON_TARGET_MINOR > TENON_ABI_MINOR
#error "TENON_TARGET_MINOR is newer than these headers; use newer headers or lower the target."
#endif

/* SHA-1 over the other ABI headers in name order; plugin_api/abi/update.py rewrites the next two lines. */
#define TENON_ABI_HEADER_HASH_HEX "a6f1e35c28e8e1a410443960e12aaa4e142e95cc"
#define TENON_ABI_HEADER_HASH_BYTES \
  0xa6, 0xf1, 0xe3, 0x5c, 0x28, 0xe8, 0xe1, 0xa4, 0x10, 0x44, 0x39, 0x60, 0xe1, 0x2a, 0xaa, 0x4e, 0x14, 0x2e, 0x95, 0xcc
#endif
