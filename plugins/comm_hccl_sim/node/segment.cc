#include "node/segment.h"

namespace tenon::hccl {

SegmentLayout::SegmentLayout(uint32_t ranks, uint32_t size) : ranks_(ranks) {
  constexpr uint64_t kPage = 4096;
  const auto place = [this](uint64_t bytes) {
    const uint64_t at = end_;
    end_ = (end_ + bytes + kPage - 1) / kPage * kPage;
    return at;
  };
  place(sizeof(SegmentHead));
  lines_ = place(sizeof(RankLine) * ranks);
  headers_ = place(sizeof(PaddedHeader) * kCopies * ranks);
  eager_ = place(kEager * kCopies * ranks);
  everyone_ = place(sizeof(Header) * size);
  stages_ = place(kStage * 2 * ranks);
  results_ = place(kStage * 2 * ranks);
  channels_ = place(sizeof(Channel) * ranks * ranks);
}

}  // namespace tenon::hccl
