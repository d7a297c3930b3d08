#include "core/ops/abi_attributes.h"

#include <algorithm>

#include "core/ops/abi_tensor.h"
#include "core/plugin/error_sink.h"

namespace tenon {
namespace {

std::uint32_t KindOf(const AttrDef* def, AttrType type) {
  if (def != nullptr && def->meaning == AttrMeaning::kFlag) return TENON_ATTRIBUTE_FLAG;
  if (def != nullptr && def->meaning == AttrMeaning::kDType) return TENON_ATTRIBUTE_DTYPE;
  if (def != nullptr && def->meaning == AttrMeaning::kShape) return TENON_ATTRIBUTE_SHAPE;
  constexpr std::uint32_t kKinds[] = {TENON_ATTRIBUTE_INT,    TENON_ATTRIBUTE_FLOAT, TENON_ATTRIBUTE_TEXT,
                                      TENON_ATTRIBUTE_TENSOR, TENON_ATTRIBUTE_INTS,  TENON_ATTRIBUTE_FLOATS,
                                      TENON_ATTRIBUTE_TEXTS};
  return kKinds[static_cast<std::size_t>(type)];
}

}  // namespace

AbiAttributes::AbiAttributes(const Attributes& attrs, const OpDef* def) {
  for (const auto& item : attrs.items()) {
    tenon_attribute record = TENON_INIT(tenon_attribute);
    record.name = ToStr(item.first);
    const AttrValue& value = item.second;
    record.kind = KindOf(def == nullptr ? nullptr : def->FindAttr(item.first), TypeOf(value));
    switch (TypeOf(value)) {
      case AttrType::kInt:
        record.i64 = std::get<std::int64_t>(value);
        break;
      case AttrType::kFloat:
        record.f64 = std::get<double>(value);
        break;
      case AttrType::kText:
        record.text = ToStr(std::get<std::string>(value));
        break;
      case AttrType::kTensor:
        tensors_.push_back(ViewOfContent(std::get<Tensor>(value)));
        record.tensor = &tensors_.back();
        break;
      case AttrType::kInts: {
        const auto& values = std::get<std::vector<std::int64_t>>(value);
        record.ints = values.data();
        record.count = values.size();
        break;
      }
      case AttrType::kFloats: {
        const auto& values = std::get<std::vector<double>>(value);
        record.floats = values.data();
        record.count = values.size();
        break;
      }
      case AttrType::kTexts: {
        std::vector<tenon_str>& views = texts_.emplace_back();
        for (const std::string& text : std::get<std::vector<std::string>>(value)) views.push_back(ToStr(text));
        record.texts = views.data();
        record.count = views.size();
        break;
      }
    }
    records_.push_back(record);
  }
}

const tenon_attribute* AbiAttributes::Find(std::string_view name) const {
  const auto found =
      std::lower_bound(records_.begin(), records_.end(), name,
                       [](const tenon_attribute& record, std::string_view key) { return View(record.name) < key; });
  return found == records_.end() || View(found->name) != name ? nullptr : &*found;
}

Result<AttrValue> ReadAbiAttribute(const tenon_attribute& record, std::string_view what) {
  const auto missing = [&](const void* list) { return record.count > 0 && list == nullptr; };
  switch (record.kind) {
    case TENON_ATTRIBUTE_INT:
    case TENON_ATTRIBUTE_FLAG:
    case TENON_ATTRIBUTE_DTYPE:
      return AttrValue(record.i64);
    case TENON_ATTRIBUTE_FLOAT:
      return AttrValue(record.f64);
    case TENON_ATTRIBUTE_TEXT:
      return AttrValue(std::string(View(record.text)));
    case TENON_ATTRIBUTE_SHAPE:
    case TENON_ATTRIBUTE_INTS:
      TENON_INVALID_IF(missing(record.ints), "{} counts {} numbers and has none.", what, record.count);
      return AttrValue(std::vector<std::int64_t>(record.ints, record.ints + record.count));
    case TENON_ATTRIBUTE_FLOATS:
      TENON_INVALID_IF(missing(record.floats), "{} counts {} numbers and has none.", what, record.count);
      return AttrValue(std::vector<double>(record.floats, record.floats + record.count));
    case TENON_ATTRIBUTE_TENSOR: {
      TENON_INVALID_IF(record.tensor == nullptr, "{} is a tensor without content.", what);
      TENON_ASSIGN(Tensor tensor, ReadAbiTensor(*record.tensor, what));
      return AttrValue(std::move(tensor));
    }
    case TENON_ATTRIBUTE_TEXTS: {
      TENON_INVALID_IF(!TENON_HAS_FIELD(&record, tenon_attribute, texts) || missing(record.texts),
                       "{} counts {} texts and has none.", what, record.count);
      std::vector<std::string> texts;
      for (std::uint64_t i = 0; i < record.count; ++i) texts.emplace_back(View(record.texts[i]));
      return AttrValue(std::move(texts));
    }
    default:
      return InvalidArgument("{} is of kind {}, which this host does not know.", what, record.kind);
  }
}

}  // namespace tenon
