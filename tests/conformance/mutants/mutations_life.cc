// Mutations of instances, hosts of other versions, and of how processes end.
#include <dlfcn.h>
#include <pthread.h>
#include <unistd.h>

#include <cstdlib>

#include "mutations.h"

namespace mutant {
namespace {

void NeedsNewerThanItself(Tables* tables) { tables->descriptor.oldest_host_minor = 5; }

// Takes what lies behind the known part of the table for a service.
void BelievesNewerHost(Tables* tables) {
  tables->descriptor.create = [](const tenon_create_args* args, tenon_plugin** out, tenon_error* error) {
    if (args->host->struct_size > sizeof(tenon_host_api)) {
      using Service = void (*)(tenon_host*);
      Service service = nullptr;
      std::memcpy(&service, reinterpret_cast<const char*>(args->host) + sizeof(tenon_host_api), sizeof(service));
      service(args->host->host);
    }
    return Sound().descriptor.create(args, out, error);
  };
}

void RefusesLargerStruct(Tables* tables) {
  tables->stream.stream_create = [](tenon_device* device, const tenon_stream_options* options, tenon_stream** out,
                                    tenon_error* error) {
    if (options->struct_size != sizeof(tenon_stream_options))
      return Fail(error, TENON_ABI_MISMATCH, "The options have another size than expected.");
    return Sound().stream.stream_create(device, options, out, error);
  };
}

void OneInstanceForAll(Tables* tables) {
  tables->descriptor.create = [](const tenon_create_args* args, tenon_plugin** out, tenon_error* error) {
    static tenon_plugin* first = nullptr;
    if (first == nullptr) return Sound().descriptor.create(args, &first, error) == TENON_OK ? (*out = first, 0) : 13;
    *out = first;
    return 0;
  };
  tables->descriptor.destroy = [](tenon_plugin*) {};
}

void CallsByName(Tables* tables) {
  tables->descriptor.create = [](const tenon_create_args* args, tenon_plugin** out, tenon_error* error) {
    using Function = int (*)();
    if (const auto deflate = reinterpret_cast<Function>(::dlsym(RTLD_DEFAULT, "deflate"))) deflate();
    return Sound().descriptor.create(args, out, error);
  };
}

// Arguments in memory that all threads share.
void SharesArguments(Tables* tables) {
  tables->memory.fill = [](tenon_space* space, uint64_t address, uint64_t bytes, uint64_t pattern, uint32_t width,
                           tenon_stream* stream, tenon_error* error) {
    static volatile uint64_t kept = 0;
    kept = pattern;
    ::usleep(100);
    return Sound().memory.fill(space, address, bytes, kept, width, stream, error);
  };
}

bool g_alive = false;

void DiesAtExit(Tables* tables) {
  tables->descriptor.create = [](const tenon_create_args* args, tenon_plugin** out, tenon_error* error) {
    g_alive = true;
    std::atexit([] {
      if (g_alive) std::abort();
    });
    return Sound().descriptor.create(args, out, error);
  };
  tables->descriptor.destroy = [](tenon_plugin* plugin) {
    g_alive = false;
    Sound().descriptor.destroy(plugin);
  };
}

void DiesInForkedChild(Tables* tables) {
  tables->descriptor.create = [](const tenon_create_args* args, tenon_plugin** out, tenon_error* error) {
    ::pthread_atfork(nullptr, nullptr, [] { std::abort(); });
    return Sound().descriptor.create(args, out, error);
  };
}

void DropsTokensWhenBusy(Tables* tables) {
  tables->stream.stream_notify = [](tenon_stream* stream, tenon_token* token, tenon_error* error) {
    if (Sound().stream.stream_query(stream, nullptr) == TENON_WOULD_BLOCK) return static_cast<int32_t>(TENON_OK);
    return Sound().stream.stream_notify(stream, token, error);
  };
}

void CopiesShort(Tables* tables) {
  tables->memory.copy = [](tenon_device* device, const tenon_copy* copy, tenon_stream* stream, tenon_error* error) {
    tenon_copy shorter = *copy;
    const bool odd = copy->rows == 1 && copy->row_bytes % 64 == 63;
    if (odd) --shorter.row_bytes;
    return Sound().memory.copy(device, &shorter, stream, error);
  };
}

constexpr Mutation kMutations[] = {
    {"needs_newer_than_itself", NeedsNewerThanItself},
    {"believes_newer_host", BelievesNewerHost},
    {"refuses_larger_struct", RefusesLargerStruct},
    {"one_instance_for_all", OneInstanceForAll},
    {"calls_by_name", CallsByName},
    {"shares_arguments", SharesArguments},
    {"dies_at_exit", DiesAtExit},
    {"dies_in_forked_child", DiesInForkedChild},
    {"drops_tokens_when_busy", DropsTokensWhenBusy},
    {"copies_short", CopiesShort},
};

}  // namespace

const Mutation* FindLifeMutation(std::string_view name) { return FindIn(kMutations, name); }

}  // namespace mutant
