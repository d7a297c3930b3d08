#include "core/plugin/plugin_message.h"

#include <array>
#include <charconv>

namespace tenon {

namespace {

using M = PluginMessage;

constexpr std::array kMessages = {
    PluginMessageInfo{M::kNotFound, "warning",
                      "A plugin named under `load:` is in none of the folders searched, or its path leads nowhere.",
                      "Write the path of the file, or add its folder to `plugins.search` or `--plugin-dir`."},
    PluginMessageInfo{M::kEmptySearchElement, "error",
                      "A search path has an empty element. It does not mean the current folder.",
                      "Remove the extra colon or the empty entry."},
    PluginMessageInfo{M::kNothingFound, "info", "No plugin was found in the folders searched.",
                      "Nothing to do unless the run needs one; then add its folder."},
    PluginMessageInfo{M::kFolderUnreadable, "warning", "A folder to be searched is absent or cannot be read.",
                      "Correct the path or its permissions."},
    PluginMessageInfo{M::kPinUnknown, "error", "`plugins.pin` names a file that cannot be used.",
                      "Correct the path, or remove the pin."},
    PluginMessageInfo{M::kPinOtherId, "error", "The file that `plugins.pin` names has another plugin id.",
                      "Pin the id that the file has, or another file."},
    PluginMessageInfo{M::kOtherMajor, "warning", "The plugin was built for another major version of the plugin ABI.",
                      "Install the plugin version made for this major version."},
    PluginMessageInfo{M::kTooOld, "warning",
                      "The plugin was built for a minor version that this host no longer serves.",
                      "Rebuild the plugin with newer headers, or install a newer plugin."},
    PluginMessageInfo{M::kNeedsNewerHost, "warning", "The plugin cannot live with a host as old as this one.",
                      "Upgrade Tenon, or install an older plugin."},
    PluginMessageInfo{M::kOtherDraft, "warning",
                      "The plugin ABI is a draft, and the plugin was built with other headers than this host.",
                      "Rebuild the plugin with the `plugin_api` folder that belongs to this Tenon."},
    PluginMessageInfo{M::kOtherSanitizer, "warning", "Plugin and host were built with different sanitizers.",
                      "Build both with the same sanitizer, or both without."},
    PluginMessageInfo{M::kCpuFeature, "warning", "The plugin needs processor instructions that this machine lacks.",
                      "Install the plugin's variant for this processor."},
    PluginMessageInfo{M::kBadNote, "warning", "The file has an ABI note that cannot be read.",
                      "Rebuild the plugin with TENON_PLUGIN_NOTE(...); report it to its vendor."},
    PluginMessageInfo{M::kUnreadable, "warning", "The file cannot be opened or read.",
                      "Correct its permissions, or the path."},
    PluginMessageInfo{M::kNoNote, "info", "The file is a library, but not a plugin: it has no ABI note.",
                      "If it is meant to be one, add TENON_PLUGIN_NOTE(...) to it and rebuild."},
    PluginMessageInfo{M::kNotElf, "warning", "The file is not a library at all.",
                      "Remove it from the folder, or correct the path."},
    PluginMessageInfo{M::kTruncated, "warning", "The file ends too early. Opening it would end the process.",
                      "Copy or install the plugin again."},
    PluginMessageInfo{M::kWrongMachine, "warning", "The file is built for another processor.",
                      "Install the plugin for this machine."},
    PluginMessageInfo{M::kNotShared, "warning", "The file is a program or an object file, not a shared library.",
                      "Link it with -shared, or correct the path."},
    PluginMessageInfo{M::kMalformed, "warning", "The tables of the file contradict each other.",
                      "Copy or install the plugin again."},
    PluginMessageInfo{M::kNoEntry, "warning", "The file has an ABI note but does not export tenon_plugin_query_v1.",
                      "Export the entry with TENON_EXPORT; report it to the vendor."},
    PluginMessageInfo{M::kOpenFailed, "warning", "The dynamic linker refused the file.",
                      "The text is the linker's own."},
    PluginMessageInfo{M::kMissingLibrary, "warning", "A library that the plugin needs was not found.",
                      "Install it, or add its folder to LD_LIBRARY_PATH."},
    PluginMessageInfo{M::kMissingVersion, "warning", "A library that the plugin needs is too old here.",
                      "Upgrade that library, or install the plugin built for this system."},
    PluginMessageInfo{
        M::kUndefinedSymbol, "warning", "The plugin was linked without one of its own dependencies.",
        "A fault of the plugin; report it to its vendor. Linking with -Wl,-z,defs shows it at build time."},
    PluginMessageInfo{M::kStaticTls, "warning", "No static thread-local storage is left for the plugin.",
                      "Name it first under `load:`, or rebuild it with -ftls-model=global-dynamic."},
    PluginMessageInfo{M::kFileChanged, "error", "The file was replaced while it was being opened.",
                      "Run again when the installation has finished."},
    PluginMessageInfo{M::kEntryElsewhere, "warning",
                      "The entry symbol was found in another library that the plugin needs.",
                      "Export tenon_plugin_query_v1 from the plugin itself; report it to the vendor."},
    PluginMessageInfo{M::kProcessChanged, "warning",
                      "Opening or creating the plugin changed something that belongs to the whole process.",
                      "Report it to the vendor: a plugin leaves signals, locale and floating-point modes alone."},
    PluginMessageInfo{M::kCrashed, "error",
                      "Opening or starting the plugin ended the process. Only `tenon doctor plugins` survives to tell.",
                      "Remove the file from the search, or install it again; report it to the vendor."},
    PluginMessageInfo{M::kFolderWritable, "warning",
                      "Everybody can write a folder above the plugin, and so replace it.",
                      "chmod o-w the folder; `plugins.trust` decides whether this is refused (strict), a warning "
                      "(warn) or nothing (off)."},
    PluginMessageInfo{M::kFileWritable, "warning", "Others than its owner can write the plugin.",
                      "chmod go-w the file."},
    PluginMessageInfo{M::kOtherOwner, "warning", "The plugin, or a folder above it, belongs to a third user.",
                      "Install it as the user who runs it, or as root."},
    PluginMessageInfo{M::kSameId, "error", "Two different files claim the same plugin id.",
                      "Remove one, or choose with `plugins: {pin: {<id>: <path>}}`."},
    PluginMessageInfo{M::kSameFile, "info", "Two paths lead to the same plugin; it is used once.", "Nothing to do."},
    PluginMessageInfo{M::kSameDeviceKind, "error", "Two plugins offer the same device kind.",
                      "Choose with `plugins: {priority: {<id>: 1}}`, or load only one."},
    PluginMessageInfo{M::kNoDevices, "error", "The device kind is known, but no such device is there.",
                      "Check the hardware and its driver; the plugin's own reason follows."},
    PluginMessageInfo{M::kUnknownDeviceKind, "error", "No plugin that could be loaded offers this device kind.",
                      "Correct the name, or add the plugin's folder to the search."},
    PluginMessageInfo{M::kDeviceListFailed, "warning", "The plugin failed to list its devices.",
                      "The text is the plugin's own."},
    PluginMessageInfo{
        M::kNoCollective, "error", "No plugin that could be loaded offers collectives.",
        "Write one of the ids that the message lists, or add the folder of a collective plugin to the search."},
    PluginMessageInfo{M::kDeviceIndex, "error", "There are fewer devices of this kind than the index asks for.",
                      "Use a lower index; they count from 0."},
    PluginMessageInfo{M::kQueryFailed, "warning", "The entry of the plugin refused this host.",
                      "Install a plugin version made for this Tenon."},
    PluginMessageInfo{M::kNoteDiffers, "warning", "The plugin says something else when loaded than its ABI note says.",
                      "Rebuild the plugin completely; report it to the vendor."},
    PluginMessageInfo{M::kBadDescriptor, "warning", "The descriptor of the plugin is not initialised or too short.",
                      "Start it with TENON_PLUGIN_DESCRIPTOR_HEAD; report it to the vendor."},
    PluginMessageInfo{M::kSmallTable, "warning", "An interface table ends before its required slots.",
                      "Set struct_size to the size of the table; report it to the vendor."},
    PluginMessageInfo{M::kNullSlots, "warning", "Required slots of an interface are NULL.",
                      "Report it to the vendor of the plugin."},
    PluginMessageInfo{M::kBadInterface, "warning", "The list of interfaces is damaged, or contradicts the kind mask.",
                      "Report it to the vendor of the plugin."},
    PluginMessageInfo{M::kNoInterface, "error", "The plugin does not offer the interface that was asked for.",
                      "Use another plugin for this."},
    PluginMessageInfo{M::kCreateFailed, "warning", "The plugin could not start.", "The text is the plugin's own."},
    PluginMessageInfo{M::kThrew, "warning", "A C++ exception came out of the plugin, which the plugin ABI forbids.",
                      "Report it to the vendor: callbacks go through the wrappers of the SDK."},
    PluginMessageInfo{M::kUnknownOption, "error", "`options:` has a key that the plugin does not know.",
                      "Correct or remove the key."},
    PluginMessageInfo{M::kBadOption, "error", "A value under `options:` has the wrong type or is out of range.",
                      "Correct the value."},
    PluginMessageInfo{M::kShutDown, "error", "The plugin was used after it had been shut down.",
                      "A fault of the host or of the plugin; report it."},
    PluginMessageInfo{M::kForked, "error", "A plugin was used in a process forked after it had started.",
                      "Start worker processes before plugins, or let them start a program of their own."},
    PluginMessageInfo{
        M::kCheckedHandle, "error",
        "With `plugins: {check: true}`: a call names an object that the plugin did not give, or one that was "
        "destroyed before.",
        "A fault of the host or of the plugin; report it with the text."},
    PluginMessageInfo{
        M::kCheckedStruct, "error",
        "With `plugins: {check: true}`: a struct was written past its capacity, or is smaller than it must be.",
        "Report it to the vendor of the plugin."},
    PluginMessageInfo{
        M::kCheckedGuard, "error",
        "With `plugins: {check: true}`: memory before or past the end of a buffer or workspace was written.",
        "Report it to the vendor of the plugin."},
    PluginMessageInfo{M::kCheckedResult, "error",
                      "With `plugins: {check: true}`: a call answers OK without a result, an unknown code, or an error "
                      "without a text.",
                      "Report it to the vendor of the plugin."},
    PluginMessageInfo{M::kCheckedToken, "error",
                      "With `plugins: {check: true}`: a completion token was completed twice.",
                      "Report it to the vendor of the plugin."},
    PluginMessageInfo{M::kCheckedInput, "error", "With `plugins: {check: true}`: a kernel changed one of its inputs.",
                      "Report it to the vendor of the plugin."},
    PluginMessageInfo{M::kCheckedThreads, "error",
                      "With `plugins: {check: true}`: threads met in an object that takes one call at a time.",
                      "A fault of the host; report it."},
};

}  // namespace

std::span<const PluginMessageInfo> PluginMessages() { return kMessages; }

std::string PluginCode(PluginMessage message) { return fmt::format("TN-PLG-{:03}", static_cast<int>(message)); }

PluginMessage PluginMessageOf(std::string_view text) {
  constexpr std::string_view kHead = "TN-PLG-";
  if (text.substr(0, kHead.size()) != kHead) return PluginMessage::kNone;
  int number = 0;
  const std::string_view digits = text.substr(kHead.size(), 3);
  std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return static_cast<PluginMessage>(number);
}

std::string PluginMessagePage() {
  std::string page =
      "# Messages about plugins\n\n"
      "The number of a message never changes. `tenon plugin check FILE` prints the message for one file, `tenon doctor "
      "plugins`\n"
      "for all that are found, with what to do. \"When unneeded\" is how the message appears when nothing in the run "
      "needs the plugin;\n"
      "when the run needs it, or its entry says `required: true`, it is an error and the run ends with exit code 3 (2 "
      "when the\n"
      "fault is in the config).\n\n"
      "| number | when unneeded | meaning | what to do |\n|---|---|---|---|\n";
  for (const PluginMessageInfo& info : kMessages) {
    page += fmt::format("| {} | {} | {} | {} |\n", PluginCode(info.message), info.severity, info.meaning, info.remedy);
  }
  return page;
}

Code PluginStatusCode(PluginMessage message) {
  switch (message) {
    case M::kEmptySearchElement:
    case M::kPinUnknown:
    case M::kPinOtherId:
    case M::kUnknownOption:
    case M::kBadOption:
      return Code::kInvalidArgument;
    case M::kShutDown:
    case M::kForked:
      return Code::kFailedPrecondition;
    case M::kCheckedHandle:
    case M::kCheckedStruct:
    case M::kCheckedGuard:
    case M::kCheckedResult:
    case M::kCheckedToken:
    case M::kCheckedInput:
    case M::kCheckedThreads:
      return Code::kInternal;
    default:
      return Code::kUnavailable;
  }
}

}  // namespace tenon
