// L1: memory. Cases 31 to 39 and 48.
#include <algorithm>
#include <cstring>
#include <thread>

#include "tools/conform/cases.h"
#include "tools/conform/session.h"

namespace tenon::conform {
namespace {

std::vector<std::uint8_t> Pattern(std::uint64_t bytes, std::uint8_t first = 1) {
  std::vector<std::uint8_t> pattern(bytes);
  for (std::uint64_t i = 0; i < bytes; ++i) pattern[i] = static_cast<std::uint8_t>(first + i * 7 + i / 251);
  return pattern;
}

std::int32_t CopyOnDevice(Session& s, std::uint64_t source, std::uint64_t target, std::uint64_t bytes,
                          tenon_error* error) {
  tenon_copy copy = TENON_INIT(tenon_copy);
  copy.source_space = copy.target_space = s.space();
  copy.source = source;
  copy.target = target;
  copy.row_bytes = bytes;
  copy.rows = 1;
  return TENON_CALL(tenon.memory, &s.memory(), copy, s.device(), &copy, s.stream(), error);
}

tenon_memory_stats Stats(Session& s) {
  tenon_memory_stats stats = TENON_INIT(tenon_memory_stats);
  tenon_error error;
  s.Ok(TENON_CALL(tenon.memory, &s.memory(), stats, s.space(), &stats, &error), error, "count its memory");
  return stats;
}

}  // namespace

namespace {

// Blocks that live at the same time share no byte.
void RequireApart(Session& s) {
  std::vector<Block> live;
  for (int round = 0; round < 4; ++round) {
    for (const std::uint64_t bytes : {1u, 3u, 63u, 64u, 65u, 100u, 1000u, 4097u, 70000u}) {
      const Block made = s.Allocate(bytes);
      for (const Block& other : live)
        s.context().Require(made.address + made.bytes <= other.address || other.address + other.bytes <= made.address,
                            "alloc gives {} bytes at {:#x}, which overlap the {} bytes at {:#x} that are still in use.",
                            made.bytes, made.address, other.bytes, other.address);
      live.push_back(made);
    }
  }
  for (Block& block : live) s.Free(block);
}

}  // namespace

void SpaceAlignment(Context& context) {
  Session s(context);
  tenon_error error;
  std::uint32_t spaces = 0;
  TENON_CALL(tenon.memory, &s.memory(), space_count, s.device(), &spaces, &error);
  int defaults = 0;
  for (std::uint32_t index = 0; index < spaces; ++index) {
    tenon_space* space = nullptr;
    tenon_space_info info = TENON_INIT(tenon_space_info);
    s.Ok(TENON_CALL(tenon.memory, &s.memory(), space_get, s.device(), index, &space, &info, &error), error,
         "describe a space");
    defaults += (info.flags & TENON_SPACE_DEFAULT) != 0 ? 1 : 0;
    const std::uint64_t own = info.min_align;
    context.Require(own > 0 && (own & (own - 1)) == 0, "Space {} has the alignment {}, which is no power of two.",
                    index, own);
    for (const std::uint64_t bytes : {1u, 3u, 63u, 64u, 65u, 1000u, 4097u}) {
      for (std::uint64_t align = 0; align <= 4096; align = align == 0 ? 1 : align * 4) {
        tenon_buffer* buffer = nullptr;
        std::uint64_t address = 0;
        const std::int32_t code =
            TENON_CALL(tenon.memory, &s.memory(), alloc, space, bytes, align, nullptr, 0, &buffer, &address, &error);
        context.Require(code == TENON_OK, "alloc of {} bytes aligned to {} answers {}: {}", bytes, align, code,
                        error.message_text());
        const std::uint64_t wanted = std::max(own, align);
        context.Require(address % wanted == 0, "alloc of {} bytes aligned to {} gives {:#x}; space {} promises {}.",
                        bytes, align, address, index, own);
        TENON_CALL(tenon.memory, &s.memory(), free, buffer, nullptr);
      }
    }
  }
  context.Require(defaults == 1, "{} memory spaces are the default one; exactly one must be.", defaults);
  RequireApart(s);
}

void ZeroBytes(Context& context) {
  Session s(context);
  tenon_error error;
  for (tenon_stream* stream : {static_cast<tenon_stream*>(nullptr), s.stream()}) {
    tenon_buffer* buffer = nullptr;
    std::uint64_t address = 77;
    std::int32_t code =
        TENON_CALL(tenon.memory, &s.memory(), alloc, s.space(), 0, 0, stream, 0, &buffer, &address, &error);
    context.Require(code == TENON_OK && buffer != nullptr && address == 0,
                    "alloc of 0 bytes answers {} with address {:#x} and {} handle; it must be OK, 0 and a handle.",
                    code, address, buffer == nullptr ? "no" : "a");
    code = TENON_CALL(tenon.memory, &s.memory(), fill, s.space(), 0, 0, 1, 1, stream, &error);
    context.Require(code == TENON_OK, "fill of 0 bytes answers {}: {}", code, error.message_text());
    for (const std::uint64_t rows : {0u, 1u, 3u}) {
      tenon_copy copy = TENON_INIT(tenon_copy);
      copy.source_space = copy.target_space = s.space();
      copy.row_bytes = rows == 0 ? 16 : 0;
      copy.rows = rows;
      code = TENON_CALL(tenon.memory, &s.memory(), copy, s.device(), &copy, stream, &error);
      context.Require(code == TENON_OK, "copy of {} rows of {} bytes answers {}: {}", rows, copy.row_bytes, code,
                      error.message_text());
    }
    TENON_CALL(tenon.memory, &s.memory(), free, buffer, stream);
  }
  TENON_CALL(tenon.memory, &s.memory(), free, nullptr, nullptr);
  TENON_CALL(tenon.memory, &s.memory(), free, nullptr, s.stream());
  s.Synchronize(s.stream());
}

void OutOfMemory(Context& context) {
  Session s(context);
  tenon_error error;
  const std::uint64_t total = std::max(s.info().memory_bytes, s.space_info().max_bytes);
  for (const std::uint64_t bytes : {total == 0 ? std::uint64_t{1} << 50 : total * 4, std::uint64_t{1} << 55}) {
    tenon_buffer* buffer = nullptr;
    std::uint64_t address = 0;
    tenon_error refused;
    const std::int32_t code =
        TENON_CALL(tenon.memory, &s.memory(), alloc, s.space(), bytes, 0, nullptr, 0, &buffer, &address, &refused);
    context.Require(code == TENON_RESOURCE_EXHAUSTED, "alloc of {} bytes answers {}; it must be RESOURCE_EXHAUSTED.",
                    bytes, code);
    context.Require(buffer == nullptr, "alloc of {} bytes fails but gives a handle.", bytes);
    context.Require(refused.requested_bytes >= bytes, "The error of alloc says that {} bytes were asked for, not {}.",
                    refused.requested_bytes, bytes);
    context.Require(!refused.message_text().empty(), "alloc of {} bytes fails without a text.", bytes);
  }
  Block block = s.Allocate(4096);
  s.Fill(block, 0x42, s.stream());
  context.Require(s.Read(block, s.stream()) == std::vector<std::uint8_t>(4096, 0x42),
                  "After an allocation failed the device does not work.");
  s.Free(block);
  if (s.memory().stats != nullptr)
    context.Require(Stats(s).current_bytes == 0, "After failed allocations {} bytes count as used.",
                    Stats(s).current_bytes);
}

void StatsAddUp(Context& context) {
  Session s(context);
  if (s.memory().stats == nullptr) context.Skip("The plugin does not count its memory.");
  const tenon_memory_stats before = Stats(s);
  std::vector<Block> blocks;
  std::uint64_t sum = 0;
  for (const std::uint64_t bytes : {1000u, 64u, 4096u, 123456u}) {
    blocks.push_back(s.Allocate(bytes));
    sum += bytes;
    const tenon_memory_stats now = Stats(s);
    const std::uint64_t counted = now.current_bytes - before.current_bytes;
    context.Require(counted >= sum && counted <= sum + blocks.size() * 65536,
                    "{} blocks of together {} bytes count as {} bytes.", blocks.size(), sum, counted);
    context.Require(now.peak_bytes >= now.current_bytes, "The peak ({}) is below the current bytes ({}).",
                    now.peak_bytes, now.current_bytes);
    context.Require(now.reserved_bytes >= now.current_bytes, "Fewer bytes are reserved ({}) than used ({}).",
                    now.reserved_bytes, now.current_bytes);
  }
  const std::uint64_t peak = Stats(s).peak_bytes;
  for (Block& block : blocks) s.Free(block);
  s.Synchronize(s.stream());
  const tenon_memory_stats after = Stats(s);
  context.Require(after.current_bytes == before.current_bytes,
                  "After all blocks were freed {} bytes count as used; before there were {}.", after.current_bytes,
                  before.current_bytes);
  context.Require(after.peak_bytes == peak, "The peak fell from {} to {} when blocks were freed.", peak,
                  after.peak_bytes);
}

void StreamOrderedFree(Context& context) {
  Session s(context);
  tenon_stream* other = s.NewStream();
  constexpr std::uint64_t kBytes = 1 << 20;
  for (int round = 0; round < 20; ++round) {
    // The block is freed on its stream while work on it pends; whoever gets its memory next must not be hit by it.
    Block first = s.Allocate(kBytes, s.stream());
    Block copy = s.Allocate(kBytes, s.stream());
    s.MakeBusy(s.stream());
    s.Fill(first, static_cast<std::uint8_t>(round), s.stream());
    tenon_error error;
    s.Ok(CopyOnDevice(s, first.address, copy.address, kBytes, &error), error, "copy on the device");
    s.Free(first, s.stream());
    Block second = s.Allocate(kBytes, other);
    s.Fill(second, 0xEE, other);
    s.Synchronize(other);
    const auto kept = s.Read(copy, s.stream());
    const bool intact = std::all_of(kept.begin(), kept.end(),
                                    [round](std::uint8_t byte) { return byte == static_cast<std::uint8_t>(round); });
    context.Require(intact,
                    "A block that was freed on its stream was given to another stream before the stream had "
                    "passed the call.");
    const auto mine = s.Read(second, other);
    const bool own = std::all_of(mine.begin(), mine.end(), [](std::uint8_t byte) { return byte == 0xEE; });
    context.Require(own, "Work that was pending when a block was freed wrote into the block that came after it.");
    // Without a stream, and at once on the same stream.
    Block third = s.Allocate(kBytes, s.stream());
    s.Fill(third, 0x11, s.stream());
    s.Free(third, s.stream());
    Block fourth = s.Allocate(kBytes, s.stream());
    s.Fill(fourth, 0x22, s.stream());
    const auto last = s.Read(fourth, s.stream());
    context.Require(last.front() == 0x22 && last.back() == 0x22, "A reused block holds the work of its former owner.");
    s.Free(fourth, s.stream());
    s.Free(copy, s.stream());
    s.Free(second, other);
  }
  s.Synchronize(s.stream());
  s.Synchronize(other);
  TENON_CALL(tenon.stream, &s.streams(), stream_destroy, other);
  if (s.memory().stats != nullptr) {
    // What MakeBusy keeps is freed with the session.
    const std::uint64_t used = Stats(s).current_bytes;
    context.Require(used <= (s.inline_streams() ? 0 : std::uint64_t{2} * (8 << 20) + 65536),
                    "After all blocks were freed on their streams {} bytes count as used.", used);
  }
}

void OverlappingCopy(Context& context) {
  Session s(context);
  Block block = s.Allocate(4096);
  const auto before = Pattern(4096);
  tenon_error error;
  for (const std::uint64_t distance : {1u, 64u, 1000u}) {
    s.Upload(before.data(), block.address, 4096, s.stream());
    const std::int32_t code = CopyOnDevice(s, block.address, block.address + distance, 2000, &error);
    s.Synchronize(s.stream());
    const auto after = s.Read(block, s.stream());
    if (code == TENON_OK) {
      context.Require(std::memcmp(after.data() + distance, before.data(), 2000) == 0,
                      "A copy over {} bytes of itself is accepted, but the target does not hold the source.", distance);
    } else {
      context.Require(code == TENON_INVALID_ARGUMENT, "An overlapping copy answers {}; it must be INVALID_ARGUMENT.",
                      code);
      context.Require(after == before, "An overlapping copy is refused but changed memory.");
    }
  }
  // Neighbours do not overlap.
  s.Upload(before.data(), block.address, 4096, s.stream());
  const std::int32_t code = CopyOnDevice(s, block.address, block.address + 2000, 2000, &error);
  context.Require(code == TENON_OK, "A copy to the bytes right behind its source answers {}: {}", code,
                  error.message_text());
  const auto after = s.Read(block, s.stream());
  context.Require(std::memcmp(after.data() + 2000, before.data(), 2000) == 0, "A copy to neighbouring bytes is wrong.");
  context.Require(std::memcmp(after.data(), before.data(), 2000) == 0, "A copy changed its source.");
  s.Free(block);
}

namespace {

struct Strided {
  std::uint64_t row_bytes, rows, source_pitch, target_pitch;
};

// Copies host -> device with the pitches and reads the device's bytes; what lies between rows must stay.
void TryStrided(Context& context, Session& s, const Strided& shape) {
  const auto source = Pattern(shape.rows * shape.source_pitch + 64);
  Block target = s.Allocate(shape.rows * shape.target_pitch + 64);
  s.Fill(target, 0xA5, s.stream());
  s.Synchronize(s.stream());
  tenon_copy copy = TENON_INIT(tenon_copy);
  copy.host_source = TENON_HOST_SOURCE_UNTIL_EVENT;
  copy.target_space = s.space();
  copy.source = reinterpret_cast<std::uintptr_t>(source.data());
  copy.target = target.address;
  copy.row_bytes = shape.row_bytes;
  copy.rows = shape.rows;
  copy.source_pitch = shape.source_pitch;
  copy.target_pitch = shape.target_pitch;
  tenon_error error;
  s.Ok(TENON_CALL(tenon.memory, &s.memory(), copy, s.device(), &copy, s.stream(), &error), error,
       fmt::format("copy {} rows of {} bytes", shape.rows, shape.row_bytes));
  const auto got = s.Read(target, s.stream());
  for (std::uint64_t i = 0; i < got.size(); ++i) {
    const std::uint64_t row = i / shape.target_pitch, column = i % shape.target_pitch;
    const bool inside = row < shape.rows && column < shape.row_bytes;
    const std::uint8_t wanted = inside ? source[row * shape.source_pitch + column] : std::uint8_t{0xA5};
    context.Require(
        got[i] == wanted,
        "A copy of {} rows of {} bytes, {} and {} bytes apart, leaves {:#x} at row {}, byte {}; {} is {:#x}.",
        shape.rows, shape.row_bytes, shape.source_pitch, shape.target_pitch, got[i], row, column,
        inside ? "the source" : "what was there", wanted);
  }
  // And back, into rows of another pitch.
  std::vector<std::uint8_t> back(shape.rows * shape.source_pitch + 64, 0x3B);
  std::swap(copy.source_pitch, copy.target_pitch);
  copy.source_space = s.space();
  copy.target_space = nullptr;
  copy.source = target.address;
  copy.target = reinterpret_cast<std::uintptr_t>(back.data());
  s.Ok(TENON_CALL(tenon.memory, &s.memory(), copy, s.device(), &copy, s.stream(), &error), error, "copy rows back");
  s.Synchronize(s.stream());
  for (std::uint64_t row = 0; row < shape.rows; ++row) {
    context.Require(std::memcmp(back.data() + row * shape.source_pitch, source.data() + row * shape.source_pitch,
                                shape.row_bytes) == 0,
                    "Row {} of a copy to host memory is wrong.", row);
    const std::uint64_t gap = shape.source_pitch - shape.row_bytes;
    for (std::uint64_t i = 0; i < gap; ++i)
      context.Require(back[row * shape.source_pitch + shape.row_bytes + i] == 0x3B,
                      "A copy to host memory wrote between rows {} and {}.", row, row + 1);
  }
  s.Free(target);
}

}  // namespace

void StridedCopy(Context& context) {
  Session s(context);
  for (const Strided& shape :
       {Strided{64, 4, 128, 64}, Strided{64, 4, 64, 128}, Strided{7, 13, 9, 11}, Strided{1, 5, 1, 3},
        Strided{1000, 3, 1024, 1001}, Strided{33, 1, 40, 50}, Strided{16, 7, 16, 16}})
    TryStrided(context, s, shape);
  // A row that does not fit its pitch.
  Block block = s.Allocate(4096);
  tenon_copy copy = TENON_INIT(tenon_copy);
  copy.source_space = copy.target_space = s.space();
  copy.source = block.address;
  copy.target = block.address + 2048;
  copy.row_bytes = 64;
  copy.rows = 4;
  copy.source_pitch = 32;
  copy.target_pitch = 64;
  tenon_error error;
  const std::int32_t code = TENON_CALL(tenon.memory, &s.memory(), copy, s.device(), &copy, s.stream(), &error);
  context.Require(code == TENON_INVALID_ARGUMENT, "A copy of rows of 64 bytes that lie 32 bytes apart answers {}.",
                  code);
  // Fills of every width, and odd sizes with the narrowest.
  const std::uint64_t pattern = 0x8877665544332211u;
  for (const std::uint32_t width : {1u, 2u, 4u, 8u}) {
    for (const std::uint64_t count : {1u, 7u, 33u}) {
      const std::uint64_t bytes = width * count;
      Block filled = s.Allocate(bytes + 64);
      s.Fill(filled, 0xA5, s.stream());
      s.Ok(TENON_CALL(tenon.memory, &s.memory(), fill, s.space(), filled.address, bytes, pattern, width, s.stream(),
                      &error),
           error, "fill memory");
      const auto got = s.Read(filled, s.stream());
      for (std::uint64_t i = 0; i < got.size(); ++i) {
        const std::uint8_t wanted =
            i < bytes ? static_cast<std::uint8_t>(pattern >> (8 * (i % width))) : std::uint8_t{0xA5};
        context.Require(got[i] == wanted, "A fill of {} bytes with a pattern of {} leaves {:#x} at byte {}, not {:#x}.",
                        bytes, width, got[i], i, wanted);
      }
      s.Free(filled);
    }
  }
  s.Free(block);
}

void PeerCopy(Context& context) {
  Session s(context);
  tenon_error error;
  std::uint32_t count = 0;
  TENON_CALL(tenon.device, &s.devices(), device_count, s.plugin(), &count, &error);
  // Another device, or the same one opened a second time: two handles that know nothing of each other.
  tenon_device* other = nullptr;
  s.Ok(TENON_CALL(tenon.device, &s.devices(), open, s.plugin(), count > 1 ? 1 : 0, &other, &error), error,
       "open a second device");
  tenon_space* space = nullptr;
  tenon_space_info info = TENON_INIT(tenon_space_info);
  TENON_CALL(tenon.memory, &s.memory(), space_get, other, 0, &space, &info, &error);
  tenon_buffer* buffer = nullptr;
  std::uint64_t address = 0;
  s.Ok(TENON_CALL(tenon.memory, &s.memory(), alloc, space, 1024, 0, nullptr, 0, &buffer, &address, &error), error,
       "allocate on a second device");
  Block mine = s.Allocate(1024);
  const auto bytes = Pattern(1024, 9);
  s.Upload(bytes.data(), mine.address, 1024, s.stream());
  tenon_copy copy = TENON_INIT(tenon_copy);
  copy.source_space = s.space();
  copy.target_space = space;
  copy.source = mine.address;
  copy.target = address;
  copy.row_bytes = 1024;
  copy.rows = 1;
  const std::int32_t code = TENON_CALL(tenon.memory, &s.memory(), copy, s.device(), &copy, s.stream(), &error);
  s.Synchronize(s.stream());  // the upload reads `bytes` until then, also where the copy is refused
  if (code == TENON_OK) {
    std::vector<std::uint8_t> got(1024);
    tenon_copy down = TENON_INIT(tenon_copy);
    down.source_space = space;
    down.source = address;
    down.target = reinterpret_cast<std::uintptr_t>(got.data());
    down.row_bytes = 1024;
    down.rows = 1;
    s.Ok(TENON_CALL(tenon.memory, &s.memory(), copy, other, &down, nullptr, &error), error,
         "read from a second device");
    context.Require(got == bytes, "A copy to another device is accepted, but the bytes are others.");
  } else {
    context.Require(code == TENON_UNIMPLEMENTED && !error.message_text().empty(),
                    "A copy to another device answers {} ('{}'); it must work or be UNIMPLEMENTED with a text.", code,
                    error.message_text());
    tenon_value value = TENON_INIT(tenon_value);
    TENON_CALL(tenon.device, &s.devices(), query, s.plugin(), 0, tenon_str TENON_STR("peer_access"), &value, &error);
    context.Require(value.answer != TENON_ANSWER_YES, "peer_access says yes, but the copy is not implemented.");
  }
  TENON_CALL(tenon.memory, &s.memory(), free, buffer, nullptr);
  s.Free(mine);
  TENON_CALL(tenon.device, &s.devices(), close, other);
}

void HostSource(Context& context) {
  Session s(context);
  constexpr std::uint64_t kBytes = 1 << 20;
  Block block = s.Allocate(kBytes);
  for (int round = 0; round < 5; ++round) {
    // During the call: the source may change as soon as it returns.
    auto source = Pattern(kBytes, static_cast<std::uint8_t>(round));
    const auto sent = source;
    s.MakeBusy(s.stream());
    s.Upload(source.data(), block.address, kBytes, s.stream(), TENON_HOST_SOURCE_DURING_CALL);
    std::fill(source.begin(), source.end(), std::uint8_t{0xDD});
    context.Require(s.Read(block, s.stream()) == sent,
                    "A copy that may read its source only during the call read it later.");
    // Until the event: it may change once the stream has passed.
    auto later = Pattern(kBytes, static_cast<std::uint8_t>(round + 100));
    const auto later_sent = later;
    tenon_event* event = s.NewEvent();
    s.Upload(later.data(), block.address, kBytes, s.stream(), TENON_HOST_SOURCE_UNTIL_EVENT);
    s.Record(event, s.stream());
    tenon_error error;
    s.Ok(TENON_CALL(tenon.stream, &s.streams(), event_synchronize, event, kForever, &error), error,
         "wait for an event");
    std::fill(later.begin(), later.end(), std::uint8_t{0xDD});
    context.Require(s.Read(block, s.stream()) == later_sent,
                    "A copy read its source after the event that followed it was reached.");
    TENON_CALL(tenon.stream, &s.streams(), event_destroy, event);
  }
  s.Free(block);
}

void WrapExternal(Context& context) {
  Session s(context);
  if (s.memory().wrap_external == nullptr) context.Skip("The plugin does not wrap memory of others.");
  static std::atomic<int> deleted{0};
  alignas(4096) static std::uint8_t memory[8192];
  const tenon_deleter_fn deleter = [](void* user) { deleted.fetch_add(user == memory ? 1 : 1000); };
  tenon_error error;
  for (int i = 1; i <= 10; ++i) {
    tenon_buffer* buffer = nullptr;
    const std::int32_t code =
        TENON_CALL(tenon.memory, &s.memory(), wrap_external, s.space(), reinterpret_cast<std::uintptr_t>(memory),
                   sizeof(memory), deleter, memory, &buffer, &error);
    if (code != TENON_OK) {
      context.Require(deleted == i, "wrap_external answers {} and ran the deleter {} times; it must be once.", code,
                      deleted.load() - (i - 1));
      continue;
    }
    context.Require(buffer != nullptr, "wrap_external answers OK but gives no buffer.");
    context.Require(deleted == i - 1, "wrap_external ran the deleter while the buffer lives.");
    TENON_CALL(tenon.memory, &s.memory(), free, buffer, i % 2 == 0 ? s.stream() : nullptr);
    s.Synchronize(s.stream());
    const bool once = WaitFor([i] { return deleted.load() >= i; }, 2000);
    context.Require(once, "The deleter of wrapped memory did not run when the buffer was freed.");
    context.Require(deleted == i, "The deleter of wrapped memory ran {} times for {} buffers.", deleted.load(), i);
  }
  tenon_buffer* plain = nullptr;
  const std::int32_t code =
      TENON_CALL(tenon.memory, &s.memory(), wrap_external, s.space(), reinterpret_cast<std::uintptr_t>(memory),
                 sizeof(memory), nullptr, nullptr, &plain, &error);
  if (code == TENON_OK) TENON_CALL(tenon.memory, &s.memory(), free, plain, nullptr);
  context.Require(deleted == 10, "A deleter ran for memory that was wrapped without one.");
}

}  // namespace tenon::conform
