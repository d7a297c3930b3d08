/* tenon.subgraph: fused operators by pattern, and claims of whole parts of a graph.
 *
 * Pattern text
 *   pattern    = "pattern" "(" [ param { "," param } ] ")" "{" { statement } "return" value { "," value } "}"
 *   param      = value [ "?" ]                        "?": the operand may be absent in the matched node
 *   statement  = value { "," value } "=" ops "(" [ operand { "," operand } ] ")" [ constraints ]
 *   constraints = "{" [ constraint { "," constraint } ] "}"
 *   ops        = op { "|" op } | "_"                  alternatives; "_" is any operator
 *   op         = [ domain "::" ] name                 without a domain: ONNX
 *   operand    = value | "_"                          "_": any value, which then becomes a further input (see below)
 *   constraint = name "=" ( literal | "$" bind )      literal: 1, -1, 0.5, "text", [1, 1], true, false
 *   value      = "%" name                             names: letters, digits and _
 *   A comment runs from # to the end of the line.
 * Example
 *   pattern(%x, %w, %b?) {
 *     %c = Conv(%x, %w, %b) {dilations=[1,1], group=1}  %r = Relu(%c)  %p = MaxPool(%r)  return %p }
 *
 * Matching
 *  - Params are the fused node's inputs in order, then each operand "_" in order of appearance; returned values are its
 *    outputs in order, then the saved values. Inner values must have no other reader. A value used twice is one value.
 *  - A literal constraint compares with the node's attribute, defaults filled in (auto_pad resolved to pads).
 *    Attributes that are not mentioned are free. "$name" binds the attribute: equal names must have equal values.
 *  - Operands of Add, Mul, Max, Min and Sum are tried in both orders. Outputs that a statement does not name
 *    must be unused.
 *  - The fused node gets all attributes of the matched nodes as "<value>.<attribute>" with the name of the statement's
 *    first value ("c.strides", "p.kernel_shape"), "<value>.op_type" (text) where ops has alternatives or "_", and
 *    bound ones also as "$name".
 *  - The host matches definitions of stage BEFORE_AUTODIFF before the gradient is built, so that the fused operator and
 *    its paired gradient belong together, and those of AFTER_AUTODIFF on the finished graph. Higher priority first,
 *    then more nodes. Without a kernel that supports the fused node the pattern does not match.
 *  - Shape and dtype of returned values follow from the pattern. */
#ifndef TENON_ABI_SUBGRAPH_H
#define TENON_ABI_SUBGRAPH_H

#include "tenon/abi/op.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- fused operators ---- */
enum tenon_fused_stage { TENON_FUSED_BEFORE_AUTODIFF = 1, TENON_FUSED_AFTER_AUTODIFF = 2 };

/* A value that only the paired gradient reads. Its dims are those of the pattern value like, followed by the dims of
 * extra_dims; its layout is the kernels' own business. */
typedef struct tenon_saved_def {
  uint32_t struct_size;
  uint32_t dtype; /* 0: that of like */
  tenon_str name;
  tenon_str like;            /* name of a pattern value without % */
  const int64_t* extra_dims; /* NULL: none */
  uint64_t extra_dim_count;
  tenon_str doc; /* optional */
} tenon_saved_def;

/* A value of the pattern in a candidate match. */
typedef struct tenon_match_value {
  uint32_t struct_size;
  uint32_t flags;               /* reserved, 0 */
  tenon_str name;               /* without % */
  const tenon_value_desc* desc; /* dims may be -1; ABSENT for an optional operand that is not there */
  tenon_str op_type;            /* optional: type of the node that makes it; empty for inputs */
} tenon_match_value;
typedef struct tenon_match {
  uint32_t struct_size;
  uint32_t math_flags;             /* tenon_math_flag: TRAINING says that gradients will be needed */
  const tenon_match_value* values; /* in order of first appearance */
  uint32_t value_count;
  uint32_t value_stride;
  const tenon_attribute* attributes; /* as the fused node will get them, sorted */
  uint32_t attribute_count;
  uint32_t attribute_stride;
  tenon_str device_kind;
  tenon_device* device; /* optional; NULL before it is opened */
} tenon_match;

