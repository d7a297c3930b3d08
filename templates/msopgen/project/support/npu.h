// Kernels for the simulated accelerator. Its memory cannot be addressed from here: a call is a function on the stream's
// thread that reads the inputs from the memory file, computes as the CPU does, and writes the outputs.
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <memory>

#include "support/kernel.h"
#include "tenon/native/npu_sim.h"

namespace support {

template <class Body>
class NpuKernel : public sdk::Kernel {
 public:
  static bool Supports(const sdk::Query& query, sdk::Reason& reason) {
    const std::string_view kind = sdk::Text(query.raw().native_stream_kind);
    if (kind != TENON_NPU_SIM_STREAM_KIND)
      return reason.No("native streams of kind '", kind, "' are not '", TENON_NPU_SIM_STREAM_KIND, "'");
    return SupportsTypes(Body::signature(), query, reason);
  }
  int32_t Create(const sdk::Query& query, sdk::Error&) {
    attributes_ = std::make_shared<const typename Body::Attributes>(Body::Read(AttributesOf(query)));
    return TENON_OK;
  }
  int32_t Plan(const sdk::PlanArgs& args, sdk::PlanResult&, sdk::Error&) {
    operands_ = std::make_shared<const Operands>(Operands::Of(args));
    return TENON_OK;
  }
  int32_t Execute(const sdk::Call& call, sdk::Error& error) {
    if (call.raw().native_stream == 0)
      return error.Fail(TENON_FAILED_PRECONDITION, "The host gave no native stream of the device.");
    auto* stream = reinterpret_cast<tenon_npu_sim_stream*>(static_cast<uintptr_t>(call.raw().native_stream));
    auto job = std::make_unique<Job>(Job{attributes_, operands_, {}, {}});
    for (uint32_t i = 0; i < call.input_count(); ++i) job->inputs.push_back(Find(stream, call.input(i)));
    for (uint32_t i = 0; i < call.output_count(); ++i) job->outputs.push_back(Find(stream, call.output(i)));
    const int32_t code = stream->enqueue(stream, &Work, job.get());
    if (code != TENON_OK) return error.Fail(code, "The device takes no more work.");
    static_cast<void>(job.release());  // Work frees it
    return TENON_OK;
  }

 private:
  struct Piece {
    int32_t file = -1;  // -1: absent or empty
    uint64_t offset = 0, bytes = 0;
  };
  struct Job {
    std::shared_ptr<const typename Body::Attributes> attributes;
    std::shared_ptr<const Operands> operands;
    std::vector<Piece> inputs, outputs;
  };

  static Piece Find(tenon_npu_sim_stream* stream, const sdk::Tensor& tensor) {
    Piece piece;
    if (tensor.absent() || tensor.empty()) return piece;
    piece.bytes = tensor.bytes();
    const int32_t code = stream->locate(stream, tensor.address(), piece.bytes, &piece.file, &piece.offset);
    if (code != TENON_OK)
      throw sdk::Failure(code, "An operand of ", piece.bytes, " bytes is not in the device's memory.");
    return piece;
  }

  // transfer(file, memory, bytes, offset) until all bytes are moved.
  template <class Transfer, class Memory>
  static bool Move(const Piece& piece, Memory* memory, Transfer transfer) {
    uint64_t done = 0;
    while (done < piece.bytes) {
      const ssize_t moved = transfer(piece.file, memory + done, static_cast<size_t>(piece.bytes - done),
                                     static_cast<off_t>(piece.offset + done));
      if (moved <= 0) return false;
      done += static_cast<uint64_t>(moved);
    }
    return true;
  }

  static int32_t Work(void* user) {
    const std::unique_ptr<Job> job(static_cast<Job*>(user));
    try {
      // One more byte each: an empty operand has an address too.
      std::vector<std::vector<char>> buffers;
      std::vector<const void*> inputs;
      std::vector<void*> outputs;
      buffers.reserve(job->inputs.size() + job->outputs.size());
      for (const Piece& piece : job->inputs) {
        std::vector<char>& buffer = buffers.emplace_back(piece.bytes + 1);
        if (piece.file >= 0 && !Move(piece, buffer.data(), ::pread)) return TENON_INTERNAL;
        inputs.push_back(buffer.data());
      }
      for (const Piece& piece : job->outputs) outputs.push_back(buffers.emplace_back(piece.bytes + 1).data());
      Run<Body>(*job->attributes, *job->operands, inputs.data(), outputs.data());
      for (size_t i = 0; i < outputs.size(); ++i) {
        const Piece& piece = job->outputs[i];
        if (piece.file >= 0 && !Move(piece, static_cast<const char*>(outputs[i]), ::pwrite)) return TENON_INTERNAL;
      }
      return TENON_OK;
    } catch (const sdk::Failure& failure) {
      return failure.code();
    } catch (...) {
      return TENON_INTERNAL;
    }
  }

  std::shared_ptr<const typename Body::Attributes> attributes_;
  std::shared_ptr<const Operands> operands_;
};

}  // namespace support
