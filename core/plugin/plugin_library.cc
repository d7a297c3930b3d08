#include "core/plugin/plugin_library.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <exception>
#include <mutex>
#include <utility>

#include "core/base/text.h"
#include "core/platform/dynamic_library.h"
#include "core/platform/process_state.h"
#include "core/plugin/abi_trace.h"
#include "core/plugin/error_sink.h"
#include "core/plugin/plugin_message.h"

namespace tenon {

namespace {

// Reads nothing beyond what the plugin says it has.
constexpr std::size_t kMinimumDescriptor = offsetof(tenon_plugin_descriptor, destroy) + sizeof(void*);
constexpr std::size_t kMinimumInterface = offsetof(tenon_interface, vtable) + sizeof(void*);
constexpr std::uint32_t kMaxInterfaces = 1024;

tenon_host_info HostInfo() {
  const HostAbi& abi = ThisHostAbi();
  tenon_host_info info = TENON_INIT(tenon_host_info);
  info.abi_major = abi.major;
  info.abi_minor = abi.minor;
  info.oldest_plugin_minor = abi.oldest_plugin_minor;
  info.abi_draft = abi.draft;
  info.host_version = TENON_STR(TENON_VERSION_STRING);
  return info;
}

// The word after `mark` up to a space, comma or end: "undefined symbol: foo, version X" -> "foo".
std::string WordAfter(const std::string& text, std::string_view mark) {
  const std::size_t at = text.find(mark);
  if (at == std::string::npos) return "";
  const std::size_t begin = at + mark.size();
  const std::size_t end = text.find_first_of(" ,)\n", begin);
  return text.substr(begin, end == std::string::npos ? std::string::npos : end - begin);
}

using LibraryTable = std::vector<std::pair<FileIdentity, const PluginLibrary*>>;

// Never destroyed: code of plugins may run until the very end of the process.
LibraryTable& Opened() {
  static auto* table = new LibraryTable;
  return *table;
}

}  // namespace

Status ExplainLinkerError(const PluginPrecheck& plugin, const std::string& text) {
  const std::string name = plugin.file_name();
  const std::string& id = plugin.note.id;
  const std::string absent = ": cannot open shared object file: No such file or directory";
  if (const std::size_t at = text.find(absent); at != std::string::npos) {
    const std::size_t begin = text.rfind(' ', at) == std::string::npos ? 0 : text.rfind(' ', at) + 1;
    const std::string library = text.substr(begin, at - begin);
    for (const MissingLibrary& missing : plugin.missing) {
      if (missing.name == library) return MissingLibraryError(plugin, missing);
    }
    return MissingLibraryError(plugin, {library, {name}, {}});
  }
  if (const std::string symbol = WordAfter(text, "undefined symbol: "); !symbol.empty()) {
    return PluginError(PluginMessage::kUndefinedSymbol, name,
                       "cannot be opened: undefined symbol {}: the plugin was linked without one of its own "
                       "dependencies (the framework "
                       "exports nothing). Report it to the vendor of {}.",
                       symbol, id);
  }
  if (const std::string version = WordAfter(text, "version `");
      !version.empty() && text.find("' not found") != std::string::npos) {
    return PluginError(
        PluginMessage::kMissingVersion, name,
        "cannot be opened: it needs {}, which a library on this system is too old for ({}). Upgrade that library, or "
        "install the {} built for this system.",
        version.substr(0, version.find('\'')), text, id);
  }
  if (text.find("static TLS block") != std::string::npos) {
    return PluginError(PluginMessage::kStaticTls, name,
                       "cannot be opened: no static thread-local storage is left. Name {} first under plugins.load, or "
                       "rebuild it with "
                       "-ftls-model=global-dynamic.",
                       id);
  }
  return PluginError(PluginMessage::kOpenFailed, name, "cannot be opened; the dynamic linker says: {}.", text);
}

Result<const PluginLibrary*> PluginLibrary::Open(const PluginPrecheck& plugin, std::vector<std::string>* changes) {
  TENON_TRY(plugin.status);
  // One at a time: the table is that of the process, and so is the state that is compared.
  static std::mutex opening;
  const std::lock_guard<std::mutex> lock(opening);
  for (const auto& entry : Opened()) {
    if (entry.first == plugin.identity) return entry.second;
  }
  const std::string name = plugin.file_name();
  const ProcessState before = CaptureProcessState();
  Result<DynamicLibrary> library = DynamicLibrary::Open(plugin.real_path);
  const std::vector<std::string> changed = DescribeChanges(before, CaptureProcessState(), /*threads_too=*/true);
  if (!changed.empty()) {
    changes->push_back(PluginError(PluginMessage::kProcessChanged, name, "changed the process while it was opened: {}.",
                                   JoinAnd(changed))
                           .message());
  }
  if (!library.ok()) return ExplainLinkerError(plugin, library.status().message());
  const Result<FileIdentity> now = IdentityOf(plugin.real_path);
  if (!now.ok() || *now != plugin.identity || library->identity() != plugin.identity) {
    return PluginError(PluginMessage::kFileChanged, name,
                       "was replaced at {} while it was being opened. Run again when the installation has finished.",
                       plugin.real_path);
  }
  Result<void*> entry = library->Symbol(TENON_ENTRY_SYMBOL);
  if (!entry.ok()) {
    const bool elsewhere = entry.status().code() == Code::kFailedPrecondition;
    return PluginError(elsewhere ? PluginMessage::kEntryElsewhere : PluginMessage::kNoEntry, name,
                       "does not itself provide {}: {}.", TENON_ENTRY_SYMBOL, entry.status().message());
  }
  std::unique_ptr<PluginLibrary> result(new PluginLibrary);
  result->path_ = plugin.path;
  result->file_name_ = name;
  result->note_ = plugin.note;
  TENON_TRY(result->Query(reinterpret_cast<tenon_plugin_query_fn>(*entry)));
  Opened().emplace_back(plugin.identity, result.get());
  return static_cast<const PluginLibrary*>(result.release());
}

Status PluginLibrary::Query(tenon_plugin_query_fn query) {
  const tenon_host_info host = HostInfo();
  const tenon_plugin_descriptor* raw = nullptr;
  try {
    raw = CallAbi("tenon.plugin", "query", query, &host);
  } catch (...) {
    return PluginError(PluginMessage::kThrew, file_name_,
                       "threw a C++ exception out of {}. Report it to the vendor of {}.", TENON_ENTRY_SYMBOL, id());
  }
  if (raw == nullptr) {
    return PluginError(PluginMessage::kQueryFailed, file_name_,
                       "refuses this host (plugin ABI {}.{}). Install a version of {} made for it.", host.abi_major,
                       host.abi_minor, id());
  }
  if (raw->struct_size < kMinimumDescriptor) {
    return PluginError(
        PluginMessage::kBadDescriptor, file_name_,
        "gives {} as the size of tenon_plugin_descriptor; at least {} bytes are needed. Report it to the vendor of {}.",
        raw->struct_size, kMinimumDescriptor, id());
  }
  if (raw->magic != TENON_DESCRIPTOR_MAGIC) {
    return PluginError(PluginMessage::kBadDescriptor, file_name_,
                       "has a descriptor with magic {:#010x} instead of {:#010x}: it was not started with "
                       "TENON_PLUGIN_DESCRIPTOR_HEAD. Report it to the vendor of {}.",
                       raw->magic, TENON_DESCRIPTOR_MAGIC, id());
  }
  std::memcpy(&descriptor_, raw, std::min<std::size_t>(raw->struct_size, sizeof(descriptor_)));
  descriptor_.struct_size = sizeof(descriptor_);
  TENON_TRY(CheckAgainstNote());
  vendor_ = View(descriptor_.vendor);
  licence_ = View(descriptor_.licence);
  compiler_ = View(descriptor_.compiler);
  abi_minor_ = std::min<std::uint32_t>(host.abi_minor, descriptor_.abi_minor);
  if (descriptor_.create == nullptr || descriptor_.destroy == nullptr) {
    return PluginError(PluginMessage::kNullSlots, file_name_,
                       "leaves {} of its descriptor NULL. Report it to the vendor of {}.",
                       descriptor_.create != nullptr    ? "destroy"
                       : descriptor_.destroy != nullptr ? "create"
                                                        : "create and destroy",
                       id());
  }
  TENON_TRY(ReadInterfaces(*raw));
  return CheckKinds();
}

Status PluginLibrary::CheckAgainstNote() const {
  std::vector<std::string> differences;
  const auto compare = [&differences](const char* what, const std::string& loaded, const std::string& noted) {
    if (loaded != noted) differences.push_back(fmt::format("{} {} (note: {})", what, loaded, noted));
  };
  compare("id", std::string(View(descriptor_.plugin_id)), note_.id);
  compare("version", std::string(View(descriptor_.plugin_version)), note_.version);
  compare("ABI major", std::to_string(descriptor_.abi_major), std::to_string(note_.abi_major));
  compare("ABI minor", std::to_string(descriptor_.abi_minor), std::to_string(note_.abi_minor));
  compare("oldest host minor", std::to_string(descriptor_.oldest_host_minor), std::to_string(note_.oldest_host_minor));
  compare("draft mark", std::to_string(descriptor_.abi_draft), std::to_string(note_.draft));
  compare("kind mask", fmt::format("{:#x}", descriptor_.kinds), fmt::format("{:#x}", note_.kinds));
  compare("sanitizer kind", std::to_string(descriptor_.sanitizer), std::to_string(note_.sanitizer));
  if (differences.empty()) return Status();
  return PluginError(PluginMessage::kNoteDiffers, file_name_,
                     "says of itself, when loaded, {}. Rebuild it completely, or report it to the vendor.",
                     JoinAnd(differences));
}

Status PluginLibrary::ReadInterfaces(const tenon_plugin_descriptor& raw) {
  const std::uint32_t count = raw.interface_count;
  if (count == 0 || count > kMaxInterfaces || raw.interfaces == nullptr || raw.interface_stride < kMinimumInterface) {
    return PluginError(PluginMessage::kBadInterface, file_name_,
                       "lists {} interfaces of {} bytes each at {}; between 1 and {} of at least {} bytes are needed. "
                       "Report it to the vendor.",
                       count, raw.interface_stride, static_cast<const void*>(raw.interfaces), kMaxInterfaces,
                       kMinimumInterface);
  }
  const char* at = static_cast<const char*>(static_cast<const void*>(raw.interfaces));
  for (std::uint32_t i = 0; i < count; ++i, at += raw.interface_stride) {
    tenon_interface record = TENON_INIT(tenon_interface);
    std::memcpy(&record, at, std::min<std::size_t>(raw.interface_stride, sizeof(record)));
    TENON_TRY(AddInterface(record));
  }
  return Status();
}

Status PluginLibrary::AddInterface(const tenon_interface& record) {
  const std::string id_text(View(record.id));
  if (id_text.empty() || std::find(interface_ids_.begin(), interface_ids_.end(), id_text) != interface_ids_.end()) {
    return PluginError(PluginMessage::kBadInterface, file_name_,
                       "lists the interface '{}' {}. Report it to the vendor.", id_text,
                       id_text.empty() ? "without a name" : "twice");
  }
  interface_ids_.push_back(id_text);
  const InterfaceLayout* layout = FindInterfaceLayout(id_text);
  if (layout == nullptr) {  // a vendor's own, or newer than this host
    vendor_tables_[id_text] = {record.vtable, record.abi_minor};
    return Status();
  }
  std::vector<std::uint64_t>& table = tables_[id_text];
  table.resize((layout->size + 7) / 8);
  TENON_TRY(NegotiateTable(*layout, record.vtable, std::min(record.abi_minor, abi_minor_), file_name_, table.data()));
  std::memcpy(&stated_sizes_[id_text], record.vtable, sizeof(std::uint32_t));
  return Status();
}

Status PluginLibrary::CheckKinds() const {
  for (const InterfaceLayout* layout : InterfaceLayouts()) {
    const bool announced = note_.Has(layout->kind);
    const bool listed = tables_.find(layout->id) != tables_.end();
    if (announced == listed) continue;
    return PluginError(PluginMessage::kBadInterface, file_name_,
                       "{} {} in its kind mask {:#x} but {} it. Report it to the vendor.",
                       announced ? "announces" : "does not announce", layout->id, note_.kinds,
                       announced ? "does not offer" : "offers");
  }
  return Status();
}

const void* PluginLibrary::VendorInterface(std::string_view id_text, std::uint32_t* version) const {
  const auto found = vendor_tables_.find(id_text);
  if (found == vendor_tables_.end()) return nullptr;
  if (version != nullptr) *version = found->second.version;
  return found->second.table;
}

}  // namespace tenon