typedef struct tenon_fused_def tenon_fused_def;
/* Predicate over dims, dtypes and attributes of a candidate. *accept becomes 1 or 0; a refusal gives a reason.
 * Pure.
 * @since 1.0 @threads T3 @blocks never @async no @own all borrowed for the call
 * @null plugin and reason may be NULL @errors INVALID_ARGUMENT @reentrant yes @capture no @shutdown no @fork never
 * @fallback every candidate is accepted @idempotent yes */
typedef int32_t (*tenon_match_fn)(tenon_plugin* plugin, const tenon_fused_def* def, const tenon_match* match,
                                  uint32_t* accept, const tenon_reason_sink* reason);

/* One pattern and the operator that replaces it. Kernels of the fused operator and of its gradient come through
 * tenon.op list_kernels, with the same domain and type. The tables live as long as the library. */
struct tenon_fused_def {
  uint32_t struct_size;
  uint32_t flags; /* reserved, 0 */
  tenon_str name; /* for messages: "conv_relu_pool" */
  tenon_str pattern;
  tenon_str domain; /* the plugin's own */
  tenon_str op_type;
  uint32_t version;
  uint32_t stage; /* tenon_fused_stage */
  tenon_str device_kind;
  int32_t priority;
  uint32_t saved_count;
  const tenon_saved_def* saved; /* written only when the gradient is needed, else absent */
  uint32_t saved_stride;
  uint32_t alias_count;
  uint64_t traits;                       /* of the fused operator */
  const tenon_alias_pair* aliases;       /* in-place pairs of the fused operator */
  const tenon_paired_gradient* gradient; /* NULL: matched only where no gradient is needed (and after autodiff) */
  tenon_match_fn match;                  /* NULL: always */
  const void* user;                      /* the plugin's own */
  tenon_str doc;                         /* optional */
};

/* ---- read-only graph for claims; valid only inside the call ---- */
typedef struct tenon_graph_node {
  uint32_t struct_size;
  uint32_t flags; /* reserved, 0 */
  uint64_t id;    /* never 0 */
  tenon_str name;
  tenon_str domain;
  tenon_str op_type;
  uint32_t version;
  uint32_t phase; /* tenon_graph_phase */
  const tenon_attribute* attributes;
  uint32_t attribute_count;
  uint32_t attribute_stride;
  const uint64_t* inputs; /* value ids, 0 absent */
  const uint64_t* outputs;
  uint32_t input_count;
  uint32_t output_count;
  tenon_str source; /* optional: file and line */
} tenon_graph_node;
enum tenon_graph_phase { TENON_PHASE_FORWARD = 1, TENON_PHASE_BACKWARD = 2, TENON_PHASE_UPDATE = 3 };

