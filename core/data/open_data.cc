#include "core/data/open_data.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "core/base/fnv.h"
#include "core/data/cifar_reader.h"
#include "core/data/csv_reader.h"
#include "core/data/idx_reader.h"
#include "core/data/image_folder.h"
#include "core/data/npy_reader.h"
#include "core/data/open_text.h"
#include "core/data/sample_pipeline.h"
#include "core/data/split.h"
#include "core/data/synthetic_dataset.h"

namespace tenon {

namespace {

using DatasetPtr = std::shared_ptr<const Dataset>;
using Rows = std::vector<std::int64_t>;

std::shared_ptr<const Rows> Share(Rows rows) { return std::make_shared<const Rows>(std::move(rows)); }

Rows FirstRows(std::int64_t count) {
  Rows rows(static_cast<std::size_t>(count));
  std::iota(rows.begin(), rows.end(), 0);
  return rows;
}

std::string Named(const std::string& key, const ConfigPath& path) {
  return path.place.known() ? fmt::format("opening '{}' of {}", key, path.place.ToString())
                            : fmt::format("opening '{}'", key);
}

Result<DatasetPtr> OpenIdxFolder(const std::string& folder, bool own_test, std::optional<std::int64_t> ignored) {
  auto files = FindIdxFiles(folder, own_test ? IdxPart::kTest : IdxPart::kTrain);
  if (own_test && files.ok() && !*files) files = FindIdxFiles(folder, IdxPart::kTrain);
  TENON_TRY(files);
  TENON_ASSIGN(DatasetPtr dataset, OpenIdx((*files)->images, (*files)->labels, ignored));
  return dataset;
}

Result<DatasetPtr> OpenCifar(const CifarFiles& files) {
  TENON_ASSIGN(DatasetPtr dataset, CifarDataset::Open(files));
  return dataset;
}

Result<DatasetPtr> OpenCifarFolder(const std::string& folder, const std::string& type, bool own_test) {
  TENON_ASSIGN(CifarFiles files, FindCifarFiles(folder, type, own_test ? CifarPart::kTest : CifarPart::kTrain));
  if (files.paths.empty()) {
    TENON_ASSIGN(files, FindCifarFiles(folder, type, CifarPart::kTrain));
  }
  return OpenCifar(files);
}

}  // namespace

// Takes the steps of OpenData one after the other.
class DataOpener {
 public:
  DataOpener(const DataConfig& config, const OpenDataOptions& options) : config_(config), options_(options) {}

  Result<DataSource> Open() {
    TENON_TRY(OpenTrain());
    TENON_TRY(OpenTest());
    TENON_TRY(FindClasses());
    TENON_TRY(Deal());
    TENON_TRY(DealValidation());
    TENON_TRY(Prepare());
    source_.loader_.batch = config_.batch;
    source_.loader_.drop_last = config_.drop_last;
    source_.loader_.workers = config_.workers;
    source_.loader_.shard = {options_.rank, options_.ranks, config_.shard};
    source_.sampler_ = {config_.shuffle, options_.seed};
    Describe();
    return std::move(source_);
  }

 private:
  Status OpenTrain() {
    if (config_.type == "synthetic") {
      TENON_ASSIGN(train_, OpenSynthetic(config_.samples.value_or(0), 0));
      return {};
    }
    if (config_.type == "text") return OpenBothTexts();
    TENON_ASSIGN(train_, OpenPath("data", config_.path, config_.labels, false));
    return {};
  }

  Status OpenTest() {
    if (config_.type == "text") return {};
    if (config_.test && config_.type == "synthetic") {
      TENON_ASSIGN(test_, OpenSynthetic(config_.test->samples.value_or(0), train_->size()));
      return {};
    }
    if (config_.test) {
      const TestDataConfig& test = *config_.test;
      TENON_ASSIGN(test_, OpenPath("data.test", test.path, test.labels, true));
      return {};
    }
    if (!config_.split.empty()) return {};
    TENON_TRY_WHILE(OpenUsualTest(), "{}", Named("data.path", config_.path));
    return {};
  }

