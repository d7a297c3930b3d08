// The skeleton plugin built against today's headers and against both neighbours, in a host built against today's.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmath>
#include <cstring>

#include "tests/abi/mini_host.h"

namespace tenon::test {
namespace {

class Neighbour : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    const std::string path = std::string(TENON_ABI_PLUGIN_DIR) + "/device_null_" + GetParam() + ".so";
    library_ = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    ASSERT_NE(library_, nullptr) << dlerror();
    query_ = reinterpret_cast<tenon_plugin_query_fn>(dlsym(library_, TENON_ENTRY_SYMBOL));
    ASSERT_NE(query_, nullptr);
    tenon_host_info info = TENON_INIT(tenon_host_info);
    info.abi_major = TENON_ABI_MAJOR;
    info.abi_minor = TENON_ABI_MINOR;
    descriptor_ = query_(&info);
    ASSERT_NE(descriptor_, nullptr);
    device_api_ = FindInterface<tenon_device_vtable>(*descriptor_, TENON_INTERFACE_DEVICE);
    memory_ = FindInterface<tenon_memory_vtable>(*descriptor_, TENON_INTERFACE_MEMORY);
    stream_ = FindInterface<tenon_stream_vtable>(*descriptor_, TENON_INTERFACE_STREAM);
    op_ = FindInterface<tenon_op_vtable>(*descriptor_, TENON_INTERFACE_OP);
    ASSERT_TRUE(device_api_ != nullptr && memory_ != nullptr && stream_ != nullptr && op_ != nullptr);
  }
  void TearDown() override {
    if (device_ != nullptr) device_api_->close(device_);
    if (plugin_ != nullptr) descriptor_->destroy(plugin_);
  }
  void Create() {
    tenon_create_args args = TENON_INIT(tenon_create_args);
    args.thread_budget = 1;
    args.host = &host_.api;
    ASSERT_EQ(descriptor_->create(&args, &plugin_, &error_), TENON_OK) << error_.message;
  }
  void Open() {
    Create();
    ASSERT_EQ(device_api_->open(plugin_, 0, &device_, &error_), TENON_OK) << error_.message;
    tenon_space_info info = TENON_INIT(tenon_space_info);
    ASSERT_EQ(memory_->space_get(device_, 0, &space_, &info, &error_), TENON_OK);
  }

  MiniHost host_;
  tenon_error error_;
  void* library_ = nullptr;
  tenon_plugin_query_fn query_ = nullptr;
  const tenon_plugin_descriptor* descriptor_ = nullptr;
  const tenon_device_vtable* device_api_ = nullptr;
  const tenon_memory_vtable* memory_ = nullptr;
  const tenon_stream_vtable* stream_ = nullptr;
  const tenon_op_vtable* op_ = nullptr;
  tenon_plugin* plugin_ = nullptr;
  tenon_device* device_ = nullptr;
  tenon_space* space_ = nullptr;
};

TEST_P(Neighbour, QueryIsPureAndStamped) {
  EXPECT_EQ(query_(nullptr), descriptor_);
  EXPECT_EQ(descriptor_->magic, TENON_DESCRIPTOR_MAGIC);
  EXPECT_EQ(View(descriptor_->plugin_id), "org.tenon.device_null");
  EXPECT_EQ(descriptor_->abi_minor, std::string(GetParam()) == "newer" ? 1 : 0);
  tenon_host_info other = TENON_INIT(tenon_host_info);
  other.abi_major = 2;
  EXPECT_EQ(query_(&other), nullptr);
  other.struct_size = 8;  // a host that tells nothing
  EXPECT_EQ(query_(&other), descriptor_);
}

TEST_P(Neighbour, SizesTellTheSlots) {
  const bool older = std::string(GetParam()) == "older";
  EXPECT_EQ(TENON_HAS_SLOT(memory_, tenon_memory_vtable, trim), !older);
  EXPECT_EQ(TENON_HAS_SLOT(device_api_, tenon_device_vtable, find_layout), !older);
  EXPECT_TRUE(TENON_HAS_SLOT(memory_, tenon_memory_vtable, stats));
  if (std::string(GetParam()) == "newer") {
    EXPECT_GT(memory_->struct_size, sizeof(tenon_memory_vtable));
  }
}

TEST_P(Neighbour, OptionsAndTheirErrorsReachThePlugin) {
  host_.int_options["devices"] = 3;
  Create();
  uint32_t count = 0;
  ASSERT_EQ(device_api_->device_count(plugin_, &count, nullptr), TENON_OK);
  EXPECT_EQ(count, 3u);
  tenon_device_info info = TENON_INIT(tenon_device_info);
  EXPECT_EQ(device_api_->device_info(plugin_, 3, &info, &error_), TENON_OUT_OF_RANGE);
  EXPECT_EQ(error_.message, "Device 3 of 3 was asked for.");
  EXPECT_EQ(device_api_->device_info(plugin_, 3, &info, nullptr), TENON_OUT_OF_RANGE);

  host_.int_options["devices"] = 65;
  tenon_create_args args = TENON_INIT(tenon_create_args);
  args.host = &host_.api;
  tenon_plugin* second = nullptr;
  EXPECT_EQ(descriptor_->create(&args, &second, &error_), TENON_INVALID_ARGUMENT);
  EXPECT_EQ(second, nullptr);
}

