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
#define TENON_ABI_HEADER_HASH_HEX "567b53ed8fc09dbdaff5604e95086db76fe0a247"
#define TENON_ABI_HEADER_HASH_BYTES \
  0x56, 0x7b, 0x53, 0xed, 0x8f, 0xc0, 0x9d, 0xbd, 0xaf, 0xf5, 0x60, 0x4e, 0x95, 0x08, 0x6d, 0xb7, 0x6f, 0xe0, 0xa2, 0x47
#endif
