/* Types shared by all interfaces: text and dim records, dtypes, tensor views, the error sink, attributes, handles.
 *
 * Conventions of the whole ABI:
 *  - A growable struct starts with uint32_t struct_size. The caller of a function sets it (TENON_INIT); a reader uses
 *    a field only when struct_size covers it. Out-structs: the caller sets struct_size to its capacity, the callee
 *    writes at most that many bytes and stores back what it wrote.
 *  - An array of growable structs comes as pointer, count and stride in bytes.
 *  - Structs marked "frozen" never grow. Enumerations travel as uint32_t; 0 means unset.
 *  - A fallible function returns a code of status.h; its last parameter is the error sink, which may be NULL.
 *  - Text is UTF-8 in a tenon_str; {NULL, 0} is the empty text. */
#ifndef TENON_ABI_TYPES_H
#define TENON_ABI_TYPES_H

#include <stddef.h>
#include <stdint.h>

#include "tenon/abi/status.h"
#include "tenon/abi/version.h"

#ifdef __cplusplus
extern "C" {
#endif

/* 64-bit platforms only. */
typedef char tenon_assert_pointer_is_64_bit[sizeof(void*) == 8 ? 1 : -1];

/* ---- handles; each side sees only its own insides ---- */
/* Owned by the plugin. */
typedef struct tenon_plugin tenon_plugin;         /* one instance, made by create */
typedef struct tenon_device tenon_device;         /* an opened device */
typedef struct tenon_space tenon_space;           /* a memory space of a device */
typedef struct tenon_buffer tenon_buffer;         /* one allocation */
typedef struct tenon_stream tenon_stream;         /* an in-order queue */
typedef struct tenon_event tenon_event;           /* a point in a queue */
typedef struct tenon_capture tenon_capture;       /* recorded work that can be replayed */
typedef struct tenon_kernel tenon_kernel;         /* a kernel instance */
typedef struct tenon_executable tenon_executable; /* a compiled subgraph */
typedef struct tenon_comm tenon_comm;             /* one rank of a communicator */
typedef struct tenon_comm_group tenon_comm_group; /* collectives issued together */
typedef struct tenon_comm_buffer tenon_comm_buffer;
typedef struct tenon_profiler_session tenon_profiler_session;
/* Owned by the host. */
typedef struct tenon_host tenon_host;   /* identity of one plugin instance towards the host services */
typedef struct tenon_error tenon_error; /* error sink, valid only during the call */
typedef struct tenon_token tenon_token; /* completion token: completed exactly once, then invalid */
typedef struct tenon_cancel tenon_cancel;
typedef struct tenon_store tenon_store;               /* key-value store shared by all ranks */
typedef struct tenon_infer tenon_infer;               /* one run of shape inference */
typedef struct tenon_grad tenon_grad;                 /* one gradient under construction */
typedef struct tenon_graph tenon_graph;               /* read-only graph, valid only inside the call */
typedef struct tenon_output_alloc tenon_output_alloc; /* of one kernel call: see host.h alloc_output */

/* ---- initialisation ---- */
/* TENON_INIT(type): zero-filled struct with struct_size set, as an initialiser:
 *   tenon_copy c = TENON_INIT(tenon_copy); */
#ifdef __cplusplus
}
template <typename T>
#if __cplusplus >= 201402L
constexpr
#else
inline
#endif
    T
    tenon_abi_init() {
  T value = T();
  value.struct_size = static_cast<uint32_t>(sizeof(T));
  return value;
}
extern "C" {
#define TENON_INIT(type) tenon_abi_init<type>()
#else
#define TENON_INIT(type) \
  { .struct_size = (uint32_t)sizeof(type) }
#endif

/* True when a struct received from the other side is large enough to hold the field. */
#define TENON_HAS_FIELD(pointer, type, field) \
  ((pointer)->struct_size >= offsetof(type, field) + sizeof((pointer)->field))
/* True when a vtable received from the other side offers the slot. */
#define TENON_HAS_SLOT(pointer, type, slot) (TENON_HAS_FIELD(pointer, type, slot) && (pointer)->slot != NULL)

/* ---- frozen records ---- */
/* Text: UTF-8, not necessarily NUL-terminated; static names are. Frozen, 16 bytes. */
typedef struct tenon_str {
  const char* data;
  uint64_t size;
} tenon_str;
/* Initialiser from a string literal. */
#define TENON_STR(literal) \
  { (literal), sizeof(literal) - 1 }

enum tenon_dim_flag {
  TENON_DIM_KNOWN = 1, /* value holds the size */
  TENON_DIM_SYMBOL = 2 /* symbol names a size that is not known yet; equal ids mean equal sizes */
};
/* One dimension, known or symbolic. Frozen, 16 bytes. Symbols come from the inference table and live as long as it. */
typedef struct tenon_dim {
  int64_t value;
  uint32_t symbol;
  uint32_t flags;
} tenon_dim;

/* A per-call scalar; which member counts is declared in the operator's definition. Frozen, 16 bytes. */
typedef struct tenon_scalar {
  double f64;
  int64_t i64;
} tenon_scalar;

/* Output that may or must share memory with an input. Frozen, 16 bytes. */
enum tenon_alias_flag { TENON_ALIAS_MAY = 1, TENON_ALIAS_MUST = 2 };
typedef struct tenon_alias_pair {
  uint32_t input;
  uint32_t output;
  uint32_t flags;
  uint32_t reserved;
} tenon_alias_pair;

/* ---- dtypes: the numbers of ONNX TensorProto.DataType; vendor types from TENON_DTYPE_VENDOR on ---- */
enum tenon_dtype {
  TENON_DTYPE_UNSET = 0,
  TENON_DTYPE_F32 = 1,
  TENON_DTYPE_U8 = 2,
  TENON_DTYPE_I8 = 3,
  TENON_DTYPE_U16 = 4,
  TENON_DTYPE_I16 = 5,
  TENON_DTYPE_I32 = 6,
  TENON_DTYPE_I64 = 7,
  TENON_DTYPE_BOOL = 9, /* one byte, 0 or 1 */
  TENON_DTYPE_F16 = 10,
  TENON_DTYPE_F64 = 11,
  TENON_DTYPE_U32 = 12,
  TENON_DTYPE_U64 = 13,
  TENON_DTYPE_C64 = 14,
  TENON_DTYPE_C128 = 15,
  TENON_DTYPE_BF16 = 16,
  TENON_DTYPE_F8E4M3FN = 17,
  TENON_DTYPE_F8E4M3FNUZ = 18,
  TENON_DTYPE_F8E5M2 = 19,
  TENON_DTYPE_F8E5M2FNUZ = 20,
  TENON_DTYPE_U4 = 21, /* two per byte, low half first */
  TENON_DTYPE_I4 = 22,
  TENON_DTYPE_F4E2M1 = 23,
  TENON_DTYPE_VENDOR = 0x10000
};

/* ---- layouts ---- */
enum tenon_layout_id {
  TENON_LAYOUT_STRIDED = 0 /* described by dims and strides; every other id is interned by the device's plugin */
};

/* ---- quantisation ---- */
enum tenon_quantization_scheme {
  TENON_QUANTIZATION_PER_TENSOR = 1,
  TENON_QUANTIZATION_PER_AXIS = 2,
  TENON_QUANTIZATION_BLOCK = 3 /* blocks of block_size elements along axis */
};
/* real = scale * (stored - zero_point). Arrays are host-readable and have count elements. */
typedef struct tenon_quantization {
  uint32_t struct_size;
  uint32_t flags; /* reserved, 0 */
  uint32_t scheme;
  int32_t axis;
  uint64_t count;
  const float* scales;
  const int32_t* zero_points; /* NULL: all zero */
  int64_t block_size;         /* optional */
} tenon_quantization;

/* ---- tensor view ---- */
enum tenon_tensor_flag {
  TENON_TENSOR_READ_ONLY = 1,
  TENON_TENSOR_MAY_ALIAS = 2,       /* other views of the same call may name the same memory */
  TENON_TENSOR_EMPTY = 4,           /* some dim is 0; address may be 0 and must not be used */
  TENON_TENSOR_ABSENT = 8,          /* optional input or output that is not there: all other fields are 0 */
  TENON_TENSOR_CONSTANT = 16,       /* content is the same in every call of this kernel instance */
  TENON_TENSOR_HOST_ACCESSIBLE = 32 /* address + byte_offset is a pointer the host CPU may use */
};
/* Dense tensor without ownership. First element at address + byte_offset (host-accessible memory: a real pointer).
 * dims and strides have rank entries; strides are in elements, NULL means row-major contiguous, 0 only on read-only
 * views, never negative. With another layout than TENON_LAYOUT_STRIDED strides is NULL; dims are the logical ones. */
typedef struct tenon_tensor {
  uint32_t struct_size;
  uint32_t flags;
  uint64_t address;
  uint64_t byte_offset;
  uint32_t dtype;
  uint32_t rank;
  const int64_t* dims;
  const int64_t* strides;
  uint32_t layout;
  uint16_t bits;                          /* of one element of one lane; 0: as the dtype says */
  uint16_t lanes;                         /* 0 and 1: scalar elements */
  uint64_t storage_id;                    /* equal ids: same allocation; 0: unknown */
  uint64_t storage_bytes;                 /* size of that allocation as seen from address; 0: unknown */
  tenon_device* device;                   /* NULL: host memory */
  tenon_space* space;                     /* NULL: host memory or not stated */
  const tenon_quantization* quantization; /* optional */
} tenon_tensor;

/* Description of a value without memory: what a kernel is selected, created and planned for. */
typedef struct tenon_value_desc {
  uint32_t struct_size;
  uint32_t flags; /* tenon_tensor_flag: ABSENT, CONSTANT, EMPTY */
  uint32_t dtype;
  uint32_t rank;
  const int64_t* dims;    /* -1: not known yet (only before plan) */
  const int64_t* strides; /* NULL: contiguous or not known */
  uint32_t layout;
  uint32_t reserved;
  const tenon_tensor* constant;           /* host-readable content if known, else NULL */
  const tenon_quantization* quantization; /* optional */
} tenon_value_desc;

/* ---- attributes ---- */
enum tenon_attribute_kind {
  TENON_ATTRIBUTE_INT = 1,    /* i64 */
  TENON_ATTRIBUTE_FLOAT = 2,  /* f64 */
  TENON_ATTRIBUTE_TEXT = 3,   /* text */
  TENON_ATTRIBUTE_FLAG = 4,   /* i64: 0 or 1 */
  TENON_ATTRIBUTE_DTYPE = 5,  /* i64: tenon_dtype */
  TENON_ATTRIBUTE_SHAPE = 6,  /* ints, count */
  TENON_ATTRIBUTE_TENSOR = 7, /* tensor: host-readable, contiguous */
  TENON_ATTRIBUTE_INTS = 8,   /* ints, count */
  TENON_ATTRIBUTE_FLOATS = 9, /* floats, count */
  TENON_ATTRIBUTE_TEXTS = 10  /* texts, count */
};
/* One attribute. Lists of attributes are sorted by name (byte order), names are unique. */
typedef struct tenon_attribute {
  uint32_t struct_size;
  uint32_t kind;
  tenon_str name;
  int64_t i64;
  double f64;
  tenon_str text;
  uint64_t count;
  const int64_t* ints;
  const double* floats;
  const tenon_tensor* tensor;
  const tenon_str* texts; /* optional */
} tenon_attribute;

/* ---- typed answer of a capability query ---- */
enum tenon_answer { TENON_ANSWER_UNKNOWN = 0, TENON_ANSWER_NO = 1, TENON_ANSWER_YES = 2 };
typedef struct tenon_value {
  uint32_t struct_size;
  uint32_t kind;   /* tenon_attribute_kind; 0 when there is only an answer */
  uint32_t answer; /* tenon_answer */
  uint32_t reserved;
  int64_t i64;
  double f64;
  tenon_str text;      /* storage of the callee, valid as long as the queried object */
  const int64_t* ints; /* optional, likewise; i64 holds the count */
} tenon_value;

/* ---- what went wrong; handed to host.h error_set ---- */
enum tenon_error_flag {
  TENON_ERROR_RETRYABLE = 1,
  TENON_ERROR_STICKY = 2, /* later calls on the object fail as well */
  TENON_ERROR_FATAL = 4   /* the device or communicator must be made anew */
};
typedef struct tenon_error_info {
  uint32_t struct_size;
  uint32_t flags;
  int32_t code;
  uint32_t reserved;
  tenon_str domain;    /* whose vendor_code: "errno", a library's name, ... */
  int64_t vendor_code; /* 0: none */
  tenon_str message;   /* full sentence without the plugin's name */
  /* TENON_RESOURCE_EXHAUSTED of an allocation, in bytes; 0: not known */
  uint64_t requested_bytes;
  uint64_t free_bytes;
  uint64_t total_bytes;
  uint64_t largest_free_bytes; /* optional */
} tenon_error_info;

/* Receives the reason of a refusal: "why is this node not on the device?" Works before create, too. */
typedef struct tenon_reason_sink {
  uint32_t struct_size;
  uint32_t flags; /* reserved, 0 */
  void* user;
  /* Reports one reason as a full sentence; the last one counts. code is a status code.
   * @since 1.0 @threads T3 @blocks never @async no @own text borrowed for the call; user as given
   * @null the slot may be NULL: nobody listens @errors none @reentrant yes @capture yes @shutdown yes @fork never
   * @fallback the reason is not recorded @idempotent yes */
  void (*reason)(void* user, int32_t code, tenon_str text);
  uint64_t subject; /* optional: the host's own, 0 */
} tenon_reason_sink;

/* A function of unknown type, for experimental entries: cast it to the documented type before the call. */
typedef void (*tenon_function)(void);

#ifdef __cplusplus
}
#endif
#endif