typedef struct tenon_graph_api {
  uint32_t struct_size;
  uint32_t flags; /* reserved, 0 */
  /* Number of nodes, in an order in which each comes after its inputs.
   * @since 1.0 @threads T3 @blocks never @async no @own arguments borrowed for the call
   * @null only the error sink may be NULL @errors none @reentrant yes @capture no @shutdown no @fork never
   * @fallback required @idempotent yes */
  uint64_t (*node_count)(const tenon_graph* graph);
  /* Copies count nodes from first on; stride is the caller's.
   * @since 1.0 @threads T3 @blocks never @async no
   * @own pointers in the records live until the claim or compile returns @null only the error sink may be NULL
   * @errors OUT_OF_RANGE @reentrant yes @capture no @shutdown no @fork never @fallback required @idempotent yes */
  int32_t (*nodes)(const tenon_graph* graph, uint64_t first, uint64_t count, tenon_graph_node* out, uint64_t stride);
  /* Describes a value: dtype, dims (-1 symbolic), constant content.
   * @since 1.0 @threads T3 @blocks never @async no @own pointers in *out live until the claim or compile returns
   * @null only the error sink may be NULL @errors NOT_FOUND @reentrant yes @capture no @shutdown no @fork never
   * @fallback required @idempotent yes */
  int32_t (*value)(const tenon_graph* graph, uint64_t value, tenon_value_desc* out);
  /* Dims of a value with their symbols; *rank is -1 when it is not known.
   * @since 1.0 @threads T3 @blocks never @async no @own *dims lives until the claim or compile returns
   * @null only the error sink may be NULL @errors NOT_FOUND @reentrant yes @capture no @shutdown no @fork never
   * @fallback required @idempotent yes */
  int32_t (*value_dims)(const tenon_graph* graph, uint64_t value, int32_t* rank, const tenon_dim** dims);
  /* Node that makes a value: 0 for inputs and constants.
   * @since 1.0 @threads T3 @blocks never @async no @own arguments borrowed for the call
   * @null only the error sink may be NULL @errors none @reentrant yes @capture no @shutdown no @fork never
   * @fallback required @idempotent yes */
  uint64_t (*producer)(const tenon_graph* graph, uint64_t value);
  /* Nodes that read a value.
   * @since 1.0 @threads T3 @blocks never @async no @own *out lives until the claim or compile returns
   * @null only the error sink may be NULL @errors NOT_FOUND @reentrant yes @capture no @shutdown no @fork never
   * @fallback required @idempotent yes */
  int32_t (*readers)(const tenon_graph* graph, uint64_t value, const uint64_t** out, uint64_t* count);
  /* Inputs and outputs of the whole graph (of the part, in compile), in order.
   * @since 1.0 @threads T3 @blocks never @async no @own arrays live until the claim or compile returns
   * @null only the error sink may be NULL @errors none else @reentrant yes @capture no @shutdown no @fork never
   * @fallback required @idempotent yes */
  int32_t (*boundary)(const tenon_graph* graph, const uint64_t** inputs, uint64_t* input_count,
                      const uint64_t** outputs, uint64_t* output_count);
  /* Name of a value, for messages.
   * @since 1.0 @threads T3 @blocks never @async no @own result lives until the claim or compile returns
   * @null only the error sink may be NULL @errors none @reentrant yes @capture no @shutdown no @fork never
   * @fallback values are named by their ids @idempotent yes */
  tenon_str (*value_name)(const tenon_graph* graph, uint64_t value);
} tenon_graph_api;

typedef struct tenon_claim {
  uint32_t struct_size;
  int32_t priority;
  const uint64_t* nodes;
  uint64_t node_count;
  double cost;    /* estimated nanoseconds of one run */
  double benefit; /* estimated nanoseconds saved against single kernels */
  uint64_t tag;   /* handed back to compile */
  tenon_str name; /* optional, for people */
} tenon_claim;
typedef struct tenon_claim_sink {
  uint32_t struct_size;
  uint32_t flags; /* reserved, 0 */
  void* user;
  /* Takes one claim. The host checks convexity, resolves overlaps and may split.
   * @since 1.0 @threads T3 @blocks never @async no @own claim borrowed for the call; user as given
   * @null only the error sink may be NULL @errors INVALID_ARGUMENT (unknown node, empty set) @reentrant yes
   * @capture no @shutdown no @fork never @fallback n/a @idempotent yes */
  int32_t (*claim)(void* user, const tenon_claim* claim);
  /* Says why a node is not claimed; code is a status code, text a full sentence.
   * @since 1.0 @threads T3 @blocks never @async no @own text copied; user as given
   * @null only the error sink may be NULL @errors none @reentrant yes @capture no @shutdown no @fork never
   * @fallback no reason is shown @idempotent yes */
  void (*reject)(void* user, uint64_t node, int32_t code, tenon_str text);
} tenon_claim_sink;

/* One part to compile: a graph view whose boundary are the part's inputs and outputs. */
typedef struct tenon_subgraph_part {
  uint32_t struct_size;
  uint32_t math_flags;
  const tenon_graph* graph;
  uint64_t tag;      /* of the claim */
  uint32_t complete; /* 0: the host gives only a subset of the claim; the plugin may decline */
  uint32_t thread_budget;
  tenon_str name; /* optional */
} tenon_subgraph_part;

enum tenon_executable_flag {
  TENON_EXECUTABLE_COPIED_CONSTANTS = 1 /* the host may drop the part's constants; inference only */
};
/* A dim of an input for which the executable is made. Frozen, 24 bytes. */
typedef struct tenon_dim_range {
  uint32_t input;
  uint32_t axis;
  int64_t low;
  int64_t high;
} tenon_dim_range;
typedef struct tenon_executable_info {
  uint32_t struct_size;
  uint32_t flags;           /* tenon_executable_flag */
  uint64_t workspace_bytes; /* largest over the ranges */
  uint64_t workspace_align;
  const tenon_dim_range* ranges; /* outside of them the host compiles again; owned by the executable */
  uint64_t range_count;
  uint64_t traits;
  uint64_t held_bytes; /* optional: memory that it holds */
} tenon_executable_info;