  // The files for testing that belong to a source, if they are there.
  Status OpenUsualTest() {
    const std::string folder = config_.path.resolved.string();
    if (config_.type == "idx") {
      TENON_ASSIGN(const std::optional<IdxFiles> files, FindIdxFiles(folder, IdxPart::kTest));
      if (files) {
        TENON_ASSIGN(test_, OpenIdx(files->images, files->labels, options_.ignored_label));
      }
    }
    if (IsCifar()) {
      TENON_ASSIGN(const CifarFiles files, FindCifarFiles(folder, config_.type, CifarPart::kTest));
      if (!files.paths.empty()) {
        TENON_ASSIGN(test_, OpenCifar(files));
      }
    }
    return {};
  }

  bool IsCifar() const { return config_.type.starts_with("cifar"); }

  // The source of a section, "data" or "data.test"; errors name the key of the file that is wrong.
  Result<DatasetPtr> OpenPath(const std::string& section, const ConfigPath& path, const ConfigPath& labels,
                              bool own_test) const {
    const std::string doing = Named(section + ".path", path);
    if (config_.type != "npy") {
      TENON_ASSIGN_WHILE(DatasetPtr dataset, OpenSource(path, own_test), "{}", doing);
      return dataset;
    }
    const std::string label_file = labels.resolved.string();
    TENON_ASSIGN_WHILE(NpyArray values, ReadNpyFile(label_file), "{}", Named(section + ".labels", labels));
    TENON_ASSIGN_WHILE(DatasetPtr dataset,
                       OpenNpy(path.resolved.string(), label_file, std::move(values), options_.ignored_label), "{}",
                       doing);
    return dataset;
  }

  // `own_test`: the source of a `test:` block, which may be laid out as a test part or as a training part.
  Result<DatasetPtr> OpenSource(const ConfigPath& path, bool own_test) const {
    const std::string place = path.resolved.string();
    if (config_.type == "idx") return OpenIdxFolder(place, own_test, options_.ignored_label);
    if (IsCifar()) return OpenCifarFolder(place, config_.type, own_test);
    if (config_.type == "images") {
      TENON_ASSIGN(DatasetPtr dataset, ImageFolder::Open(place, {config_.image && config_.image->orientation}));
      return dataset;
    }
    if (config_.type == "csv") {
      TENON_ASSIGN(DatasetPtr dataset, OpenCsv(place, {',', options_.csv_label, options_.ignored_label}));
      return dataset;
    }
    return InvalidArgument("'data.type' is '{}', which is none of the types.", config_.type);
  }

  Status OpenBothTexts() {
    TENON_ASSIGN(TextParts parts, OpenTexts(config_));
    train_ = std::move(parts.train);
    test_ = std::move(parts.test);
    source_.vocabulary_ = std::move(parts.vocabulary);
    return {};
  }

  Result<DatasetPtr> OpenSynthetic(std::int64_t samples, std::int64_t first) const {
    SyntheticOptions synthetic;
    synthetic.samples = samples;
    synthetic.first = first;
    synthetic.seed = options_.seed;
    if (config_.tokens) {
      synthetic.classes = config_.classes.value_or(0);
      synthetic.vocab = config_.tokens->vocab;
      synthetic.length = config_.tokens->length;
    } else {
      TENON_INVALID_IF(!config_.image || config_.image->shape.empty(),
                       "Synthetic data needs 'image.shape' or 'tokens'.");
      synthetic.classes = config_.classes.value_or(10);
      TENON_ASSIGN(synthetic.image, Shape::Make(config_.image->shape));
    }
    TENON_ASSIGN(DatasetPtr dataset, SyntheticDataset::Create(synthetic));
    return dataset;
  }

  Status FindClasses() {
    if (train_->layout().label_kind != LabelKind::kClass) return {};
    source_.classes_ = std::max(train_->classes(), test_ ? test_->classes() : 0);
    if (config_.classes) source_.classes_ = *config_.classes;
    source_.ignored_label_ = options_.ignored_label;
    TENON_TRY(CheckLabels(*train_, source_.classes_, options_.ignored_label));
    if (!test_) return {};
    TENON_TRY(CheckLabels(*test_, source_.classes_, options_.ignored_label));
    return CheckClassNames();
  }

