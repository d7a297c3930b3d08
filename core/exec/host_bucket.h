#pragma once

#include <vector>

#include "core/exec/gradient_exchange.h"

namespace tenon::exec {

// The float32 numbers of a bucket for the host: in place where it reaches the device's memory, else a copy.
class HostBucket {
 public:
  explicit HostBucket(Device& device) : device_(device) {}

  // The gradients of this rank; valid until the next call.
  Result<const float*> Read(const BucketView& bucket) {
    if (device_.host_accessible()) return reinterpret_cast<const float*>(bucket.send);
    copy_.resize(static_cast<std::size_t>(bucket.gradient_elements));
    TENON_TRY(device_.CopyToHost(bucket.send, copy_.data(), bytes()));
    return static_cast<const float*>(copy_.data());
  }
  // Where the sums go, until Written.
  float* Write(const BucketView& bucket) {
    if (device_.host_accessible()) return reinterpret_cast<float*>(bucket.receive);
    copy_.resize(static_cast<std::size_t>(bucket.gradient_elements));
    return copy_.data();
  }
  Status Written(const BucketView& bucket) {
    if (device_.host_accessible()) return {};
    return device_.CopyFromHost(copy_.data(), bucket.receive, bytes());
  }

 private:
  std::int64_t bytes() const { return static_cast<std::int64_t>(copy_.size() * sizeof(float)); }

  Device& device_;
  std::vector<float> copy_;
};

}  // namespace tenon::exec