typedef struct tenon_subgraph_vtable {
  uint32_t struct_size;
  uint32_t flags; /* reserved, 0 */
  /* Fused operators on offer; *stride is the distance in bytes. Also called before create, with plugin NULL.
   * @since 1.0 @threads T3 @blocks never @async no @own *first lives as long as the library is mapped
   * @null plugin may be NULL @errors FAILED_PRECONDITION (plugin needed) @reentrant yes @capture no @shutdown no
   * @fork never @fallback no fused operators @idempotent yes */
  int32_t (*list_fused)(tenon_plugin* plugin, const tenon_fused_def** first, uint64_t* count, uint64_t* stride,
                        tenon_error* error);
  /* Looks at a graph and reports the sets of nodes that it wants, and why it leaves the others. Deterministic.
   * @since 1.0 @threads T3 @blocks host @async no @own graph and sink valid only inside the call
   * @null only the error sink may be NULL @errors INVALID_ARGUMENT DEVICE_LOST @reentrant yes @capture no
   * @shutdown no @fork never @fallback no claims @idempotent yes */
  int32_t (*claim)(tenon_plugin* plugin, tenon_device* device, const tenon_graph_api* api, const tenon_graph* graph,
                   const tenon_claim_sink* sink, tenon_error* error);
  /* Compiles parts; out receives one executable per part, NULL for a declined one.
   * @since 1.0 @threads T3 @blocks device @async no
   * @own parts valid only inside the call; executables owned by the host until executable_destroy
   * @null only the error sink may be NULL
   * @errors INVALID_ARGUMENT UNIMPLEMENTED RESOURCE_EXHAUSTED CANCELLED DEVICE_LOST @reentrant yes @capture no
   * @shutdown no @fork never @fallback no claims @idempotent no */
  int32_t (*compile)(tenon_plugin* plugin, tenon_device* device, const tenon_graph_api* api,
                     const tenon_subgraph_part* parts, uint64_t count, uint64_t stride, tenon_executable** out,
                     tenon_error* error);
  /* Workspace, specialised dims, flags.
   * @since 1.0 @threads T3 @blocks never @async no @own pointers in *out live as long as executable
   * @null only the error sink may be NULL @errors none else @reentrant yes @capture no @shutdown no @fork never
   * @fallback no claims @idempotent yes */
  int32_t (*executable_info)(tenon_executable* executable, tenon_executable_info* out, tenon_error* error);
  /* Hot path: enqueues one run; inputs and outputs in boundary order. Rules of tenon_kernel_vtable.execute.
   * @since 1.0 @threads T3 @blocks never @async OK means enqueued
   * @own call borrowed for the call, memory until stream completion @null only the error sink may be NULL
   * @errors INVALID_ARGUMENT OUT_OF_RANGE (dims outside the ranges) CANCELLED INTERNAL DEVICE_LOST @reentrant yes
   * @capture by trait @shutdown no @fork never @fallback no claims @idempotent no */
  int32_t (*execute)(tenon_executable* executable, const tenon_kernel_call* call, tenon_error* error);
  /* Frees an executable; enqueued runs still finish.
   * @since 1.0 @threads T3 @blocks never @async no @own executable is consumed @null NULL does nothing
   * @errors none @reentrant yes @capture no @shutdown yes @fork never @fallback no claims @idempotent no */
  void (*executable_destroy)(tenon_executable* executable);
  /* Text listing of a compiled part, for people.
   * @since 1.0 @threads T3 @blocks never @async no @own *out lives as long as executable
   * @null only the error sink may be NULL @errors UNIMPLEMENTED @reentrant yes @capture no @shutdown no
   * @fork never @fallback no listing @idempotent yes */
  int32_t (*executable_text)(tenon_executable* executable, tenon_str* out, tenon_error* error);
} tenon_subgraph_vtable;

#ifdef __cplusplus
}
#endif
#endif