  // Classes of images are numbered by the names of their folders, so both parts need the same ones.
  Status CheckClassNames() const {
    if (config_.type != "images") return {};
    const auto& names = static_cast<const ImageFolder&>(*train_).class_names();
    const auto& test_names = static_cast<const ImageFolder&>(*test_).class_names();
    for (std::size_t i = 0; i < std::max(names.size(), test_names.size()); ++i) {
      const std::string in_train = i < names.size() ? names[i] : "",
                        in_test = i < test_names.size() ? test_names[i] : "";
      TENON_INVALID_IF(
          in_train != in_test,
          "The folders for training and testing have different classes: number {} is '{}' in one and '{}' in "
          "the other.",
          i, in_train, in_test);
    }
    return {};
  }

  // Which rows of which source are for training and for testing.
  Status Deal() {
    const std::int64_t count = std::min(train_->size(), config_.samples.value_or(train_->size()));
    TENON_INVALID_IF(count < 1, "'data.samples' is {}; at least one is needed.", count);
    if (test_) {
      source_.train_.rows = Share(FirstRows(count));
      const std::int64_t test_limit = config_.test && config_.test->samples ? *config_.test->samples : test_->size();
      source_.test_.rows = Share(FirstRows(std::min(test_limit, test_->size())));
      return {};
    }
    TENON_ASSIGN(SplitParts parts, SplitRows(count, {config_.split.every, config_.split.fraction}, options_.seed));
    source_.train_.rows = Share(std::move(parts.train));
    if (!config_.split.empty()) source_.test_.rows = Share(std::move(parts.test));
    return {};
  }

  // Takes the part for validation out of the part for training.
  Status DealValidation() {
    const HeldOutConfig& rule = config_.split.validation;
    if (rule.empty()) return {};
    const Rows& left = *source_.train_.rows;
    TENON_ASSIGN_WHILE(const SplitParts parts,
                       SplitRows(static_cast<std::int64_t>(left.size()), {rule.every, rule.fraction}, options_.seed),
                       "holding samples out for validation");
    const auto pick = [&](const Rows& places) {
      Rows rows;
      for (const std::int64_t place : places) rows.push_back(left[static_cast<std::size_t>(place)]);
      return rows;
    };
    source_.validation_.rows = Share(pick(parts.test));
    source_.train_.rows = Share(pick(parts.train));
    return {};
  }

  Status Prepare() {
    TENON_ASSIGN_WHILE(source_.train_.data, MakePipeline(config_, train_, source_.classes_, options_.seed, false),
                       "preparing the samples of '{}'", train_->description());
    if (source_.validation_.rows) {
      TENON_ASSIGN(source_.validation_.data,
                   MakePipeline(config_, train_, source_.classes_, options_.seed, true, &source_.train_.data));
    }
    if (!source_.test_.rows) return {};
    const DatasetPtr& tested = test_ ? test_ : train_;
    TENON_ASSIGN_WHILE(
        source_.test_.data,
        MakePipeline(config_, tested, source_.classes_, options_.seed, true, test_ ? nullptr : &source_.train_.data),
        "preparing the samples of '{}'", tested->description());
    const SampleLayout a = source_.train_.data.layout();
    const SampleLayout b = source_.test_.data.layout();
    if (train_->varies()) return {};
    TENON_INVALID_IF(!(a.shape == b.shape) || a.dtype != b.dtype || !(a.label_shape == b.label_shape) ||
                         a.label_dtype != b.label_dtype,
                     "The samples for testing ('{}') are {}{} with labels {}{}, those for training {}{} with labels "
                     "{}{}; they must be alike.",
                     tested->description(), NameOf(b.dtype), b.shape, NameOf(b.label_dtype), b.label_shape,
                     NameOf(a.dtype), a.shape, NameOf(a.label_dtype), a.label_shape);
    return {};
  }