TEST_P(Neighbour, OutStructsAreNeverOverrun) {
  Create();
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  void* area = mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(area, MAP_FAILED);
  ASSERT_EQ(mprotect(static_cast<char*>(area) + page, page, PROT_NONE), 0);
  for (uint32_t size = 8; size <= sizeof(tenon_device_info); size += 8) {
    auto* info = reinterpret_cast<tenon_device_info*>(static_cast<char*>(area) + page - size);
    info->struct_size = size;
    EXPECT_EQ(device_api_->device_info(plugin_, 0, info, nullptr), TENON_OK);
    EXPECT_LE(info->struct_size, size);
  }
  munmap(area, 2 * page);
}

TEST_P(Neighbour, MemoryStreamsAndEvents) {
  host_.int_options["memory_mb"] = 1;
  Open();
  tenon_buffer* buffer = nullptr;
  uint64_t address = 0;
  ASSERT_EQ(memory_->alloc(space_, 256, 128, nullptr, TENON_ALLOC_DEFAULT, &buffer, &address, &error_), TENON_OK);
  EXPECT_EQ(address % 128, 0u);
  ASSERT_EQ(memory_->fill(space_, address, 256, 0x0102, 2, nullptr, &error_), TENON_OK);
  uint16_t back[64] = {};
  tenon_copy copy = TENON_INIT(tenon_copy);
  copy.source_space = space_;
  copy.source = address;
  copy.target = reinterpret_cast<uintptr_t>(back);
  copy.row_bytes = sizeof(back);
  copy.rows = 1;
  ASSERT_EQ(memory_->copy(device_, &copy, nullptr, &error_), TENON_OK);
  EXPECT_EQ(back[63], 0x0102);
  copy.target = address + 4;
  EXPECT_EQ(memory_->copy(device_, &copy, nullptr, &error_), TENON_INVALID_ARGUMENT);
  EXPECT_EQ(error_.message, "Source and target of a copy overlap.");
  tenon_memory_stats stats = TENON_INIT(tenon_memory_stats);
  ASSERT_EQ(memory_->stats(space_, &stats, nullptr), TENON_OK);
  EXPECT_EQ(stats.current_bytes, 256u);
  memory_->free(buffer, nullptr);

  tenon_buffer* none = nullptr;
  EXPECT_EQ(memory_->alloc(space_, 2 << 20, 0, nullptr, 0, &none, &address, &error_), TENON_RESOURCE_EXHAUSTED);
  EXPECT_EQ(error_.requested_bytes, uint64_t{2} << 20);
  ASSERT_EQ(memory_->alloc(space_, 0, 0, nullptr, 0, &none, &address, &error_), TENON_OK);
  EXPECT_EQ(address, 0u);
  memory_->free(none, nullptr);
  memory_->free(nullptr, nullptr);

  tenon_stream_options options = TENON_INIT(tenon_stream_options);
  tenon_stream* stream = nullptr;
  tenon_event* event = nullptr;
  ASSERT_EQ(stream_->stream_create(device_, &options, &stream, &error_), TENON_OK);
  ASSERT_EQ(stream_->event_create(device_, TENON_EVENT_TIMING, &event, &error_), TENON_OK);
  EXPECT_EQ(stream_->stream_wait_event(stream, event, &error_), TENON_FAILED_PRECONDITION);
  EXPECT_EQ(stream_->event_record(event, stream, &error_), TENON_OK);
  EXPECT_EQ(stream_->stream_wait_event(stream, event, &error_), TENON_OK);
  tenon_token token;
  EXPECT_EQ(stream_->stream_notify(stream, &token, &error_), TENON_OK);
  EXPECT_EQ(token.completions, 1);
  EXPECT_EQ(token.code, TENON_OK);
  stream_->event_destroy(event);
  stream_->stream_destroy(stream);
}

TEST_P(Neighbour, WrappedMemoryIsDeletedOnce) {
  Open();
  int deleted = 0;
  tenon_buffer* buffer = nullptr;
  ASSERT_EQ(memory_->wrap_external(
                space_, 4096, 64, [](void* user) { ++*static_cast<int*>(user); }, &deleted, &buffer, &error_),
            TENON_OK);
  EXPECT_EQ(deleted, 0);
  memory_->free(buffer, nullptr);
  EXPECT_EQ(deleted, 1);
}

