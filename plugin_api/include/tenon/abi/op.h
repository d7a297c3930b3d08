/* tenon.op: operator definitions (schema, shape rule, gradient) and kernels (supports, layouts, plan, execute).
 *
 * Life of a kernel: supports -> query_layouts -> create -> plan -> execute (many times) -> destroy.
 * Lists, inference, supports and match run without a device and before create: there plugin may be NULL.
 *
 * execute: OK means enqueued on the call's stream (streams of a TENON_DEVICE_INLINE_STREAMS device: finished). Inputs,
 * outputs and workspace live until stream completion; a kernel keeps no pointer into the call after that. The host may
 * keep one call record per node and patch addresses between calls: a kernel reads the record anew in each call, but
 * dtype, rank, dims, strides, layout and flags of the views equal those of plan. Execute allocates no device memory. */
#ifndef TENON_ABI_OP_H
#define TENON_ABI_OP_H

#include "tenon/abi/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- traits of operators and kernels (64-bit mask) ---- */
#define TENON_TRAIT_PURE (UINT64_C(1) << 0)          /* output depends on inputs and attributes only */
#define TENON_TRAIT_STATEFUL (UINT64_C(1) << 1)      /* changes one of its inputs in place */
#define TENON_TRAIT_RANDOM (UINT64_C(1) << 2)        /* uses the call's rng */
#define TENON_TRAIT_DETERMINISTIC (UINT64_C(1) << 3) /* same inputs, same bits, for any thread count */
#define TENON_TRAIT_CAPTURE_SAFE (UINT64_C(1) << 4)  /* may be recorded and replayed */
#define TENON_TRAIT_ELEMENTWISE (UINT64_C(1) << 5)   /* each output element depends on elements at the same place */
#define TENON_TRAIT_LAYOUT_BLIND (UINT64_C(1) << 6)  /* works on flat memory in any layout that all operands share */
#define TENON_TRAIT_HOST_SYNC (UINT64_C(1) << 7)     /* returns finished; may use alloc_output; a plan boundary */
#define TENON_TRAIT_ONE_CALL (UINT64_C(1) << 8)      /* one call at a time per instance (default: re-entrant) */
#define TENON_TRAIT_ACCUMULATES (UINT64_C(1) << 9)   /* honours the call's accumulate_mask */
#define TENON_TRAIT_ASYNC_HOST (UINT64_C(1) << 10)   /* may return PENDING and complete the token later */
#define TENON_TRAIT_CANCELLABLE (UINT64_C(1) << 11)  /* looks at the cancellation token */
#define TENON_TRAIT_EMPTY_SAFE (UINT64_C(1) << 12)   /* takes zero-element tensors; else the host skips the call */
#define TENON_TRAIT_MATH_HIGH (UINT64_C(1) << 13)    /* kernel: does what TENON_MATH_HIGH permits, and only then */

