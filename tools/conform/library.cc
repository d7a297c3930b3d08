#include "tools/conform/library.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

#include <utility>

#include "core/plugin/error_sink.h"

namespace tenon::conform {

ElfFile ReadPluginFile(Context& context) {
  const int file = ::open(context.plugin().c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) context.Fail(fmt::format("{} cannot be read.", context.plugin()));
  ElfFile elf = ReadElf(file);
  ::close(file);
  if (elf.problem != ElfProblem::kNone) context.Fail(fmt::format("{}: {}.", context.plugin(), elf.detail));
  return elf;
}

tenon_host_info OrdinaryHost() {
  tenon_host_info info = TENON_INIT(tenon_host_info);
  info.abi_major = TENON_ABI_MAJOR;
  info.abi_minor = TENON_ABI_MINOR;
  info.oldest_plugin_minor = TENON_ABI_MINOR_FLOOR;
  info.abi_draft = TENON_ABI_DRAFT;
  info.host_version = TENON_STR("conform");
  return info;
}

Library::Library(Context& context) : Library(context, RTLD_NOW | RTLD_LOCAL) {}

Library::Library(Context& context, int dlopen_mode) : context_(context), path_(context.plugin()) { Open(dlopen_mode); }

Library::Library(Context& context, std::string path) : context_(context), path_(std::move(path)) {
  Open(RTLD_NOW | RTLD_LOCAL);
}

void Library::Open(int dlopen_mode) {
  void* handle = ::dlopen(path_.c_str(), dlopen_mode);
  if (handle == nullptr) context_.Fail(fmt::format("dlopen refused the file: {}", ::dlerror()));
  query_ = reinterpret_cast<tenon_plugin_query_fn>(::dlsym(handle, TENON_ENTRY_SYMBOL));
  if (query_ == nullptr) context_.Fail("The file does not export " TENON_ENTRY_SYMBOL ".");
  const tenon_host_info info = OrdinaryHost();
  descriptor_ = Call(TENON_ENTRY_SYMBOL, query_, &info);
  if (descriptor_ == nullptr) context_.Fail("The entry refused an ordinary host of its own ABI version.");
  if (descriptor_->magic != TENON_DESCRIPTOR_MAGIC) context_.Fail("The descriptor has another magic number.");
  if (descriptor_->create == nullptr || descriptor_->destroy == nullptr)
    context_.Fail("The descriptor has no create or no destroy.");
  const char* at = reinterpret_cast<const char*>(descriptor_->interfaces);
  for (std::uint32_t i = 0; i < descriptor_->interface_count; ++i, at += descriptor_->interface_stride) {
    const auto* record = reinterpret_cast<const tenon_interface*>(at);
    interfaces_.push_back(record);
    const InterfaceLayout* layout = FindInterfaceLayout(View(record->id));
    if (layout == nullptr) continue;
    std::vector<std::uint64_t> memory((layout->size + 7) / 8);
    const Status negotiated = NegotiateTable(*layout, record->vtable, TENON_ABI_MINOR, "the plugin", memory.data());
    if (!negotiated.ok()) context_.Fail(negotiated.message());
    tables_[layout->id] = std::move(memory);
  }
}

}  // namespace tenon::conform
