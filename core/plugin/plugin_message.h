#pragma once

#include <fmt/format.h>

#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/status.h"

namespace tenon {

// Every message about a plugin has a number that never changes: TN-PLG-012. The table with meaning and remedy of each
// is docs/reference/plugin_messages.md, which a test compares with this one.
enum class PluginMessage : int {
  // finding
  kNone = 0,
  kNotFound = 1,
  kEmptySearchElement = 2,
  kNothingFound = 3,
  kFolderUnreadable = 4,
  kPinUnknown = 5,
  kPinOtherId = 6,
  // versions and fit
  kOtherMajor = 10,
  kTooOld = 11,
  kNeedsNewerHost = 12,
  kOtherDraft = 13,
  kOtherSanitizer = 14,
  kCpuFeature = 15,
  kBadNote = 16,
  // the file
  kUnreadable = 20,
  kNoNote = 21,
  kNotElf = 22,
  kTruncated = 23,
  kWrongMachine = 24,
  kNotShared = 25,
  kMalformed = 26,
  kNoEntry = 27,
  // opening
  kOpenFailed = 30,
  kMissingLibrary = 31,
  kMissingVersion = 32,
  kUndefinedSymbol = 33,
  kStaticTls = 34,
  kFileChanged = 35,
  kEntryElsewhere = 36,
  kProcessChanged = 37,
  kCrashed = 38,
  // trust
  kFolderWritable = 41,
  kFileWritable = 42,
  kOtherOwner = 43,
  // duplicates
  kSameId = 51,
  kSameFile = 52,
  kSameDeviceKind = 53,
  // what a run needs
  kNoDevices = 61,
  kUnknownDeviceKind = 62,
  kDeviceListFailed = 64,
  kNoCollective = 65,
  kDeviceIndex = 66,
  // what the library says about itself
  kQueryFailed = 71,
  kNoteDiffers = 72,
  kBadDescriptor = 73,
  kSmallTable = 74,
  kNullSlots = 75,
  kBadInterface = 76,
  kNoInterface = 77,
  // making an instance
  kCreateFailed = 81,
  kThrew = 82,
  kUnknownOption = 83,
  kBadOption = 84,
  // life of the process
  kShutDown = 91,
  kForked = 92,
  // what `plugins: {check: true}` finds
  kCheckedHandle = 101,
  kCheckedStruct = 102,
  kCheckedGuard = 103,
  kCheckedResult = 104,
  kCheckedToken = 105,
  kCheckedInput = 106,
  kCheckedThreads = 107,
};

struct PluginMessageInfo {
  PluginMessage message;
  const char* severity;  // "error", "warning", "info": when nothing in the run needs the plugin
  const char* meaning;
  const char* remedy;
};

// All messages in the order of their numbers.
std::span<const PluginMessageInfo> PluginMessages();

// "TN-PLG-012"
std::string PluginCode(PluginMessage message);

// The number at the start of a text made by PluginError; kNone when there is none.
PluginMessage PluginMessageOf(std::string_view text);

// The whole reference page, Markdown.
std::string PluginMessagePage();

// Status code that goes with a message; UNAVAILABLE (exit code 3) unless it is about what the user wrote.
Code PluginStatusCode(PluginMessage message);

// "TN-PLG-012 libvendor_npu.so: built for plugin ABI 1.9 ...". `subject` may be empty.
template <class... Args>
Status PluginError(PluginMessage message, std::string_view subject, fmt::format_string<Args...> format,
                   Args&&... args) {
  return Status(PluginStatusCode(message),
                fmt::format("{}{}{}{} {}", PluginCode(message), subject.empty() ? "" : " ", subject,
                            subject.empty() ? "" : ":", fmt::format(format, std::forward<Args>(args)...)));
}

}  // namespace tenon