/* ---- shape and type inference ---- */
enum tenon_dim_op {
  TENON_DIM_ADD = 1,
  TENON_DIM_SUB = 2,
  TENON_DIM_MUL = 3,
  TENON_DIM_FLOOR_DIV = 4,
  TENON_DIM_CEIL_DIV = 5,
  TENON_DIM_MOD = 6,
  TENON_DIM_MIN = 7,
  TENON_DIM_MAX = 8,
  TENON_DIM_BROADCAST = 9 /* equal, or one side is 1; else an error that names both */
};
/* Table given to infer. All slots: any thread that runs the callback, nothing blocks, pure. Out dims are copies. */
typedef struct tenon_infer_api {
  uint32_t struct_size;
  uint32_t flags; /* reserved, 0 */
  /* Number of inputs of the node, absent ones included.
   * @since 1.0 @threads T3 @blocks never @async no @own arguments borrowed for the call
   * @null only the error sink may be NULL @errors none @reentrant yes @capture no @shutdown no @fork never
   * @fallback required @idempotent yes */
  uint32_t (*input_count)(tenon_infer* infer);
  /* Number of outputs of the node, unused ones included.
   * @since 1.0 @threads T3 @blocks never @async no @own arguments borrowed for the call
   * @null only the error sink may be NULL @errors none @reentrant yes @capture no @shutdown no @fork never
   * @fallback required @idempotent yes */
  uint32_t (*output_count)(tenon_infer* infer);
  /* dtype of input i: 0 when it is absent or out of range.
   * @since 1.0 @threads T3 @blocks never @async no @own arguments borrowed for the call
   * @null only the error sink may be NULL @errors none @reentrant yes @capture no @shutdown no @fork never
   * @fallback required @idempotent yes */
  uint32_t (*input_dtype)(tenon_infer* infer, uint32_t index);
  /* Rank of input i: -1 when it is not known, -2 when the input is absent or out of range.
   * @since 1.0 @threads T3 @blocks never @async no @own arguments borrowed for the call
   * @null only the error sink may be NULL @errors none @reentrant yes @capture no @shutdown no @fork never
   * @fallback required @idempotent yes */
  int32_t (*input_rank)(tenon_infer* infer, uint32_t index);
  /* Dim axis of input i; axis counts from the front.
   * @since 1.0 @threads T3 @blocks never @async no @own arguments borrowed for the call
   * @null only the error sink may be NULL @errors OUT_OF_RANGE FAILED_PRECONDITION (rank not known) @reentrant yes
   * @capture no @shutdown no @fork never @fallback required @idempotent yes */
  int32_t (*input_dim)(tenon_infer* infer, uint32_t index, uint32_t axis, tenon_dim* out);
  /* Host-readable content of input i if it is known already.
   * @since 1.0 @threads T3 @blocks never @async no @own *out lives until infer returns
   * @null only the error sink may be NULL @errors NOT_FOUND (not known, or absent) @reentrant yes @capture no
   * @shutdown no @fork never @fallback required @idempotent yes */
  int32_t (*const_input)(tenon_infer* infer, uint32_t index, tenon_tensor* out);
  /* Attribute by name, defaults filled in.
   * @since 1.0 @threads T3 @blocks never @async no @own name borrowed; *out lives until infer returns
   * @null only the error sink may be NULL @errors NOT_FOUND @reentrant yes @capture no @shutdown no @fork never
   * @fallback required @idempotent yes */
  int32_t (*attribute)(tenon_infer* infer, tenon_str name, const tenon_attribute** out);
  /* Dim algebra: a op b. Known values give a known value.
   * @since 1.0 @threads T3 @blocks never @async no @own arguments borrowed for the call
   * @null only the error sink may be NULL
   * @errors INVALID_ARGUMENT (also division by zero, overflow, dims that do not broadcast) @reentrant yes
   * @capture no @shutdown no @fork never @fallback required @idempotent yes */
  int32_t (*dim_op)(tenon_infer* infer, uint32_t op, tenon_dim a, tenon_dim b, tenon_dim* out);
  /* A symbol of its own with bounds; upper -1: none, which makes the node a plan boundary.
   * @since 1.0 @threads T3 @blocks never @async no @own arguments borrowed for the call
   * @null only the error sink may be NULL @errors INVALID_ARGUMENT @reentrant yes @capture no @shutdown no
   * @fork never @fallback required @idempotent no */
  int32_t (*dim_fresh)(tenon_infer* infer, int64_t lower, tenon_dim upper, tenon_dim* out);
  /* Demands a == b; message is a full sentence that is shown with both values when it fails or fails later.
   * @since 1.0 @threads T3 @blocks never @async no @own message copied @null only the error sink may be NULL
   * @errors INVALID_ARGUMENT (they differ) @reentrant yes @capture no @shutdown no @fork never @fallback required
   * @idempotent yes */
  int32_t (*require_equal)(tenon_infer* infer, tenon_dim a, tenon_dim b, tenon_str message);
  /* Demands that divisor divides a.
   * @since 1.0 @threads T3 @blocks never @async no @own message copied @null only the error sink may be NULL
   * @errors INVALID_ARGUMENT @reentrant yes @capture no @shutdown no @fork never @fallback required
   * @idempotent yes */
  int32_t (*require_divisible)(tenon_infer* infer, tenon_dim a, int64_t divisor, tenon_str message);
  /* Sets dtype and dims of output i; rank -1 means not known.
   * @since 1.0 @threads T3 @blocks never @async no @own dims borrowed @null dims may be NULL with rank 0 or -1
   * @errors OUT_OF_RANGE @reentrant yes @capture no @shutdown no @fork never @fallback required
   * @idempotent last call wins */
  int32_t (*set_output)(tenon_infer* infer, uint32_t index, uint32_t dtype, int32_t rank, const tenon_dim* dims);
  /* Records why inference fails; infer returns the same code afterwards.
   * @since 1.0 @threads T3 @blocks never @async no @own message copied @null only the error sink may be NULL
   * @errors none @reentrant yes @capture no @shutdown no @fork never @fallback required @idempotent last call wins */
  void (*fail)(tenon_infer* infer, int32_t code, tenon_str message);
  /* Name of the node, for messages.
   * @since 1.0 @threads T3 @blocks never @async no @own result lives until infer returns
   * @null only the error sink may be NULL @errors none @reentrant yes @capture no @shutdown no @fork never
   * @fallback the host names the node itself @idempotent yes */
  tenon_str (*node_name)(tenon_infer* infer);
} tenon_infer_api;

