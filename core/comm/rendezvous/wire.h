#pragma once

#include "core/comm/rendezvous/board.h"
#include "tenon_rendezvous.pb.h"

namespace tenon::rendezvous {

// Between the messages of the protocol and the types of the board.
void WriteAnswer(const Reply& reply, Answer& answer);
Reply ReadAnswer(const Answer& answer);
Candidate ReadRegistration(const Registration& registration);

}  // namespace tenon::rendezvous
