/* Status codes: the int32_t result of every fallible call. Values never change. */
#ifndef TENON_ABI_STATUS_H
#define TENON_ABI_STATUS_H

/* Frozen. A receiver treats an unknown code as TENON_UNKNOWN. */
enum tenon_status_code {
  TENON_OK = 0,
  TENON_CANCELLED = 1,
  TENON_UNKNOWN = 2,
  TENON_INVALID_ARGUMENT = 3,
  TENON_DEADLINE_EXCEEDED = 4,
  TENON_NOT_FOUND = 5,
  TENON_ALREADY_EXISTS = 6,
  TENON_PERMISSION_DENIED = 7,
  TENON_RESOURCE_EXHAUSTED = 8,
  TENON_FAILED_PRECONDITION = 9,
  TENON_ABORTED = 10,
  TENON_OUT_OF_RANGE = 11,
  TENON_UNIMPLEMENTED = 12,
  TENON_INTERNAL = 13,
  TENON_UNAVAILABLE = 14,
  TENON_DATA_LOSS = 15,
  TENON_UNAUTHENTICATED = 16,
  TENON_DEVICE_LOST = 32,  /* sticky per device until it is opened again */
  TENON_WOULD_BLOCK = 33,  /* not finished yet; ask again */
  TENON_ABI_MISMATCH = 34, /* the two sides cannot work together; the text says why */
  TENON_PENDING = 35       /* execute only: the completion token follows */
};
#endif