typedef struct tenon_operator_def tenon_operator_def;
/* Shape and type rule. Pure; serves symbols at compile time and known dims at run time and must agree with itself.
 * @since 1.0 @threads T3 @blocks never @async no @own api, infer and def borrowed for the call
 * @null only the error sink may be NULL @errors INVALID_ARGUMENT @reentrant yes @capture no @shutdown no
 * @fork never @fallback only with a shape family @idempotent yes */
typedef int32_t (*tenon_infer_fn)(const tenon_operator_def* def, const tenon_infer_api* api, tenon_infer* infer);

/* ---- gradients ---- */
enum tenon_gradient_form {
  TENON_GRADIENT_UNDECLARED = 0, /* an error in a training graph, unless no input needs a gradient */
  TENON_GRADIENT_NONE = 1,       /* gradient stops here, on purpose */
  TENON_GRADIENT_PAIRED = 2,     /* a backward operator of its own */
  TENON_GRADIENT_BUILDER = 3     /* a composition of other operators */
};
enum tenon_gradient_source_kind {
  TENON_SOURCE_INPUT = 1,      /* index: input of the forward operator */
  TENON_SOURCE_OUTPUT = 2,     /* index: output of the forward operator */
  TENON_SOURCE_SAVED = 3,      /* index: among the saved outputs, which come after the normal ones */
  TENON_SOURCE_OUTPUT_GRAD = 4 /* index: output whose gradient is meant; absent when nobody asked for it */
};
/* What one input of the backward operator receives. Frozen, 8 bytes. */
typedef struct tenon_gradient_source {
  uint32_t kind;
  uint32_t index;
} tenon_gradient_source;
/* Form PAIRED. The backward operator gets all attributes of the forward node. Its output k is the gradient of forward
 * input grad_inputs[k]; the host marks outputs that nobody asked for as absent. */
typedef struct tenon_paired_gradient {
  uint32_t struct_size;
  uint32_t version; /* of the backward operator */
  tenon_str domain;
  tenon_str op_type;
  const tenon_gradient_source* sources; /* input k of the backward operator */
  const uint32_t* grad_inputs;          /* forward input whose gradient output k is */
  uint32_t source_count;
  uint32_t grad_input_count;
  tenon_str name_suffix; /* optional: appended to the node's name, default ".grad" */
} tenon_paired_gradient;

