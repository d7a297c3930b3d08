// L0: the entry and its answers to other hosts. Cases 9 to 15.
#include <cstddef>
#include <thread>

#include "tools/conform/cases.h"
#include "tools/conform/guard_page.h"
#include "tools/conform/session.h"

namespace tenon::conform {
namespace {

// Bytes of everything that the descriptor shows, so that a change is seen.
std::uint64_t Digest(const tenon_plugin_descriptor& descriptor) {
  std::uint64_t hash = 14695981039346656037u;
  const auto add = [&hash](const void* data, std::uint64_t bytes) {
    for (std::uint64_t i = 0; i < bytes; ++i) {
      hash = (hash ^ static_cast<const unsigned char*>(data)[i]) * 1099511628211u;
    }
  };
  add(&descriptor, std::min<std::uint64_t>(descriptor.struct_size, sizeof(descriptor)));
  add(descriptor.interfaces, std::uint64_t{descriptor.interface_count} * descriptor.interface_stride);
  return hash;
}

// Uses an instance a little: device, stream, memory, where it has them.
void UseBriefly(Context& context, const HostFaults& faults) {
  if (Library(context).Table<tenon_device_vtable>() == nullptr) {
    const Instance instance(context, faults);
    context.Require(instance.plugin() != nullptr, "create gave no instance.");
    return;
  }
  Session session(context, faults);
  Block block = session.Allocate(4096);
  session.Fill(block, 0x5A, session.stream());
  const auto bytes = session.Read(block, session.stream());
  context.Require(bytes[0] == 0x5A && bytes[4095] == 0x5A, "Filled memory reads back as {:#x}.", bytes[0]);
  session.Free(block);
}

}  // namespace

void QueryIsPure(Context& context) {
  const Library library(context);
  const tenon_host_info info = OrdinaryHost();
  const tenon_plugin_descriptor* first = library.query()(&info);
  const std::uint64_t digest = Digest(*first);
  std::thread([] {}).join();  // a sanitizer starts a thread of its own beside the first
  const int files = OpenFiles(), threads = Threads();
  const std::uint64_t heap = HeapBytes();
  for (int i = 0; i < 1000; ++i) {
    context.Require(library.query()(&info) == first, "Call {} of the entry gives another pointer.", i);
  }
  context.Require(HeapBytes() <= heap, "1000 calls of the entry leave {} more bytes allocated.", HeapBytes() - heap);
  const auto ask = [&] {
    for (int i = 0; i < 1000; ++i)
      context.Require(library.query()(&info) == first, "The entry gives another pointer in another thread.");
  };
  std::thread one(ask), two(ask);
  one.join();
  two.join();
  context.Require(OpenFiles() == files, "The entry left {} file descriptors open.", OpenFiles() - files);
  context.Require(Threads() <= threads, "The entry left {} threads running.", Threads() - threads);
  context.Require(Digest(*first) == digest, "The descriptor changed while it was asked for.");
}

void HostStructSizes(Context& context) {
  const Library library(context);
  const tenon_host_info info = OrdinaryHost();
  // Up to the last field that is not optional.
  const std::uint32_t smaller = offsetof(tenon_host_info, features);
  GuardedBytes cut(smaller);
  std::memcpy(cut.data(), &info, smaller);
  cut.as<tenon_host_info>()->struct_size = smaller;
  const auto* of_smaller = Call(TENON_ENTRY_SYMBOL, library.query(), cut.as<tenon_host_info>());
  context.Require(of_smaller == &library.descriptor(), "A host struct of {} bytes gives another answer.", smaller);
  GuardedBytes grown(sizeof(info) + 64);
  std::memset(grown.data(), 0xEE, sizeof(info) + 64);
  std::memcpy(grown.data(), &info, sizeof(info));
  grown.as<tenon_host_info>()->struct_size = sizeof(info) + 64;
  const auto* of_larger = Call(TENON_ENTRY_SYMBOL, library.query(), grown.as<tenon_host_info>());
  context.Require(of_larger == &library.descriptor(), "A host struct of {} bytes gives another answer.",
                  sizeof(info) + 64);
}

void OlderHost(Context& context) {
  const Library library(context);
  const std::uint16_t oldest = library.descriptor().oldest_host_minor;
  context.Require(oldest <= library.descriptor().abi_minor,
                  "The descriptor needs host minor {} but is built for minor {}.", oldest,
                  library.descriptor().abi_minor);
  tenon_host_info info = OrdinaryHost();
  info.abi_minor = oldest;
  context.Require(Call(TENON_ENTRY_SYMBOL, library.query(), &info) != nullptr,
                  "The entry refuses a host of minor {}, the oldest that it says it can live with.", oldest);
  HostFaults faults;
  faults.abi_minor = oldest;
  faults.no_optional_slots = true;
  UseBriefly(context, faults);
  if (oldest == 0) return;
  faults.abi_minor = oldest - 1u;
  FakeHost host(context, faults);
  tenon_plugin* plugin = nullptr;
  tenon_error error;
  const std::int32_t code = Create(library, host, &plugin, &error);
  context.Require(code == TENON_ABI_MISMATCH && error.message_size > 0,
                  "create answers {} to a host that is too old; it must be ABI_MISMATCH with a text.", code);
}

void FutureHost(Context& context) {
  const Library library(context);
  tenon_host_info info = OrdinaryHost();
  info.abi_minor = TENON_ABI_MINOR + 7;
  context.Require(Call(TENON_ENTRY_SYMBOL, library.query(), &info) != nullptr,
                  "The entry refuses a host of a newer minor; a plugin never does.");
  HostFaults faults;
  faults.abi_minor = TENON_ABI_MINOR + 7;
  faults.garbage_bytes = 64;
  UseBriefly(context, faults);
}

void UnknownMajor(Context& context) {
  const Library library(context);
  for (const std::uint32_t major : {0u, TENON_ABI_MAJOR + 1u, 0xFFFFu}) {
    tenon_host_info info = OrdinaryHost();
    info.abi_major = major;
    context.Require(Call(TENON_ENTRY_SYMBOL, library.query(), &info) == nullptr,
                    "The entry accepts a host of major {}.", major);
  }
}

void HostTableGarbage(Context& context) {
  HostFaults faults;
  faults.garbage_bytes = 256;
  UseBriefly(context, faults);
}

void OptionalServicesAbsent(Context& context) {
  HostFaults faults;
  faults.no_optional_slots = true;
  UseBriefly(context, faults);
}

}  // namespace tenon::conform
