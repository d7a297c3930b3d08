#pragma once

#include <string>
#include <vector>

#include "core/platform/file_identity.h"

namespace tenon {

// One reason why somebody else could have changed the code in a file.
struct TrustFinding {
  enum class Kind {
    kFileOwner,       // neither root nor the effective user owns the file
    kFileWritable,    // group or everybody can write the file
    kFolderWritable,  // everybody can write a folder on the way, and no sticky bit protects what is in it
    kFolderOwner,     // a folder on the way belongs to a third user
  };
  Kind kind;
  std::string path;    // the file or folder concerned
  std::string reason;  // "is world-writable"
  std::string fix;     // a command: "chmod o-w /opt/plugins"
};

// Looks at an open file and at every folder above `real_path` (absolute, without links). Empty = nothing found.
// A file that its owner's private group (group number = owner number) may write counts as private.
std::vector<TrustFinding> CheckTrust(const OpenedFile& file, const std::string& real_path);

// True for folders that only an administrator fills: /usr, /lib, /lib64, /opt, /bin, /sbin.
bool IsSystemPath(const std::string& real_path);

}  // namespace tenon