/* Table given to a gradient builder. A value is an id, 0 means none. Builder runs on one thread; nothing blocks. */
typedef struct tenon_gradient_api {
  uint32_t struct_size;
  uint32_t flags; /* reserved, 0 */
  /* Number of inputs of the forward node, absent ones included.
   * @since 1.0 @threads T2 @blocks never @async no @own arguments borrowed for the call
   * @null only the error sink may be NULL @errors none @reentrant yes @capture no @shutdown no @fork never
   * @fallback required @idempotent yes */
  uint32_t (*input_count)(tenon_grad* grad);
  /* Number of outputs of the forward node, unused ones included.
   * @since 1.0 @threads T2 @blocks never @async no @own arguments borrowed for the call
   * @null only the error sink may be NULL @errors none @reentrant yes @capture no @shutdown no @fork never
   * @fallback required @idempotent yes */
  uint32_t (*output_count)(tenon_grad* grad);
  /* Value of forward input i; 0 when absent.
   * @since 1.0 @threads T2 @blocks never @async no @own arguments borrowed for the call
   * @null only the error sink may be NULL @errors none @reentrant yes @capture no @shutdown no @fork never
   * @fallback required @idempotent yes */
  uint64_t (*input)(tenon_grad* grad, uint32_t index);
  /* Value of forward output i, saved ones included; using it keeps it alive until the backward pass.
   * @since 1.0 @threads T2 @blocks never @async no @own arguments borrowed for the call
   * @null only the error sink may be NULL @errors none @reentrant yes @capture no @shutdown no @fork never
   * @fallback required @idempotent yes */
  uint64_t (*output)(tenon_grad* grad, uint32_t index);
  /* Gradient of forward output i; 0 when none flows.
   * @since 1.0 @threads T2 @blocks never @async no @own arguments borrowed for the call
   * @null only the error sink may be NULL @errors none @reentrant yes @capture no @shutdown no @fork never
   * @fallback required @idempotent yes */
  uint64_t (*output_grad)(tenon_grad* grad, uint32_t index);
  /* 1 when somebody needs the gradient of input i: build nothing for the others.
   * @since 1.0 @threads T2 @blocks never @async no @own arguments borrowed for the call
   * @null only the error sink may be NULL @errors none @reentrant yes @capture no @shutdown no @fork never
   * @fallback required @idempotent yes */
  uint32_t (*needs_grad)(tenon_grad* grad, uint32_t index);
  /* Attribute of the forward node.
   * @since 1.0 @threads T2 @blocks never @async no @own name borrowed; *out lives until the builder returns
   * @null only the error sink may be NULL @errors NOT_FOUND @reentrant yes @capture no @shutdown no @fork never
   * @fallback required @idempotent yes */
  int32_t (*attribute)(tenon_grad* grad, tenon_str name, const tenon_attribute** out);
  /* dtype of a value; 0 when the value is 0.
   * @since 1.0 @threads T2 @blocks never @async no @own arguments borrowed for the call
   * @null only the error sink may be NULL @errors none @reentrant yes @capture no @shutdown no @fork never
   * @fallback required @idempotent yes */
  uint32_t (*value_dtype)(tenon_grad* grad, uint64_t value);
  /* Rank of a value; -1 when it is not known, -2 when the value is 0.
   * @since 1.0 @threads T2 @blocks never @async no @own arguments borrowed for the call
   * @null only the error sink may be NULL @errors none @reentrant yes @capture no @shutdown no @fork never
   * @fallback required @idempotent yes */
  int32_t (*value_rank)(tenon_grad* grad, uint64_t value);
  /* Dim axis of a value.
   * @since 1.0 @threads T2 @blocks never @async no @own arguments borrowed for the call
   * @null only the error sink may be NULL @errors OUT_OF_RANGE FAILED_PRECONDITION (rank not known) @reentrant yes
   * @capture no @shutdown no @fork never @fallback required @idempotent yes */
  int32_t (*value_dim)(tenon_grad* grad, uint64_t value, uint32_t axis, tenon_dim* out);
  /* Adds a node; outputs receives output_count new values. Inputs may be 0 (absent). version 0: the newest known.
   * @since 1.0 @threads T2 @blocks never @async no @own all borrowed
   * @null attributes and inputs may be NULL with count 0 @errors NOT_FOUND (no such operator) INVALID_ARGUMENT
   * @reentrant yes @capture no @shutdown no @fork never @fallback required @idempotent no */
  int32_t (*op)(tenon_grad* grad, tenon_str domain, tenon_str op_type, uint32_t version,
                const tenon_attribute* attributes, uint32_t attribute_count, uint32_t attribute_stride,
                const uint64_t* inputs, uint32_t input_count, uint64_t* outputs, uint32_t output_count);
  /* A constant; content is copied.
   * @since 1.0 @threads T2 @blocks never @async no @own tensor borrowed @null only the error sink may be NULL
   * @errors INVALID_ARGUMENT RESOURCE_EXHAUSTED @reentrant yes @capture no @shutdown no @fork never
   * @fallback required @idempotent no */
  int32_t (*constant)(tenon_grad* grad, const tenon_tensor* content, uint64_t* out);
  /* Sets the gradient of forward input i.
   * @since 1.0 @threads T2 @blocks never @async no @own arguments borrowed for the call
   * @null only the error sink may be NULL @errors OUT_OF_RANGE ALREADY_EXISTS INVALID_ARGUMENT @reentrant yes
   * @capture no @shutdown no @fork never @fallback required @idempotent no */
  int32_t (*set_input_grad)(tenon_grad* grad, uint32_t index, uint64_t value);
  /* Records why building fails; the builder returns the same code afterwards.
   * @since 1.0 @threads T2 @blocks never @async no @own message copied @null only the error sink may be NULL
   * @errors none @reentrant yes @capture no @shutdown no @fork never @fallback required @idempotent last call wins */
  void (*fail)(tenon_grad* grad, int32_t code, tenon_str message);
  /* Name of the forward node, for messages.
   * @since 1.0 @threads T2 @blocks never @async no @own result lives until the builder returns
   * @null only the error sink may be NULL @errors none @reentrant yes @capture no @shutdown no @fork never
   * @fallback the host names the node itself @idempotent yes */
  tenon_str (*node_name)(tenon_grad* grad);
} tenon_gradient_api;
/* Gradient in form BUILDER: sets the gradient of every input that needs one by composing operators.
 * @since 1.0 @threads T3 @blocks never @async no @own api, grad and def borrowed for the call
 * @null only the error sink may be NULL @errors INVALID_ARGUMENT UNIMPLEMENTED @reentrant yes @capture no
 * @shutdown no @fork never @fallback the other gradient forms @idempotent yes */
