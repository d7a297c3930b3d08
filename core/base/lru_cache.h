#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <utility>

namespace tenon {

// Values by key, of which the `capacity` that were used last are kept. A value stays where it is until it is dropped. For
// few values that are dear to make: a look-up compares the keys one by one. One thread.
template <class Key, class Value>
class LruCache {
 public:
  struct Counts {
    std::int64_t hits = 0, misses = 0, evictions = 0;
  };

  explicit LruCache(std::size_t capacity) : capacity_(capacity) {}

  // Null: it is not there.
  Value* Find(const Key& key) {
    for (auto at = entries_.begin(); at != entries_.end(); ++at) {
      if (!(at->first == key)) continue;
      ++counts_.hits;
      entries_.splice(entries_.begin(), entries_, at);
      return &at->second;
    }
    ++counts_.misses;
    return nullptr;
  }

  // The key must not be there yet.
  Value* Add(Key key, Value value) {
    entries_.emplace_front(std::move(key), std::move(value));
    if (entries_.size() > capacity_) {
      entries_.pop_back();
      ++counts_.evictions;
    }
    return &entries_.front().second;
  }

  const std::list<std::pair<Key, Value>>& entries() const { return entries_; }  // used last comes first
  const Counts& counts() const { return counts_; }

 private:
  std::size_t capacity_;
  std::list<std::pair<Key, Value>> entries_;
  Counts counts_;
};

}  // namespace tenon
