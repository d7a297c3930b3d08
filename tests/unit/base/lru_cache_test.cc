#include "core/base/lru_cache.h"

#include <memory>
#include <string>

#include <gtest/gtest.h>

namespace tenon {
namespace {

TEST(LruCache, DropsWhatWasNotUsedForTheLongestTime) {
  LruCache<std::string, int> cache(2);
  cache.Add("a", 1);
  cache.Add("b", 2);
  ASSERT_NE(cache.Find("a"), nullptr);  // now "b" is the older one
  cache.Add("c", 3);
  EXPECT_EQ(cache.Find("b"), nullptr);
  ASSERT_NE(cache.Find("a"), nullptr);
  EXPECT_EQ(*cache.Find("a"), 1);
  ASSERT_NE(cache.Find("c"), nullptr);
  EXPECT_EQ(*cache.Find("c"), 3);
  EXPECT_EQ(cache.entries().front().first, "c");
  EXPECT_EQ(cache.counts().hits, 5);
  EXPECT_EQ(cache.counts().misses, 1);
  EXPECT_EQ(cache.counts().evictions, 1);
}

TEST(LruCache, LeavesValuesWhereTheyAreAndTakesThoseThatOnlyMove) {
  LruCache<int, std::unique_ptr<int>> cache(3);
  std::unique_ptr<int>* first = cache.Add(1, std::make_unique<int>(10));
  cache.Add(2, std::make_unique<int>(20));
  EXPECT_EQ(cache.Find(1), first);
  cache.Add(3, std::make_unique<int>(30));
  EXPECT_EQ(cache.Find(1), first);
  EXPECT_EQ(**first, 10);
}

}  // namespace
}  // namespace tenon
