#include "tools/msopgen/types.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <iterator>

#include "core/base/text.h"

namespace tenon::msopgen {
namespace {

struct Named {
  std::string_view word, type;  // type "": known, and Tenon has no tensors of it
};

constexpr Named kWords[] = {
    {"float", "F32"}, {"float32", "F32"}, {"fp32", "F32"},      {"half", "F16"},    {"float16", "F16"},
    {"fp16", "F16"},  {"bf16", "BF16"},   {"bfloat16", "BF16"}, {"double", "F64"},  {"float64", "F64"},
    {"int8", "I8"},   {"int16", "I16"},   {"int32", "I32"},     {"int", "I32"},     {"int64", "I64"},
    {"uint8", "U8"},  {"uint16", "U16"},  {"uint32", "U32"},    {"uint64", "U64"},  {"bool", "BOOL"},
    {"qint8", ""},    {"qint16", ""},     {"qint32", ""},       {"quint8", ""},     {"quint16", ""},
    {"string", ""},   {"resource", ""},   {"complex64", ""},    {"complex128", ""}, {"complex32", ""},
    {"int2", ""},     {"uint1", ""},      {"uint2", ""},        {"int1", ""},       {"int4", ""},
    {"uint4", ""},    {"dual", ""},       {"variant", ""},
};

struct Group {
  std::string_view word;
  std::vector<Type> types;
  std::string_view left_out;
};

const std::vector<Group>& Groups() {
  static const std::vector<Type> numbers = {"F16", "BF16", "F32", "F64", "I8",  "I16",
                                            "I32", "I64",  "U8",  "U16", "U32", "U64"};
  static const std::vector<Group> groups = [] {
    std::vector<Type> all = numbers;
    all.push_back("BOOL");
    return std::vector<Group>{
        {"numbertype", numbers, "complex64, complex128, qint8, qint32, quint8"},
        {"realnumbertype", numbers, ""},
        {"quantizedtype", {}, "qint8, qint16, qint32, quint8, quint16"},
        {"basictype", all, "complex64, complex128, qint8, qint16, qint32, quint8, quint16"},
        {"indexnumbertype", {"I32", "I64"}, ""},
        {"all", all, "complex64, complex128, qint8, qint16, qint32, quint8, quint16, string, resource"},
    };
  }();
  return groups;
}

constexpr std::string_view kFormats[] = {
    "ND",
    "NCHW",
    "NHWC",
    "HWCN",
    "CHWN",
    "NC1HWC0",
    "NC1HWC0_C04",
    "NC1C0HWPAD",
    "NHWC1C0",
    "FRACTAL_Z",
    "FRACTAL_NZ",
    "FRACTAL_Z_3D",
    "FRACTAL_ZZ",
    "FRACTAL_ZN",
    "FRACTAL_ZN_LSTM",
    "FRACTAL_ZN_RNN",
    "FRACTAL_Z_C04",
    "FRACTAL_Z_G",
    "FRACTAL_Z_WINO",
    "FRACTAL_DECONV",
    "FRACTAL_Z_DECONV_TRANSPOSE",
    "FRACTAL_Z_DECONV_SP_STRIDE_TRANS",
    "C1HWNC0",
    "C1HWNCOC0",
    "C1HWC0",
    "CN",
    "NC",
    "NCL",
    "NCDHW",
    "NDHWC",
    "DHWCN",
    "DHWNC",
    "NDC1HWC0",
    "FRACTAL_Z_3D_TRANSPOSE",
    "NCHW_VECT_C",
    "HASHTABLE_LOOKUP_LOOKUPS",
    "MD",
    "FSR_NCHW",
    "BN_WEIGHT",
    "FILTER_HWCK",
    "ND_RNN_BIAS",
    "DEFAULT",
    "DEFAULTFORMAT",
    "5HD",
    "FRACZ",
    "FRACNZ",
    "NONE",
    "CHANNELLAST",
    "5HD_C04",
    "FRACZ3D",
    "FRACZNLSTM",
    "FRACZNRNN",
    "NDRNNBIAS",
};

// First halves of words such as F16_Default.
constexpr Named kShort[] = {{"BOOL", "BOOL"}, {"I8", "I8"},   {"I16", "I16"},   {"I32", "I32"}, {"I64", "I64"},
                            {"U8", "U8"},     {"U16", "U16"}, {"U32", "U32"},   {"U64", "U64"}, {"F16", "F16"},
                            {"F32", "F32"},   {"F64", "F64"}, {"BF16", "BF16"}, {"C64", ""},    {"C128", ""},
                            {"STRING", ""},   {"NONE", ""}};

std::string Lower(std::string_view word) {
  std::string lower(word);
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return lower;
}
std::string Upper(std::string_view word) {
  std::string upper(word);
  for (char& c : upper) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return upper;
}

std::string NoTensors(std::string_view word) { return fmt::format("Tenon has no tensors of type '{}'.", word); }

}  // namespace

bool IsFloating(const Type& type) { return type == "F16" || type == "BF16" || type == "F32" || type == "F64"; }

std::string CaseName(const Type& type) {
  if (type == "BOOL") return "bool";
  if (type == "BF16") return "bfloat16";
  const std::string digits = type.substr(1);
  return (type[0] == 'F' ? "float" : type[0] == 'U' ? "uint" : "int") + digits;
}

std::string ShortName(const Type& type) { return Lower(type); }

bool IsFormat(std::string_view word) {
  return std::find(std::begin(kFormats), std::end(kFormats), Upper(word)) != std::end(kFormats);
}

std::string NearestFormat(std::string_view word) {
  std::vector<std::string> known;
  for (const std::string_view format : kFormats) known.emplace_back(format);
  return NearestName(word, known);
}

std::optional<TypeWord> ReadTypeWord(std::string_view word, std::string* why) {
  const std::string lower = Lower(word);
  for (const Named& named : kWords) {
    if (named.word != lower) continue;
    if (!named.type.empty()) return TypeWord{{Type(named.type)}, "", "", ""};
    *why = NoTensors(word);
    return std::nullopt;
  }
  for (const Group& group : Groups()) {
    if (group.word != lower) continue;
    if (!group.types.empty()) return TypeWord{group.types, std::string(word), std::string(group.left_out), ""};
    *why = fmt::format("Tenon has no tensors of the types in '{}': {}.", word, group.left_out);
    return std::nullopt;
  }
  const std::size_t line = word.find('_');
  if (line != std::string_view::npos) {
    for (const Named& named : kShort) {
      if (named.word != Upper(word.substr(0, line))) continue;
      const std::string_view format = word.substr(line + 1);
      if (!IsFormat(format)) {
        const std::string nearest = NearestFormat(format);
        *why = fmt::format("'{}' names the format '{}', which is not known.{}", word, format,
                           nearest.empty() ? "" : fmt::format(" Did you mean '{}'?", nearest));
        return std::nullopt;
      }
      if (!named.type.empty()) return TypeWord{{Type(named.type)}, "", "", std::string(format)};
      *why = NoTensors(word);
      return std::nullopt;
    }
  }
  std::vector<std::string> known;
  for (const Named& named : kWords) known.emplace_back(named.word);
  for (const Group& group : Groups()) known.emplace_back(group.word);
  const std::string nearest = NearestName(word, known);
  *why = fmt::format("'{}' is no type.{}", word, nearest.empty() ? "" : fmt::format(" Did you mean '{}'?", nearest));
  return std::nullopt;
}

}  // namespace tenon::msopgen
