#include "core/train/run_summary.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "core/platform/atomic_file.h"

namespace tenon {
namespace {

using Json = nlohmann::ordered_json;

Json Number(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }
Json Number(const std::optional<double>& value) { return value ? Number(*value) : Json(nullptr); }
Json Text(const std::string& value) { return value.empty() ? Json(nullptr) : Json(value); }

template <class Items, class Fn>
Json List(const Items& items, Fn to_json) {
  Json list = Json::array();
  for (const auto& item : items) list.push_back(to_json(item));
  return list;
}

template <class Value, class Fn>
Json Object(const std::map<std::string, Value>& items, Fn to_json) {
  Json object = Json::object();
  for (const auto& item : items) object[item.first] = to_json(item.second);
  return object;
}

template <class Value, class Fn>
Json Maybe(const std::optional<Value>& value, Fn to_json) {
  return value ? to_json(*value) : Json(nullptr);
}

void AddRanks(const RunSummary& s, Json* json) {
  Json& out = *json;
  out["ranks"] = List(s.ranks, [](const RunSummary::RankRow& row) {
    return Json{{"rank", row.rank},
                {"data_ms", Number(row.data_ms)},
                {"compute_ms", Number(row.compute_ms)},
                {"wait_ms", Number(row.wait_ms)}};
  });
  const RunSummary::Communication& comm = *s.communication;
  out["communication"] = {{"plugin", Text(comm.plugin)},
                          {"buckets", comm.buckets},
                          {"mb", Number(comm.mb)},
                          {"wait_ms", Number(comm.wait_ms)},
                          {"flight_ms", Number(comm.flight_ms)},
                          {"copies", comm.copies},
                          {"staged", comm.staged},
                          {"staged_mb", Number(comm.staged_mb)},
                          {"emulated", Object(comm.emulated, [](std::int64_t count) { return Json(count); })}};
}

void AddTraining(const RunSummary& s, Json* json) {
  Json& out = *json;
  out["schedule"] = Text(s.schedule);
  out["accumulate"] = s.accumulate;
  out["clipping"] = Maybe(s.clipping, [](const RunSummary::Clipping& clipping) {
    return Json{
        {"norm", Number(clipping.norm)}, {"value", Number(clipping.value)}, {"clipped_steps", clipping.clipped_steps}};
  });
  out["parameter_groups"] = List(s.parameter_groups, [](const RunSummary::ParameterGroup& group) {
    return Json{{"match", group.match},
                {"lr_scale", Number(group.lr_scale)},
                {"weight_decay", Number(group.weight_decay)},
                {"parameters", group.parameters}};
  });
  out["frozen_parameters"] = s.frozen_parameters;
  out["init_from"] = Maybe(s.init_from, [](const RunSummary::InitFrom& from) {
    return Json{{"path", from.path},
                {"loaded", from.loaded},
                {"missing", from.missing},
                {"extra", from.extra},
                {"mismatched", from.mismatched}};
  });
  out["ema"] = Number(s.ema);
  out["early_stop"] = Maybe(s.early_stop, [](const RunSummary::EarlyStop& stop) {
    return Json{{"metric", stop.metric},  {"patience", stop.patience}, {"min_delta", Number(stop.min_delta)},
                {"mode", stop.mode},      {"best", Number(stop.best)}, {"best_epoch", stop.best_epoch},
                {"reached", stop.reached}};
  });
  out["validation_metrics"] = Object(s.validation_metrics, [](double value) { return Number(value); });
  out["confusion_matrix"] = Maybe(s.confusion_matrix, [](const RunSummary::Matrix& matrix) {
    return Json{
        {"file", matrix.file}, {"classes", matrix.classes}, {"samples", matrix.samples}, {"right", matrix.right}};
  });
  out["recomputed_nodes"] = s.recomputed_nodes;
  if (s.communication) AddRanks(s, json);
  if (s.profile)
    out["profile"] = {{"file", s.profile->file}, {"events", s.profile->events}, {"dropped", s.profile->dropped}};
}

Json ToObject(const RunSummary& s) {
  Json json;
  json["status"] = s.status;
  json["reason"] = Text(s.reason);
  json["seed"] = s.seed;
  json["device"] = s.device;
  json["mode"] = s.mode;
  json["math"] = s.math;
  json["threads"] = s.threads;
  json["epochs"] = s.epochs;
  json["steps"] = s.steps;
  json["train_loss"] = List(s.train_loss, [](const std::optional<double>& loss) { return Number(loss); });
  json["test_loss"] = Number(s.test_loss);
  json["test_accuracy"] = Number(s.test_accuracy);
  json["test_metrics"] = Object(s.test_metrics, [](double value) { return Number(value); });
  json["samples_per_s"] = Number(s.samples_per_s);
  json["step_ms"] = {{"p50", Number(s.step_ms.p50)},
                     {"p99", Number(s.step_ms.p99)},
                     {"data_wait", Number(s.step_ms.data_wait)},
                     {"comm", Number(s.step_ms.comm)}};
  json["data_wait_share"] = Number(s.data_wait_share);
  json["first_step_ms"] = Number(s.first_step_ms);
  json["peak_rss_mb"] = Number(s.peak_rss_mb);
  json["device_peak_mb"] = Number(s.device_peak_mb);
  json["plan_mb"] = Number(s.plan_mb);
  json["kernels"] = Object(s.kernels, [](const RunSummary::KernelCount& count) {
    Json object{{"fast", count.fast}, {"reference", count.reference}};
    if (count.high > 0) object["high"] = count.high;
    return object;
  });
  json["fusions"] = Object(s.fusions, [](std::int64_t count) { return Json(count); });
  json["plan_cache"] = {
      {"hits", s.plan_cache.hits}, {"misses", s.plan_cache.misses}, {"evictions", s.plan_cache.evictions}};
  json["fallbacks"] = List(s.fallbacks, [](const RunSummary::Fallback& f) {
    return Json{{"node", f.node}, {"op", f.op}, {"device", f.device}, {"reason", f.reason}};
  });
  json["copies"] = List(s.copies, [](const RunSummary::Copy& copy) {
    return Json{{"from", copy.from}, {"to", copy.to}, {"count", copy.count}, {"mb", Number(copy.mb)}};
  });
  json["skipped_samples"] = s.skipped_samples;
  json["skipped_steps"] = s.skipped_steps;
  if (s.loss_scale) json["loss_scale"] = *s.loss_scale;
  json["weights_sha256"] = Text(s.weights_sha256);
  json["plugins"] = List(s.plugins, [](const RunSummary::Plugin& plugin) {
    return Json{{"id", plugin.id}, {"version", plugin.version}, {"path", plugin.path}};
  });
  json["warnings"] = s.warnings;
  json["rank"] = s.rank;
  json["world_size"] = s.world_size;
  AddTraining(s, &json);
  return json;
}

}  // namespace

std::string ToJson(const RunSummary& summary) {
  return ToObject(summary).dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

Status WriteRunSummary(const RunSummary& summary, const std::string& path) {
  return WriteFileAtomically(path, ToJson(summary));
}

}  // namespace tenon