typedef int32_t (*tenon_build_gradient_fn)(const tenon_operator_def* def, const tenon_gradient_api* api,
                                           tenon_grad* grad);

/* ---- operator definition ---- */
enum tenon_param_flag {
  TENON_PARAM_OPTIONAL = 1,
  TENON_PARAM_VARIADIC = 2, /* last one only: any number, at least one unless OPTIONAL */
  TENON_PARAM_SAVED = 4,    /* output kept for the backward pass only; comes after the normal outputs */
  TENON_PARAM_HOST = 8,     /* lives in host memory (shapes, steps) */
  TENON_PARAM_NO_GRAD = 16  /* input: gradient is never defined */
};
typedef struct tenon_param_def {
  uint32_t struct_size;
  uint32_t flags; /* tenon_param_flag */
  tenon_str name;
  const uint32_t* dtypes; /* allowed; NULL: any */
  uint32_t dtype_count;
  uint32_t type_group; /* params with the same number share one dtype; 0: alone */
  tenon_str doc;       /* optional */
} tenon_param_def;

enum tenon_attribute_flag { TENON_ATTRIBUTE_REQUIRED = 1 };
typedef struct tenon_attribute_def {
  uint32_t struct_size;
  uint32_t flags; /* tenon_attribute_flag */
  uint32_t kind;  /* tenon_attribute_kind */
  uint32_t reserved;
  tenon_str name;
  const tenon_attribute* default_value; /* NULL: absent when not given; its name is ignored */
  tenon_str doc;                        /* optional */
} tenon_attribute_def;

enum tenon_shape_family {
  TENON_SHAPE_BY_CALLBACK = 0,
  TENON_SHAPE_SAME_AS_INPUT = 1, /* every output: dtype and dims of input 0 */
  TENON_SHAPE_BROADCAST = 2,     /* output 0: all inputs broadcast, dtype of input 0 */
  TENON_SHAPE_REDUCE = 3         /* attributes axes (or input 1) and keepdims, as in ONNX */
};
enum tenon_operator_flag {
  TENON_OPERATOR_IGNORE_UNKNOWN = 1 /* unknown attributes are dropped instead of refused */
};
/* One operator of a plugin's domain. The tables live as long as the library. */
struct tenon_operator_def {
  uint32_t struct_size;
  uint32_t flags;   /* tenon_operator_flag */
  tenon_str domain; /* reverse DNS or "tenon"; "" is ONNX, where a plugin adds kernels only */
  tenon_str op_type;
  uint32_t since_version; /* opset version of this definition */
  uint32_t shape_family;  /* tenon_shape_family */
  uint64_t traits;
  const tenon_param_def* inputs;
  uint32_t input_count;
  uint32_t input_stride;
  const tenon_param_def* outputs; /* saved ones last */
  uint32_t output_count;
  uint32_t output_stride;
  const tenon_attribute_def* attributes; /* sorted by name */
  uint32_t attribute_count;
  uint32_t attribute_stride;
  const tenon_alias_pair* aliases;
  const tenon_str* scalars; /* names of the per-call scalars, in call order */
  uint32_t alias_count;
  uint32_t scalar_count;
  tenon_infer_fn infer;   /* NULL with a shape family */
  uint32_t gradient_form; /* tenon_gradient_form */
  uint32_t reserved;
  const tenon_paired_gradient* paired;    /* form PAIRED */
  tenon_build_gradient_fn build_gradient; /* form BUILDER */
  const void* user;                       /* the plugin's own */
  tenon_str doc;                          /* optional */
};

