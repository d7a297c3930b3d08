#include "core/launch/held_port.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

namespace tenon {
namespace {

int Listen(std::uint16_t port) {
  const int server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int on = 1;
  setsockopt(server, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  if (bind(server, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0 && listen(server, 1) == 0)
    return server;
  close(server);
  return -1;
}

TEST(HeldPort, PicksAFreeOneAndLetsTheJobsServerListen) {
  const Result<HeldPort> held = HeldPort::Take(0);
  ASSERT_TRUE(held.ok()) << held.status().ToString();
  EXPECT_GT(held->port(), 0);
  const int server = Listen(held->port());
  EXPECT_GE(server, 0);
  close(server);
}

TEST(HeldPort, BelongsToOneJob) {
  std::uint16_t port = 0;
  {
    const Result<HeldPort> held = HeldPort::Take(0);
    ASSERT_TRUE(held.ok());
    port = held->port();
    const Result<HeldPort> second = HeldPort::Take(port);
    ASSERT_FALSE(second.ok());
    EXPECT_NE(second.status().message().find(fmt::format("Port {} of --master_port is taken by another job", port)),
              std::string::npos)
        << second.status().ToString();
  }
  EXPECT_TRUE(HeldPort::Take(port).ok()) << "given back";
}

TEST(HeldPort, IsRefusedWhereSomebodyListens) {
  const Result<HeldPort> free = HeldPort::Take(0);
  ASSERT_TRUE(free.ok());
  const int server = Listen(free->port());
  ASSERT_GE(server, 0);
  const Result<HeldPort> taken = HeldPort::Take(free->port());
  ASSERT_FALSE(taken.ok());
  EXPECT_NE(taken.status().message().find("is taken by another program"), std::string::npos)
      << taken.status().ToString();
  close(server);
}

}  // namespace
}  // namespace tenon
