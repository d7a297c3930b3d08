// L0: the file, without opening it. Cases 1 to 8.
#include <dlfcn.h>
#include <elf.h>

#include <algorithm>
#include <charconv>

#include "core/base/text.h"
#include "core/plugin/error_sink.h"
#include "tools/conform/cases.h"
#include "tools/conform/library.h"

namespace tenon::conform {

void ExportedSymbol(Context& context) {
  const ElfFile file = ReadPluginFile(context);
  std::vector<std::string> others;
  for (const ElfSymbol& symbol : file.symbols) {
    if (symbol.defined && symbol.name != TENON_ENTRY_SYMBOL) others.push_back(symbol.name);
  }
  context.Require(file.Defines(TENON_ENTRY_SYMBOL), "The file does not export {}.", TENON_ENTRY_SYMBOL);
  const std::size_t count = others.size();
  if (others.size() > 5) others.resize(5);
  context.Require(count == 0, "Besides {} the file exports {} symbols, among them {}.", TENON_ENTRY_SYMBOL, count,
                  JoinAnd(others));
}

void NoteEqualsDescriptor(Context& context) {
  const ElfFile file = ReadPluginFile(context);
  const auto note = ReadPluginNote(file, context.plugin());
  if (!note.ok()) context.Fail(note.status().message());
  const Library library(context);
  const tenon_plugin_descriptor& said = library.descriptor();
  const auto same = [&context](std::string_view what, const auto& in_note, const auto& in_descriptor) {
    context.Require(in_note == in_descriptor, "The note says {} {}, the descriptor {}.", what, in_note, in_descriptor);
  };
  same("ABI major", note->abi_major, said.abi_major);
  same("ABI minor", note->abi_minor, said.abi_minor);
  same("oldest host minor", note->oldest_host_minor, said.oldest_host_minor);
  same("draft", note->draft, said.abi_draft);
  same("kinds", note->kinds, said.kinds);
  same("sanitizer", note->sanitizer, said.sanitizer);
  same("id", std::string_view(note->id), View(said.plugin_id));
  same("version", std::string_view(note->version), View(said.plugin_version));
}

void UndefinedSymbols(Context& context) {
  const ElfFile file = ReadPluginFile(context);
  std::vector<void*> libraries;
  for (const std::string& name : file.needed) {
    context.Require(name.rfind("libtenon", 0) != 0, "The file needs {}: a plugin links nothing of the host.", name);
    void* library = ::dlopen(name.c_str(), RTLD_LAZY | RTLD_LOCAL);
    context.Require(library != nullptr, "The file needs {}, which the dynamic linker does not find.", name);
    libraries.push_back(library);
  }
  for (const ElfSymbol& symbol : file.symbols) {
    if (symbol.defined || symbol.weak) continue;
    const bool found = std::any_of(libraries.begin(), libraries.end(), [&symbol](void* library) {
      return ::dlsym(library, symbol.name.c_str()) != nullptr;
    });
    context.Require(found, "{} is defined neither in the file nor in a library that it names.", symbol.name);
  }
}

void UniqueSymbols(Context& context) {
  for (const ElfSymbol& symbol : ReadPluginFile(context).symbols) {
    context.Require(!symbol.defined || !symbol.unique,
                    "{} is a STB_GNU_UNIQUE symbol: it would be shared with other plugins. Compile with "
                    "-fno-gnu-unique and hidden visibility.",
                    symbol.name);
  }
}

void HardenedFile(Context& context) {
  const ElfFile file = ReadPluginFile(context);
  context.Require(!file.text_relocations, "The file has text relocations (DT_TEXTREL).");
  context.Require(!file.executable_stack, "The file asks for an executable stack.");
  context.Require(file.relro, "The file is linked without -z relro.");
  const bool now = (file.flags & DF_BIND_NOW) != 0 || (file.flags_1 & DF_1_NOW) != 0;
  context.Require(now, "The file is linked without -z now: a missing symbol would end the process at its first call.");
}

void RunPath(Context& context) {
  const ElfFile file = ReadPluginFile(context);
  std::string_view rest = file.runpath;
  bool more = true;
  while (more) {
    const std::size_t colon = rest.find(':');
    const std::string_view entry = rest.substr(0, colon);
    const bool relative = entry.rfind("$ORIGIN", 0) == 0 || entry.rfind("${ORIGIN}", 0) == 0;
    context.Require(file.runpath.empty() || relative,
                    "The file looks for its libraries in '{}'; only paths from $ORIGIN travel with it.", entry);
    more = colon != std::string_view::npos;
    if (more) rest.remove_prefix(colon + 1);
  }
}

void StaticTls(Context& context) {
  const ElfFile file = ReadPluginFile(context);
  context.Require(
      !file.static_tls,
      "The file needs static thread-local storage, of which a process has little: opening it late can fail.");
}

namespace {

// "GLIBC_2.36" against "GLIBC_2.34": numbers between dots, left to right.
bool NewerThan(std::string_view version, std::string_view floor) {
  const auto next = [](std::string_view* text) {
    int number = 0;
    const auto end = std::from_chars(text->data(), text->data() + text->size(), number).ptr;
    text->remove_prefix(static_cast<std::size_t>(end - text->data()));
    if (!text->empty()) text->remove_prefix(1);
    return number;
  };
  while (!version.empty() || !floor.empty()) {
    const int mine = next(&version), allowed = next(&floor);
    if (mine != allowed) return mine > allowed;
  }
  return false;
}

// Oldest libraries that the ABI lives with: those of Debian 12.
struct Floor {
  std::string_view family;
  std::string_view version;
};
constexpr Floor kFloors[] = {{"GLIBC_", "2.36"}, {"GLIBCXX_", "3.4.30"}, {"CXXABI_", "1.3.13"}};

}  // namespace

void VersionFloor(Context& context) {
  const ElfFile file = ReadPluginFile(context);
  context.Require(!file.needed.empty() || file.needed_versions.empty(), "The file needs versions of no library.");
  for (const std::string& needed : file.needed_versions) {
    for (const Floor& floor : kFloors) {
      if (needed.rfind(floor.family, 0) != 0) continue;
      const std::string_view version = std::string_view(needed).substr(floor.family.size());
      if (version.empty() || version[0] < '0' || version[0] > '9') continue;
      context.Require(!NewerThan(version, floor.version), "The file needs {}; the floor is {}{}.", needed, floor.family,
                      floor.version);
    }
  }
}

}  // namespace tenon::conform