/* ---- kernels ---- */
enum tenon_math_flag {
  TENON_MATH_DETERMINISTIC = 1,     /* same inputs, same bits */
  TENON_MATH_REDUCED_PRECISION = 2, /* f32 products may be rounded to a shorter type first */
  TENON_MATH_ACCUMULATE_F32 = 4,    /* sums of 16-bit products in f32 */
  TENON_MATH_TRAINING = 8,          /* part of a training step */
  TENON_MATH_HIGH = 16              /* f32 products and convolutions may lose more digits: rms error at most 1e-5 */
};
/* What a kernel is asked for. Before the layouts are chosen every layout is TENON_LAYOUT_STRIDED. */
typedef struct tenon_kernel_query {
  uint32_t struct_size;
  uint32_t math_flags; /* tenon_math_flag */
  tenon_str domain;
  tenon_str op_type;
  uint32_t version; /* opset version that the model states for the domain */
  uint32_t thread_budget;
  tenon_str node_name;               /* for messages */
  const tenon_attribute* attributes; /* sorted by name, defaults filled in; a fused node: "<pattern name>.<name>" */
  uint32_t attribute_count;
  uint32_t attribute_stride;
  const tenon_value_desc* inputs;
  uint32_t input_count;
  uint32_t input_stride;
  const tenon_value_desc* outputs;
  uint32_t output_count;
  uint32_t output_stride;
  tenon_str device_kind;
  tenon_device* device;         /* NULL before the device is opened, and when it belongs to another plugin */
  tenon_str native_stream_kind; /* of the device */
  uint64_t plan_hint;           /* optional: reserved for the host, 0 */
} tenon_kernel_query;

enum tenon_verdict {
  TENON_VERDICT_YES = 1,
  TENON_VERDICT_WITH_CONVERSION = 2, /* only after the host made the operands contiguous */
  TENON_VERDICT_NO = 3               /* with a reason */
};

/* An additional form in which a signature can give an output. Frozen, 16 bytes. */
typedef struct tenon_layout_form {
  uint32_t output;
  uint32_t layout;
  double cost; /* marginal */
} tenon_layout_form;
/* One combination of layouts. Cost: nanoseconds, estimated by the same rule for all signatures of one device; only
 * ratios matter. Same arguments, same signatures, in the same order. */
typedef struct tenon_layout_signature {
  uint32_t struct_size;
  uint32_t flags; /* reserved, 0 */
  double cost;
  const uint32_t* inputs;  /* layout id per input, absent ones 0 */
  const uint32_t* outputs; /* layout id per output */
  uint32_t input_count;
  uint32_t output_count;
  const tenon_layout_form* forms; /* further forms that the kernel can write at the same time */
  uint32_t form_count;
  uint32_t form_stride;
  uint64_t tag; /* optional: handed back in the plan arguments */
} tenon_layout_signature;
typedef struct tenon_layout_sink {
  uint32_t struct_size;
  uint32_t flags; /* reserved, 0 */
  void* user;
  /* Takes one signature; the best need not come first.
   * @since 1.0 @threads T3 @blocks never @async no
   * @own signature and its arrays borrowed for the call; user as given @null only the error sink may be NULL
   * @errors INVALID_ARGUMENT (counts) RESOURCE_EXHAUSTED @reentrant yes @capture no @shutdown no @fork never
   * @fallback n/a @idempotent yes */
  int32_t (*emit)(void* user, const tenon_layout_signature* signature);
  const tenon_reason_sink* reason; /* optional: hears why layouts are not offered; NULL: nobody listens */
} tenon_layout_sink;

/* Concrete shapes (and strides where strided) and chosen layouts. */
typedef struct tenon_plan_args {
  uint32_t struct_size;
  uint32_t math_flags;
  const tenon_value_desc* inputs;
  uint32_t input_count;
  uint32_t input_stride;
  const tenon_value_desc* outputs; /* then one entry per chosen additional form, in the order of forms */
  uint32_t output_count;           /* additional forms included */
  uint32_t output_stride;
  const tenon_layout_form* forms; /* chosen additional forms */
  uint32_t form_count;
  uint32_t form_stride;
  uint32_t thread_budget;
  uint32_t reserved;
  uint64_t layout_tag; /* optional: tag of the chosen signature; 0 when nothing was chosen */
} tenon_plan_args;

enum tenon_plan_flag {
  TENON_PLAN_NO_OP = 1 /* execute would do nothing (all outputs empty, or pure aliases) and need not be called */
};
typedef struct tenon_plan_result {
  uint32_t struct_size;
  uint32_t flags; /* tenon_plan_flag */
  uint64_t workspace_bytes;
  uint64_t workspace_align;        /* power of two; 0: any */
  uint64_t algorithm;              /* id for messages and caches; 0: none */
  const tenon_alias_pair* aliases; /* beyond those of the operator; owned by the kernel */
  uint64_t alias_count;
  double cost;              /* as in a signature; 0: not known */
  tenon_str algorithm_name; /* optional; owned by the kernel */
} tenon_plan_result;

