#include "core/device/side_stream.h"

#include "core/plugin/abi_trace.h"
#include "core/plugin/error_sink.h"

namespace tenon {

Result<std::unique_ptr<SideStream>> SideStream::Make(Device& device, std::uint32_t role) {
  std::unique_ptr<SideStream> stream(new SideStream(device));
  TENON_TRY_WHILE(stream->Open(role), "making a second stream on device {}:{}", device.kind(), device.index());
  return stream;
}

Status SideStream::Open(std::uint32_t role) {
  const tenon_stream_vtable& table = *device_.plugin().stream;
  if (table.native == nullptr || table.event_create == nullptr || table.event_record == nullptr ||
      table.stream_wait_event == nullptr)
    return Error(Code::kUnimplemented, "Plugin {} has no events or native handles of its streams.",
                 device_.plugin().id);
  tenon_error error;
  tenon_stream_options options = TENON_INIT(tenon_stream_options);
  options.role = role;
  TENON_TRY(ToStatus(
      CallAbi("tenon.stream", "stream_create", table.stream_create, device_.handle(), &options, &stream_, &error),
      error, device_.Subject()));
  if (stream_ == nullptr) return device_.NothingGiven("creating a stream", "stream");
  TENON_TRY(
      ToStatus(CallAbi("tenon.stream", "native", table.native, stream_, &native_, &error), error, device_.Subject()));
  TENON_TRY(ToStatus(CallAbi("tenon.stream", "event_create", table.event_create, device_.handle(), 0U, &event_, &error),
                     error, device_.Subject()));
  if (event_ == nullptr) return device_.NothingGiven("creating an event", "event");
  return {};
}

SideStream::~SideStream() {
  const tenon_stream_vtable& table = *device_.plugin().stream;
  if (event_ != nullptr && table.event_destroy != nullptr)
    CallAbi("tenon.stream", "event_destroy", table.event_destroy, event_);
  if (stream_ != nullptr) CallAbi("tenon.stream", "stream_destroy", table.stream_destroy, stream_);
}

Status SideStream::Follow() {
  const tenon_stream_vtable& table = *device_.plugin().stream;
  tenon_error error;
  TENON_TRY(ToStatus(CallAbi("tenon.stream", "event_record", table.event_record, event_, device_.stream(), &error),
                     error, device_.Subject()));
  return ToStatus(CallAbi("tenon.stream", "stream_wait_event", table.stream_wait_event, stream_, event_, &error), error,
                  device_.Subject());
}

}  // namespace tenon
