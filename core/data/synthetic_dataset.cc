#include "core/data/synthetic_dataset.h"

#include "core/data/counter_rng.h"
#include "core/platform/process.h"

namespace tenon {

namespace {
constexpr std::uint64_t kPatternStream = streams::kSynthetic - 1;  // counter: class * elements + element
}  // namespace

SyntheticDataset::SyntheticDataset(const SyntheticOptions& options) : options_(options), classes_(options.classes) {
  if (options_.image.rank() > 0) {
    layout_.shape = options_.image;
    return;
  }
  layout_.shape = Shape{options_.length};
  layout_.dtype = DType::kI64;
  if (options_.classes == 0) {
    layout_.label_shape = layout_.shape;
    classes_ = options_.vocab;
  }
}

Result<std::unique_ptr<SyntheticDataset>> SyntheticDataset::Create(const SyntheticOptions& options) {
  const bool image = options.image.rank() > 0;
  TENON_INVALID_IF(options.samples < 1, "Synthetic data needs a number of samples of at least 1, not {}.",
                   options.samples);
  TENON_INVALID_IF(options.classes < (image ? 1 : 0), "Synthetic data needs at least 1 class, not {}.",
                   options.classes);
  TENON_INVALID_IF(image && options.image.elements() == 0, "Synthetic images of shape {} have no values.",
                   options.image);
  TENON_INVALID_IF(!image && (options.vocab < 1 || options.length < 1),
                   "Synthetic data needs an image shape, or tokens with a vocabulary and a length of at least 1 (they "
                   "are {} and {}).",
                   options.vocab, options.length);
  constexpr std::int64_t index_bytes = 8;  // the order of an epoch lists every sample
  if (options.samples > MachineMemory() / index_bytes)
    return Error(Code::kResourceExhausted,
                 "Synthetic data of {} samples need {:.1f} GB for their order; this machine has {:.1f} GB of memory.",
                 options.samples, static_cast<double>(options.samples) * index_bytes * 1e-9,
                 static_cast<double>(MachineMemory()) * 1e-9);
  return std::unique_ptr<SyntheticDataset>(new SyntheticDataset(options));
}

void SyntheticDataset::MakeImage(std::int64_t number, float* sample) const {
  const CounterRng pattern(options_.seed, kPatternStream);
  const CounterRng noise(options_.seed, streams::kSynthetic + static_cast<std::uint64_t>(number));
  const std::uint64_t elements = static_cast<std::uint64_t>(options_.image.elements());
  const std::uint64_t first = static_cast<std::uint64_t>(ClassOf(number)) * elements;
  for (std::uint64_t i = 0; i < elements; ++i)
    sample[i] = 0.75f * pattern.Uniform(first + i) + 0.25f * noise.Uniform(i);
}

void SyntheticDataset::MakeTokens(std::int64_t number, std::int64_t* sample, std::int64_t* label) const {
  const CounterRng rng(options_.seed, streams::kSynthetic + static_cast<std::uint64_t>(number));
  const std::uint64_t vocab = static_cast<std::uint64_t>(options_.vocab);
  const bool next_token = options_.classes == 0;
  std::uint64_t token = next_token ? rng.Below(0, vocab) : static_cast<std::uint64_t>(ClassOf(number)) % vocab;
  for (std::int64_t t = 0; t < options_.length; ++t) {
    const std::uint64_t counter = 2 * static_cast<std::uint64_t>(t) + 1;
    const bool by_chance = (rng.Bits(counter) & 7) == 0;
    const std::uint64_t next = by_chance ? rng.Below(counter + 1, vocab) : (5 * token + 7) % vocab;
    if (sample) sample[t] = static_cast<std::int64_t>(token);
    if (label && next_token) label[t] = static_cast<std::int64_t>(next);
    token = next;
  }
  if (label && !next_token) *label = ClassOf(number);
}

Status SyntheticDataset::ReadBatch(std::span<const std::int64_t> indices, void* samples, void* labels) const {
  const bool image = layout_.dtype == DType::kF32;
  const std::int64_t per_sample = layout_.shape.elements();
  const std::int64_t per_label = layout_.label_shape.elements();
  std::int64_t at = 0;
  for (const std::int64_t index : indices) {
    const std::int64_t number = options_.first + index;
    std::int64_t* label = labels ? static_cast<std::int64_t*>(labels) + at * per_label : nullptr;
    if (image && samples) MakeImage(number, static_cast<float*>(samples) + at * per_sample);
    if (image && label) *label = ClassOf(number);
    if (!image) MakeTokens(number, samples ? static_cast<std::int64_t*>(samples) + at * per_sample : nullptr, label);
    ++at;
  }
  return {};
}

std::string SyntheticDataset::Place(std::int64_t index) const {
  return fmt::format("synthetic sample {}", options_.first + index);
}

std::string SyntheticDataset::description() const {
  if (layout_.dtype == DType::kF32)
    return fmt::format("synthetic images {} (made up, seed {})", layout_.shape, options_.seed);
  return fmt::format("synthetic tokens, vocabulary {}, length {} (made up, seed {})", options_.vocab, options_.length,
                     options_.seed);
}

}  // namespace tenon