enum tenon_call_flag {
  TENON_CALL_CAPTURE = 1, /* the stream is recording */
  TENON_CALL_REPLAY = 2,
  TENON_CALL_PROFILING = 4 /* write profiler records with correlation_id */
};
/* One call. The host may keep the record and only patch it. Fields are constant during the call. */
typedef struct tenon_kernel_call {
  uint32_t struct_size;
  uint32_t flags;       /* tenon_call_flag */
  tenon_stream* stream; /* NULL when the device belongs to another plugin */
  const tenon_tensor* inputs;
  uint32_t input_count;
  uint32_t input_stride;
  const tenon_tensor* outputs; /* additional forms included */
  uint32_t output_count;
  uint32_t output_stride;
  uint64_t workspace; /* content undefined; 0 when the plan asked for none */
  uint64_t workspace_bytes;
  const tenon_scalar* scalars; /* in the order of the operator's scalars; read during the call */
  uint32_t scalar_count;
  uint32_t math_flags;
  uint64_t rng_key; /* counter-based generator: random number n of the call is a pure function of (key, offset + n) */
  uint64_t rng_offset;
  uint64_t rng_state;       /* device address of {u64 key, u64 offset} that replaces the two fields; 0: none */
  uint64_t accumulate_mask; /* bit i: add to output i instead of overwriting it; only with TRAIT_ACCUMULATES */
  uint32_t thread_budget;
  uint32_t reserved;
  uint64_t correlation_id;
  uint64_t native_stream; /* handle of the kind native_stream_kind of the query; 0: none */
  const tenon_cancel* cancel;
  tenon_token* completion;          /* non-NULL only with TRAIT_ASYNC_HOST */
  tenon_output_alloc* output_alloc; /* non-NULL only with TRAIT_HOST_SYNC */
  int64_t* const* actual_dims; /* optional: per output NULL, or host-visible room for the true dims of a bounded output,
                                  valid at stream completion */
} tenon_kernel_call;

typedef struct tenon_kernel_def tenon_kernel_def;
typedef struct tenon_kernel_vtable {
  uint32_t struct_size;
  uint32_t flags; /* reserved, 0 */
  /* May this kernel run the query? *verdict is tenon_verdict; a refusal gives a reason. Cheap and pure; also
   * called before create, with plugin NULL.
   * @since 1.0 @threads T3 @blocks never @async no @own all borrowed for the call @null plugin, reason may be NULL
   * @errors INVALID_ARGUMENT @reentrant yes @capture no @shutdown no @fork never @fallback required
   * @idempotent yes */
  int32_t (*supports)(tenon_plugin* plugin, const tenon_kernel_def* def, const tenon_kernel_query* query,
                      uint32_t* verdict, const tenon_reason_sink* reason);
  /* Emits the layout signatures on offer. Pure: the same for the same arguments.
   * @since 1.0 @threads T3 @blocks never @async no @own all borrowed for the call
   * @null only the error sink may be NULL @errors INVALID_ARGUMENT and what emit returned @reentrant yes
   * @capture no @shutdown no @fork never @fallback strided contiguous everywhere, or any layout with LAYOUT_BLIND
   * @idempotent yes */
  int32_t (*query_layouts)(tenon_plugin* plugin, const tenon_kernel_def* def, const tenon_kernel_query* query,
                           const tenon_layout_sink* sink, tenon_error* error);
  /* Makes an instance: parses attributes once. Dims in the query may still be -1.
   * @since 1.0 @threads T3 @blocks host @async no
   * @own query borrowed for the call; *out owned by the host until destroy @null only the error sink may be NULL
   * @errors INVALID_ARGUMENT UNIMPLEMENTED RESOURCE_EXHAUSTED DEVICE_LOST @reentrant yes @capture no @shutdown no
   * @fork never @fallback required @idempotent no */
  int32_t (*create)(tenon_plugin* plugin, const tenon_kernel_def* def, const tenon_kernel_query* query,
                    tenon_kernel** out, tenon_error* error);
  /* Fixes shapes and layouts; once before the first execute and again when they change. The last plan counts.
   * @since 1.0 @threads T2 @blocks device @async no
   * @own args borrowed for the call; pointers in *out live until the next plan or destroy
   * @null only the error sink may be NULL @errors INVALID_ARGUMENT UNIMPLEMENTED RESOURCE_EXHAUSTED DEVICE_LOST
   * @reentrant yes @capture no @shutdown no @fork never @fallback no workspace, no in-place pairs of its own
   * @idempotent yes */
  int32_t (*plan)(tenon_kernel* kernel, const tenon_plan_args* args, tenon_plan_result* out, tenon_error* error);
  /* Hot path: enqueues one call.
   * @since 1.0 @threads T3, or T2 with TRAIT_ONE_CALL @blocks never, or host on inline streams
   * @async OK means enqueued; PENDING with TRAIT_ASYNC_HOST: the token follows
   * @own call borrowed for the call, memory until stream completion
   * @null optional inputs and outputs are views with TENSOR_ABSENT
   * @errors INVALID_ARGUMENT PENDING CANCELLED OUT_OF_RANGE INTERNAL DEVICE_LOST @reentrant yes @capture by trait
   * @shutdown no @fork never @fallback required @idempotent no */
  int32_t (*execute)(tenon_kernel* kernel, const tenon_kernel_call* call, tenon_error* error);
  /* Frees an instance; work that it enqueued still runs.
   * @since 1.0 @threads T3 @blocks never @async no @own kernel is consumed @null NULL does nothing @errors none
   * @reentrant yes @capture no @shutdown yes @fork never @fallback required @idempotent no */
  void (*destroy)(tenon_kernel* kernel);
  /* Bytes of host and device memory that the instance holds (packed constants, tables).
   * @since 1.0 @threads T2 @blocks never @async no @own arguments borrowed for the call
   * @null only the error sink may be NULL @errors none: returns 0 when not known @reentrant yes @capture no
   * @shutdown no @fork never @fallback counted as 0 @idempotent yes */
  uint64_t (*held_bytes)(tenon_kernel* kernel);
} tenon_kernel_vtable;

