#include "core/train/stop_signal.h"

#include <unistd.h>
#include <csignal>

namespace tenon {
namespace {

volatile std::sig_atomic_t g_received = 0;
struct sigaction g_former_int, g_former_term;

extern "C" void TakeSignal(int number) {
  if (g_received != 0) _exit(128 + number);
  g_received = number;
}

}  // namespace

StopSignal::StopSignal() {
  g_received = 0;
  struct sigaction action = {};
  action.sa_handler = TakeSignal;
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART;
  sigaction(SIGINT, &action, &g_former_int);
  sigaction(SIGTERM, &action, &g_former_term);
}

StopSignal::~StopSignal() {
  sigaction(SIGINT, &g_former_int, nullptr);
  sigaction(SIGTERM, &g_former_term, nullptr);
}

int StopSignal::received() const { return g_received; }

}  // namespace tenon
