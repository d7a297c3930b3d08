#include "tools/tenon/doctor_env.h"

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "core/base/env.h"
#include "core/base/text.h"
#include "core/comm/rendezvous/library.h"
#include "core/platform/elf_file.h"
#include "core/platform/file_identity.h"
#include "core/platform/library_search.h"
#include "core/platform/process.h"
#include "tools/cli/cli.h"

namespace tenon {
namespace {

namespace fs = std::filesystem;

enum class Verdict { kOk, kNote, kBad };

struct Finding {
  Verdict verdict;
  std::string subject, text;
};
using Findings = std::vector<Finding>;

std::vector<std::string> FoldersOf(const char* variable) {
  const std::string text = GetEnv(variable).value_or("");
  return text.empty() ? std::vector<std::string>() : Split(text, ':');
}

std::string FindInPath(const std::string& program) {
  for (const std::string& folder : FoldersOf("PATH")) {
    const std::string path = folder + "/" + program;
    if (access(path.c_str(), X_OK) == 0) return path;
  }
  return "";
}

// Another tenon or msrun that a shell or a launcher would start in place of this one.
void CheckPrograms(Findings& findings) {
  for (const char* program : {"tenon", "msrun"}) {
    const std::string own = ExecutableFolder() + "/" + program, found = FindInPath(program);
    std::error_code error;
    if (!fs::exists(own, error)) {
      findings.push_back({Verdict::kBad, program, fmt::format("{} is missing beside this program.", own)});
    } else if (found.empty()) {
      findings.push_back({Verdict::kNote, program, fmt::format("{} is not in PATH.", own)});
    } else if (!fs::equivalent(own, found, error)) {
      findings.push_back(
          {Verdict::kBad, program,
           fmt::format("PATH leads to {}, another installation than {}. mpirun and srun would start that one.", found,
                       own)});
    } else {
      findings.push_back({Verdict::kOk, program, own});
    }
  }
}

void CheckRendezvous(Findings& findings) {
  const Result<const rendezvous::Library*> library = rendezvous::OpenLibrary();
  if (library.ok()) {
    findings.push_back({Verdict::kOk, rendezvous::kLibraryFile, fmt::format("Tenon {}", (*library)->version)});
  } else {
    findings.push_back({Verdict::kBad, rendezvous::kLibraryFile, library.status().message()});
  }
}

// Libraries that are mapped from a folder of LD_LIBRARY_PATH while the system has one of the same name.
void CheckLibraryPath(Findings& findings) {
  const std::vector<std::string> folders = FoldersOf("LD_LIBRARY_PATH");
  std::size_t shadowed = 0;
  for (const std::string& folder : folders) {
    std::error_code error;
    if (folder.empty() || !fs::is_directory(folder, error)) {
      findings.push_back({Verdict::kNote, "LD_LIBRARY_PATH", fmt::format("'{}' is not a folder.", folder)});
      continue;
    }
    for (const char* name : {"libstdc++.so.6", "libgcc_s.so.1", "libprotobuf-lite.so.32", "libgrpc++_unsecure.so.1.51",
                             "libfmt.so.9", "libyaml-cpp.so.0.7", "libgomp.so.1"}) {
      const fs::path path = fs::path(folder) / name;
      if (!fs::exists(path, error)) continue;
      const fs::path system = fs::path("/usr/lib/x86_64-linux-gnu") / name;
      if (fs::exists(system, error) && fs::equivalent(path, system, error)) continue;
      ++shadowed;
      findings.push_back(
          {Verdict::kBad, name,
           fmt::format("LD_LIBRARY_PATH picks {} in place of the system's; programs of Tenon were built with "
                       "the system's.",
                       path.string())});
    }
  }
  if (shadowed == 0)
    findings.push_back(
        {Verdict::kOk, "LD_LIBRARY_PATH", folders.empty() ? "not set" : "hides no library of the system"});
}

// What the dynamic linker would not find for the programs and plugins of this installation.
void CheckNeeded(Findings& findings) {
  std::error_code error;
  std::size_t checked = 0, missing = 0;
  const fs::path root = fs::path(ExecutableFolder()).parent_path();
  for (const fs::path& folder : {root / "lib/tenon", root / "lib/tenon/plugins"}) {
    for (const auto& entry : fs::directory_iterator(folder, error)) {
      if (entry.path().extension() != ".so") continue;
      const Result<OpenedFile> file = OpenedFile::Open(entry.path().string());
      if (!file.ok()) continue;
      ++checked;
      for (const MissingLibrary& lost :
           FindMissingLibraries(ReadElf(file->descriptor(), false), entry.path().string())) {
        ++missing;
        findings.push_back(
            {Verdict::kBad, entry.path().filename().string(), fmt::format("needs {}, which is not found.", lost.name)});
      }
    }
  }
  if (missing == 0)
    findings.push_back(
        {Verdict::kOk, "libraries", fmt::format("all that {} plugins and libraries need are found", checked)});
}

void CheckTools(Findings& findings) {
  struct Tool {
    const char* name;
    const char* use;
  };
  for (const Tool& tool : {Tool{"c++", "`tenon op build`"}, Tool{"cmake", "projects of msopgen"},
                           Tool{"mpirun", "runs under MPI"}, Tool{"srun", "runs under Slurm"}}) {
    const std::string path = FindInPath(tool.name);
    if (path.empty()) {
      findings.push_back({Verdict::kNote, tool.name, fmt::format("not in PATH; only {} need it", tool.use)});
    } else {
      findings.push_back({Verdict::kOk, tool.name, path});
    }
  }
}

const char* NameOf(Verdict verdict) {
  return verdict == Verdict::kOk ? "ok" : verdict == Verdict::kNote ? "note" : "bad";
}

}  // namespace

int RunDoctorEnv(const DoctorEnvOptions& options) {
  Findings findings;
  CheckPrograms(findings);
  CheckRendezvous(findings);
  CheckLibraryPath(findings);
  CheckNeeded(findings);
  CheckTools(findings);
  nlohmann::json array = nlohmann::json::array();
  bool bad = false;
  for (const Finding& finding : findings) {
    bad = bad || finding.verdict == Verdict::kBad;
    array.push_back({{"verdict", NameOf(finding.verdict)}, {"subject", finding.subject}, {"text", finding.text}});
    if (!options.json) fmt::print("{:<5} {:<26} {}\n", NameOf(finding.verdict), finding.subject, finding.text);
  }
  if (options.json) fmt::print("{}\n", array.dump(2));
  return bad ? 1 : 0;
}

}  // namespace tenon