TEST_P(Neighbour, KernelFromListToDestroy) {
  Open();
  const tenon_kernel_def* first = nullptr;
  uint64_t count = 0;
  uint64_t stride = 0;
  ASSERT_EQ(op_->list_kernels(nullptr, &first, &count, &stride, nullptr), TENON_OK);
  ASSERT_EQ(count, 1u);
  EXPECT_EQ(View(first->op_type), "Relu");

  const std::vector<int64_t> dims = {2, 3};
  tenon_value_desc in = DescOf(TENON_DTYPE_F64, dims);
  tenon_value_desc out = DescOf(TENON_DTYPE_F32, dims);
  tenon_kernel_query query = TENON_INIT(tenon_kernel_query);
  query.op_type = Str("Relu");
  query.inputs = &in;
  query.outputs = &out;
  query.input_count = query.output_count = 1;
  query.input_stride = query.output_stride = sizeof(in);
  query.device = device_;

  uint32_t verdict = 0;
  std::string reason;
  tenon_reason_sink sink = TENON_INIT(tenon_reason_sink);
  sink.user = &reason;
  sink.reason = [](void* user, int32_t, tenon_str text) { *static_cast<std::string*>(user) = std::string(View(text)); };
  ASSERT_EQ(first->vtable->supports(nullptr, first, &query, &verdict, &sink), TENON_OK);
  EXPECT_EQ(verdict, static_cast<uint32_t>(TENON_VERDICT_NO));
  EXPECT_EQ(reason, "dtype f64 is not f32");
  in.dtype = TENON_DTYPE_F32;
  ASSERT_EQ(first->vtable->supports(plugin_, first, &query, &verdict, nullptr), TENON_OK);
  EXPECT_EQ(verdict, static_cast<uint32_t>(TENON_VERDICT_YES));
  EXPECT_EQ(first->vtable->query_layouts, nullptr);

  tenon_kernel* kernel = nullptr;
  ASSERT_EQ(first->vtable->create(plugin_, first, &query, &kernel, &error_), TENON_OK);
  tenon_plan_args args = TENON_INIT(tenon_plan_args);
  args.inputs = &in;
  args.outputs = &out;
  args.input_count = args.output_count = 1;
  args.input_stride = args.output_stride = sizeof(in);
  tenon_plan_result result = TENON_INIT(tenon_plan_result);
  ASSERT_EQ(first->vtable->plan(kernel, &args, &result, &error_), TENON_OK);
  EXPECT_EQ(result.workspace_bytes, 0u);

  const float x[6] = {-1, 2, -3, 4, NAN, 0};
  float y[6] = {};
  const tenon_tensor x_view = ViewOf(x, TENON_DTYPE_F32, dims);
  const tenon_tensor y_view = ViewOf(y, TENON_DTYPE_F32, dims);
  tenon_kernel_call call = TENON_INIT(tenon_kernel_call);
  call.inputs = &x_view;
  call.outputs = &y_view;
  call.input_count = call.output_count = 1;
  call.input_stride = call.output_stride = sizeof(x_view);
  ASSERT_EQ(first->vtable->execute(kernel, &call, nullptr), TENON_OK);
  EXPECT_EQ(y[0], 0);
  EXPECT_EQ(y[1], 2);
  EXPECT_TRUE(std::isnan(y[4]));
  first->vtable->destroy(kernel);
}

TEST_P(Neighbour, ReorderCopiesStridedViews) {
  Open();
  const float from[6] = {1, 2, 3, 4, 5, 6};
  float to[6] = {};
  const std::vector<int64_t> dims = {3, 2};
  const int64_t transposed[] = {1, 3};
  tenon_tensor source = ViewOf(from, TENON_DTYPE_F32, dims);
  source.strides = transposed;
  const tenon_tensor target = ViewOf(to, TENON_DTYPE_F32, dims);
  ASSERT_EQ(device_api_->reorder(device_, &source, &target, nullptr, &error_), TENON_OK) << error_.message;
  const float expected[6] = {1, 4, 2, 5, 3, 6};
  EXPECT_EQ(std::memcmp(to, expected, sizeof(to)), 0);
  source.layout = 7;
  EXPECT_EQ(device_api_->reorder(device_, &source, &target, nullptr, &error_), TENON_UNIMPLEMENTED);
}

// A host that knows less: the optional tail of its table is not there.
TEST_P(Neighbour, HostTableMayBeShorter) {
  host_.api.struct_size = static_cast<uint32_t>(offsetof(tenon_host_api, trace_begin));
  Open();
  EXPECT_NE(space_, nullptr);
}

INSTANTIATE_TEST_SUITE_P(Abi, Neighbour, testing::Values("today", "older", "newer"),
                         [](const testing::TestParamInfo<const char*>& which) { return std::string(which.param); });

}  // namespace
}  // namespace tenon::test
