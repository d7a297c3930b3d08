// A plugin written in C99 without the sdk runs in a host of C++.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include "tests/abi/mini_host.h"

namespace tenon::test {
namespace {

TEST(PlainC, CopiesThroughItsKernel) {
  void* library = dlopen(TENON_ABI_PLUGIN_DIR "/plain_c.so", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  ASSERT_NE(library, nullptr) << dlerror();
  const auto query = reinterpret_cast<tenon_plugin_query_fn>(dlsym(library, TENON_ENTRY_SYMBOL));
  ASSERT_NE(query, nullptr);
  const tenon_plugin_descriptor& descriptor = *query(nullptr);
  EXPECT_EQ(descriptor.abi_major, TENON_ABI_MAJOR);
  EXPECT_EQ(descriptor.abi_minor, TENON_ABI_MINOR);
  const auto* op = FindInterface<tenon_op_vtable>(descriptor, TENON_INTERFACE_OP);
  ASSERT_NE(op, nullptr);
  EXPECT_FALSE(TENON_HAS_SLOT(op, tenon_op_vtable, list_operators));

  MiniHost host;
  tenon_error error;
  tenon_create_args args = TENON_INIT(tenon_create_args);
  args.host = &host.api;
  tenon_plugin* plugin = nullptr;
  ASSERT_EQ(descriptor.create(&args, &plugin, &error), TENON_OK);
  const tenon_kernel_def* def = nullptr;
  uint64_t count = 0;
  uint64_t stride = 0;
  ASSERT_EQ(op->list_kernels(plugin, &def, &count, &stride, &error), TENON_OK);
  ASSERT_EQ(count, 1u);
  tenon_kernel_query question = TENON_INIT(tenon_kernel_query);
  tenon_kernel* kernel = nullptr;
  ASSERT_EQ(def->vtable->create(plugin, def, &question, &kernel, &error), TENON_OK);

  tenon_plan_args plan = TENON_INIT(tenon_plan_args);
  tenon_plan_result result = TENON_INIT(tenon_plan_result);
  const std::vector<int64_t> unknown = {-1};
  tenon_value_desc in = DescOf(TENON_DTYPE_F32, unknown);
  plan.inputs = &in;
  plan.input_count = 1;
  plan.input_stride = sizeof(in);
  EXPECT_EQ(def->vtable->plan(kernel, &plan, &result, &error), TENON_INVALID_ARGUMENT);
  EXPECT_EQ(error.message, "A size is not known.");
  const std::vector<int64_t> dims = {3};
  in.dims = dims.data();
  ASSERT_EQ(def->vtable->plan(kernel, &plan, &result, &error), TENON_OK);

  const float from[3] = {1, 2, 3};
  float to[3] = {};
  const tenon_tensor x = ViewOf(from, TENON_DTYPE_F32, dims);
  const tenon_tensor y = ViewOf(to, TENON_DTYPE_F32, dims);
  tenon_kernel_call call = TENON_INIT(tenon_kernel_call);
  call.inputs = &x;
  call.outputs = &y;
  call.input_count = call.output_count = 1;
  ASSERT_EQ(def->vtable->execute(kernel, &call, nullptr), TENON_OK);
  EXPECT_EQ(to[2], 3);
  def->vtable->destroy(kernel);
  descriptor.destroy(plugin);
}

}  // namespace
}  // namespace tenon::test
