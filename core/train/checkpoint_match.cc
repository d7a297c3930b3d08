#include "core/train/checkpoint_match.h"

#include <algorithm>
#include <unordered_map>

#include "core/base/text.h"

namespace tenon {
namespace {

std::string Renamed(const std::string& name, const std::map<std::string, std::string>& rename) {
  if (const auto exact = rename.find(name); exact != rename.end()) return exact->second;
  const std::pair<const std::string, std::string>* best = nullptr;
  for (const auto& rule : rename) {
    const bool prefix = rule.first.ends_with('.') && name.starts_with(rule.first);
    if (prefix && (best == nullptr || rule.first.size() > best->first.size())) best = &rule;
  }
  return best == nullptr ? name : best->second + name.substr(best->first.size());
}

// A prefix that, taken off the extra names, gives missing names; empty when there is none. Works in both directions:
// "+x." means that the targets have it.
std::string CommonPrefix(const std::vector<std::string>& with, const std::vector<std::string>& without) {
  for (const std::string& longer : with) {
    for (const std::string& shorter : without) {
      if (longer.size() > shorter.size() + 1 && longer.ends_with("." + shorter)) {
        return longer.substr(0, longer.size() - shorter.size());
      }
    }
  }
  return "";
}

std::string Hint(const MatchReport& report) {
  if (const std::string prefix = CommonPrefix(report.extra, report.missing); !prefix.empty()) {
    return fmt::format(
        "\nThe names of the file begin with '{0}', those of the network do not: rename {{\"{0}\": \"\"}} "
        "takes it off.",
        prefix);
  }
  if (const std::string prefix = CommonPrefix(report.missing, report.extra); !prefix.empty()) {
    return fmt::format("\nThe names of the network begin with '{0}', those of the file do not.", prefix);
  }
  return "";
}

// What the file has in place of a name that is missing: that name, called something else by `rename`, or one like it.
std::string InPlaceOf(const std::string& name, const Checkpoint& checkpoint, const MatchReport& report,
                      const MatchOptions& options) {
  if (checkpoint.Find(name) != nullptr)
    return fmt::format(" (the file has it, but 'rename' makes it '{}')", Renamed(name, options.rename));
  const std::string near = NearestName(name, report.extra);
  return near.empty() ? "" : fmt::format(" (the file has '{}')", near);
}

std::string Problems(const Checkpoint& checkpoint, const MatchReport& report, const MatchOptions& options) {
  std::string text;
  for (const std::string& name : report.missing)
    text += fmt::format("\n  missing: {}{}", name, InPlaceOf(name, checkpoint, report, options));
  for (const std::string& line : report.mismatched) text += "\n  mismatched: " + line;
  for (const std::string& name : report.extra) text += "\n  extra: " + name;
  text += Hint(report);
  if (!options.lenient && !options.lenient_by.empty() && report.loaded > 0)
    text += fmt::format("\n{} takes the {} tensor{} that fit{} and leaves the rest as it starts.", options.lenient_by,
                        report.loaded, report.loaded == 1 ? "" : "s", report.loaded == 1 ? "s" : "");
  return text;
}

}  // namespace

std::string MatchReport::Counts() const {
  return fmt::format("Loaded {} tensor{}, {} missing, {} extra, {} mismatched.", loaded, loaded == 1 ? "" : "s",
                     missing.size(), extra.size(), mismatched.size());
}

Result<MatchReport> MatchTensors(const Checkpoint& checkpoint, std::span<const TensorTarget> targets,
                                 const MatchOptions& options) {
  struct Source {
    const NamedTensor* entry;
    bool used = false;
  };
  std::unordered_map<std::string, Source> sources;
  for (const NamedTensor& entry : checkpoint.tensors) {
    const std::string name = Renamed(entry.name, options.rename);
    const auto [place, inserted] = sources.emplace(name, Source{&entry});
    TENON_INVALID_IF(!inserted, "After renaming, '{}' and '{}' of the file are both called '{}'.",
                     place->second.entry->name, entry.name, name);
  }

  MatchReport report;
  report.tensors.assign(targets.size(), nullptr);
  for (std::size_t i = 0; i < targets.size(); ++i) {
    const TensorTarget& target = targets[i];
    const auto found = sources.find(target.name);
    if (found == sources.end()) {
      report.missing.push_back(target.name);
      continue;
    }
    found->second.used = true;
    const Tensor& tensor = found->second.entry->tensor;
    if (tensor.dtype() == target.dtype && tensor.shape() == target.shape) {
      report.tensors[i] = &tensor;
      ++report.loaded;
    } else {
      const std::string mend =
          tensor.shape() == target.shape ? fmt::format("; save it as {}", NameOf(target.dtype)) : "";
      report.mismatched.push_back(fmt::format("{}: the file has {}, the network needs {}{}{}", target.name,
                                              tensor.Describe(), NameOf(target.dtype), target.shape, mend));
    }
  }
  for (const NamedTensor& entry : checkpoint.tensors) {
    const auto found = sources.find(Renamed(entry.name, options.rename));
    if (!found->second.used && !(options.ignore && options.ignore(entry.name))) report.extra.push_back(entry.name);
  }

  if (!options.lenient && !report.complete()) {
    return InvalidArgument("The checkpoint does not fit: {} missing, {} mismatched, {} extra.{}", report.missing.size(),
                           report.mismatched.size(), report.extra.size(), Problems(checkpoint, report, options));
  }
  if (options.lenient && report.loaded == 0 && !targets.empty()) {
    return InvalidArgument("Nothing in the checkpoint fits: {} missing, {} mismatched, {} extra.{}",
                           report.missing.size(), report.mismatched.size(), report.extra.size(),
                           Problems(checkpoint, report, options));
  }
  return report;
}

}  // namespace tenon
