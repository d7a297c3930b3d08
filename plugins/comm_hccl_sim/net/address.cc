#include "net/address.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <unistd.h>

#include <fstream>
#include <vector>

#include "hccl/fault.h"

namespace tenon::hccl {
namespace {

struct Interface {
  std::string name, address;
  bool loopback, version6;
};

std::vector<Interface> Interfaces() {
  std::vector<Interface> found;
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) return found;
  for (const ifaddrs* one = list; one != nullptr; one = one->ifa_next) {
    if (one->ifa_addr == nullptr || (one->ifa_flags & IFF_UP) == 0) continue;
    const int family = one->ifa_addr->sa_family;
    if (family != AF_INET && family != AF_INET6) continue;
    char text[NI_MAXHOST];
    const socklen_t size = family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
    if (getnameinfo(one->ifa_addr, size, text, sizeof text, nullptr, 0, NI_NUMERICHOST) != 0) continue;
    const std::string address = text;
    if (address.find('%') != std::string::npos) continue;  // link-local: means nothing on another machine
    found.push_back({one->ifa_name, address, (one->ifa_flags & IFF_LOOPBACK) != 0, family == AF_INET6});
  }
  freeifaddrs(list);
  return found;
}

std::string ListOf(const std::vector<Interface>& interfaces) {
  std::string text;
  for (const Interface& one : interfaces) text += (text.empty() ? "" : ", ") + one.name + " (" + one.address + ")";
  return text.empty() ? "none" : text;
}

Choice Checked(const std::string& address, const std::string& why, bool one_machine) {
  const bool loopback = address == "::1" || address.rfind("127.", 0) == 0;
  if (loopback && !one_machine)
    throw MakeFault(TENON_INVALID_ARGUMENT, Ei::kConnect,
                    "The address " + address + " (" + why +
                        ") is a loopback address, but the ranks are on several machines. Interfaces here: " +
                        ListOf(Interfaces()) + ".");
  return {address, why};
}

Choice OfInterface(const std::string& name, bool one_machine) {
  const std::vector<Interface> interfaces = Interfaces();
  for (const bool version6 : {false, true}) {
    for (const Interface& one : interfaces) {
      if (one.name == name && one.version6 == version6)
        return Checked(one.address, "HCCL_SOCKET_IFNAME=" + name, one_machine);
    }
  }
  throw MakeFault(TENON_INVALID_ARGUMENT, Ei::kEnvironment,
                  "HCCL_SOCKET_IFNAME is '" + name +
                      "', and there is no such interface with an address. Interfaces here: " + ListOf(interfaces) +
                      ".");
}

}  // namespace

Choice ChooseAddress(const Environment& environment, const std::string& table_ip, bool one_machine) {
  if (!environment.address.empty()) {
    in6_addr parsed{};
    if (inet_pton(AF_INET, environment.address.c_str(), &parsed) != 1 &&
        inet_pton(AF_INET6, environment.address.c_str(), &parsed) != 1)
      throw MakeFault(TENON_INVALID_ARGUMENT, Ei::kEnvironment,
                      "HCCL_IF_IP is '" + environment.address + "'; it must be a numeric address.");
    return Checked(environment.address, "HCCL_IF_IP", one_machine);
  }
  if (!environment.interface.empty()) return OfInterface(environment.interface, one_machine);
  if (!table_ip.empty()) return Checked(table_ip, "host_ip of the rank table", one_machine);
  if (one_machine) return {"127.0.0.1", "all nodes are on this machine"};
  const std::vector<Interface> interfaces = Interfaces();
  for (const bool version6 : {false, true}) {
    for (const Interface& one : interfaces) {
      if (!one.loopback && one.version6 == version6) return {one.address, "first interface, " + one.name};
    }
  }
  throw MakeFault(TENON_UNAVAILABLE, Ei::kConnect,
                  "This machine has no address but loopback, and the ranks are on several machines. Interfaces here: " +
                      ListOf(interfaces) + ".");
}

std::string MachineName() {
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  char network[64] = {};
  if (readlink("/proc/self/ns/net", network, sizeof network - 1) < 0) network[0] = '\0';
  return boot + " " + network;
}

}  // namespace tenon::hccl