enum tenon_stride_pattern {
  TENON_STRIDES_CONTIGUOUS = 0,
  TENON_STRIDES_INNER_CONTIGUOUS = 1, /* last dim has stride 1 */
  TENON_STRIDES_ANY = 2
};
/* One kernel for one operator on one device kind. The tables live as long as the library. */
struct tenon_kernel_def {
  uint32_t struct_size;
  uint32_t stride_pattern; /* tenon_stride_pattern: strided operands that need no copy */
  tenon_str domain;
  tenon_str op_type;
  uint32_t min_version; /* opset versions of the operator that it serves */
  uint32_t max_version; /* 0: no end */
  tenon_str device_kind;
  tenon_str name;   /* for messages: "conv_small_nhwc" */
  int32_t priority; /* higher is asked first; among plugins plugins.priority of the YAML comes before it */
  uint32_t reserved;
  uint64_t traits;
  uint64_t host_inputs;  /* bit i: input i must lie in host memory */
  uint64_t host_outputs; /* bit i: output i will lie in host memory */
  const tenon_kernel_vtable* vtable;
  const void* user; /* the plugin's own */
  tenon_str doc;    /* optional */
};

typedef struct tenon_op_vtable {
  uint32_t struct_size;
  uint32_t flags; /* reserved, 0 */
  /* Operators that the plugin defines; *stride is the distance in bytes. Also called before create, with plugin
   * NULL.
   * @since 1.0 @threads T3 @blocks never @async no @own *first lives as long as the library is mapped
   * @null plugin may be NULL @errors FAILED_PRECONDITION (plugin needed) @reentrant yes @capture no @shutdown no
   * @fork never @fallback no operators of its own @idempotent yes */
  int32_t (*list_operators)(tenon_plugin* plugin, const tenon_operator_def** first, uint64_t* count, uint64_t* stride,
                            tenon_error* error);
  /* Kernels that the plugin offers; *stride is the distance in bytes. Also called before create, with plugin NULL.
   * @since 1.0 @threads T3 @blocks never @async no @own *first lives as long as the library is mapped
   * @null plugin may be NULL @errors FAILED_PRECONDITION (plugin needed) @reentrant yes @capture no @shutdown no
   * @fork never @fallback required @idempotent yes */
  int32_t (*list_kernels)(tenon_plugin* plugin, const tenon_kernel_def** first, uint64_t* count, uint64_t* stride,
                          tenon_error* error);
  /* Drops caches that are not in use (compiled primitives, packed constants of dead kernels).
   * @since 1.0 @threads T3 @blocks host @async no @own arguments borrowed for the call
   * @null only the error sink may be NULL @errors none else @reentrant yes @capture no @shutdown no @fork never
   * @fallback nothing is dropped @idempotent yes */
  int32_t (*release_caches)(tenon_plugin* plugin, tenon_error* error);
} tenon_op_vtable;

#ifdef __cplusplus
}
#endif
#endif
