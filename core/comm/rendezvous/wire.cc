#include "core/comm/rendezvous/wire.h"

namespace tenon::rendezvous {

void WriteAnswer(const Reply& reply, Answer& answer) {
  answer.set_code(static_cast<std::int32_t>(reply.status.code()));
  answer.set_message(reply.status.message());
  answer.set_value(reply.value);
  answer.set_retry(reply.retry);
  answer.set_token(reply.token);
  answer.set_neighbour(reply.neighbours.index);
  answer.set_neighbours(reply.neighbours.count);
}

Reply ReadAnswer(const Answer& answer) {
  Reply reply;
  if (answer.code() != 0) reply.status = Status(static_cast<Code>(answer.code()), answer.message());
  reply.value = answer.value();
  reply.retry = answer.retry();
  reply.token = answer.token();
  reply.neighbours = {answer.neighbour(), answer.neighbours()};
  return reply;
}

Candidate ReadRegistration(const Registration& registration) {
  Candidate candidate;
  candidate.rank = registration.rank();
  candidate.size = registration.size();
  candidate.local_rank = registration.local_rank();
  candidate.node = registration.node();
  candidate.host = registration.host();
  candidate.address = registration.address();
  candidate.process = registration.process();
  candidate.job = registration.job();
  candidate.generation = registration.generation();
  candidate.version = registration.version();
  candidate.config = registration.config();
  candidate.plugins = registration.plugins();
  return candidate;
}

}  // namespace tenon::rendezvous