  void Describe() {
    const SampleLayout& stored = train_->layout();
    const SampleLayout out = source_.layout();
    std::string text = fmt::format("{}: {} samples for training, {} for testing; {}{} stored, {}{} given",
                                   train_->description(), source_.train_size(), source_.test_size(),
                                   NameOf(stored.dtype), stored.shape, NameOf(out.dtype), out.shape);
    if (source_.has_validation()) text += fmt::format("; {} for validation", source_.validation_size());
    if (source_.classes_ > 0) text += fmt::format("; {} classes", source_.classes_);
    if (source_.train_.data.dataset != train_) text += "; transformed samples are kept in memory";
    if (config_.type == "synthetic" && !config_.path.empty())
      text += fmt::format("; type synthetic does not read data.path ('{}')", config_.path.text);
    source_.description_ = std::move(text);
  }

  const DataConfig& config_;
  const OpenDataOptions& options_;
  DatasetPtr train_;
  DatasetPtr test_;  // null: part of `train_`, or none
  DataSource source_;
};

Result<DataSource> OpenData(const DataConfig& config, const OpenDataOptions& options) {
  return DataOpener(config, options).Open();
}

std::int64_t DataSource::shortest() const {
  const PreparedData& data = train_.data;
  if (!data.buckets.empty()) return data.buckets.front();
  std::int64_t least = data.layout().shape.dim(0);
  for (const std::int64_t row : *train_.rows) least = std::min(least, data.dataset->Length(row));
  return least;
}

bool DataSource::pads() const {
  const Dataset& dataset = *train_.data.dataset;
  if (!dataset.varies()) return false;
  const auto& buckets = train_.data.buckets;
  if (buckets.empty()) return loader_.batch > 1 && shortest() < layout().shape.dim(0);
  return std::any_of(train_.rows->begin(), train_.rows->end(), [&](std::int64_t row) {
    return !std::binary_search(buckets.begin(), buckets.end(), dataset.Length(row));
  });
}

Result<std::uint64_t> DataSource::Checksum() const {
  constexpr std::size_t kRows = 64;
  const Dataset& dataset = *train_.data.dataset;
  std::vector<std::int64_t> some;
  for (std::size_t i = 0; i < std::min(kRows, train_.rows->size()); ++i)
    some.push_back((*train_.rows)[i * train_.rows->size() / std::min(kRows, train_.rows->size())]);
  const auto room = [&some](std::int64_t bytes) {
    return std::string(some.size() * static_cast<std::size_t>(bytes), 0);
  };
  std::string labels = room(dataset.layout().label_bytes()), samples;
  const bool decoded = train_.data.pictures != nullptr && dataset.resident() == nullptr;
  if (!decoded) samples = room(dataset.layout().sample_bytes());
  TENON_TRY(dataset.ReadBatch(some, decoded ? nullptr : samples.data(), labels.data()));
  return Fnv(samples, Fnv(labels));
}

Status DataSource::CheckClasses(std::int64_t classes) const {
  TENON_TRY(CheckLabels(*train_.data.dataset, classes, ignored_label_));
  return has_test() ? CheckLabels(*test_.data.dataset, classes, ignored_label_) : Status();
}

Result<std::unique_ptr<Loader>> DataSource::TrainLoader() const {
  return Loader::Create(train_.data, Sampler(train_.rows, sampler_), loader_);
}

Result<std::unique_ptr<Loader>> DataSource::TestLoader(std::int64_t batch) const {
  TENON_INVALID_IF(!has_test(), "The data has no part for testing; 'data.split' or 'data.test' makes one.");
  return InOrder(test_, batch);
}

Result<std::unique_ptr<Loader>> DataSource::ValidationLoader() const {
  TENON_INVALID_IF(!has_validation(), "The data has no part for validation; 'data.split.validation' makes one.");
  return InOrder(validation_, 0);
}

Result<std::unique_ptr<Loader>> DataSource::InOrder(const Part& part, std::int64_t batch) const {
  LoaderOptions options = loader_;
  options.drop_last = false;
  options.shard.whole_batches = true;
  if (batch > 0) options.batch = batch;
  return Loader::Create(part.data, Sampler(part.rows, {.shuffle = false, .seed = sampler_.seed}), options);
}

}  // namespace tenon
