
#include "core/base/number.h"
#include "core/comm/rank.h"

namespace tenon {
namespace {

constexpr std::size_t kMostHosts = 100'000;

// The list is cut at commas outside brackets.
std::vector<std::string_view> Items(std::string_view text) {
  std::vector<std::string_view> items;
  std::size_t begin = 0;
  bool inside = false;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    if (i < text.size() && text[i] == '[') inside = true;
    if (i < text.size() && text[i] == ']') inside = false;
    if (i < text.size() && (text[i] != ',' || inside)) continue;
    items.push_back(text.substr(begin, i - begin));
    begin = i + 1;
  }
  return items;
}

// "1-3" or "07" between brackets; zeros in front keep the width.
Status AddRange(std::string_view range, std::string_view before, std::string_view after,
                std::vector<std::string>& hosts) {
  const std::size_t dash = range.find('-');
  const std::string_view first_text = range.substr(0, dash);
  const std::string_view last_text = dash == std::string_view::npos ? first_text : range.substr(dash + 1);
  const auto first = ParseNumber<std::uint32_t>(first_text), last = ParseNumber<std::uint32_t>(last_text);
  if (!first || !last || *last < *first) return InvalidArgument("'{}' is not a number or a range of numbers.", range);
  if (hosts.size() + (*last - *first) >= kMostHosts)
    return InvalidArgument("The range '{}' leads to more than {} hosts.", range, kMostHosts);
  for (std::uint32_t number = *first; number <= *last; ++number)
    hosts.push_back(fmt::format("{}{:0{}}{}", before, number, first_text.size(), after));
  return Status();
}

Status AddItem(std::string_view item, std::vector<std::string>& hosts) {
  const std::size_t open = item.find('[');
  if (item.empty()) return InvalidArgument("A name is empty.");
  if (open == std::string_view::npos) {
    if (item.find(']') != std::string_view::npos)
      return InvalidArgument("'{}' closes a bracket that is not open.", item);
    hosts.emplace_back(item);
    return Status();
  }
  const std::size_t close = item.find(']', open);
  if (close == std::string_view::npos) return InvalidArgument("'{}' has no closing bracket.", item);
  const std::string_view after = item.substr(close + 1);
  if (after.find_first_of("[]") != std::string_view::npos)
    return InvalidArgument("'{}' has more than one pair of brackets.", item);
  for (const std::string_view range : Items(item.substr(open + 1, close - open - 1)))
    TENON_TRY(AddRange(range, item.substr(0, open), after, hosts));
  return Status();
}

}  // namespace

Result<std::vector<std::string>> ExpandHostList(std::string_view text) {
  std::vector<std::string> hosts;
  for (const std::string_view item : Items(text)) TENON_TRY_WHILE(AddItem(item, hosts), "reading the hosts '{}'", text);
  return hosts;
}

}  // namespace tenon
