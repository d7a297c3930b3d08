#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tenon {

// Number of single-character insertions, deletions, substitutions and neighbour swaps between two words.
int EditDistance(std::string_view a, std::string_view b);

// The known name closest to `word` when it is close enough to be a likely misspelling, else an empty string.
// Case, '-' and '_' do not count as differences.
std::string NearestName(std::string_view word, std::span<const std::string> known);

// "a, b and c"
std::string JoinAnd(std::span<const std::string> items);

std::string Join(std::span<const std::string> items, std::string_view separator);
std::vector<std::string> Split(std::string_view text, char separator);
std::string_view Trim(std::string_view text);

// The words of `text` in lines of at most `width` columns, each behind `indent` blanks and with its end.
std::string WrapLines(const std::string& text, std::size_t indent, std::size_t width);

// A word as a POSIX shell takes it back: quoted where it must be.
std::string ShellWord(const std::string& word);

// Shell-style pattern with * and ?; matches the whole of `text`.
bool MatchesGlob(std::string_view pattern, std::string_view text);

}  // namespace tenon
