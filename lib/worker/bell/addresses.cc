#include "lib/worker/bell/addresses.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <future>
#include <memory>
#include <system_error>
#include <thread>
#include <utility>

namespace torc::worker {
namespace {

constexpr auto kNameService = std::chrono::seconds(2);
constexpr std::size_t kV4 = 4;
constexpr std::size_t kV6 = 16;

std::uint8_t byte(const std::string& address, std::size_t i) {
  return static_cast<std::uint8_t>(address[i]);
}

using Answer = Result<std::vector<claim::BellAddress>>;

Answer resolve(const std::string& name) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_DGRAM;
  addrinfo* list = nullptr;
  const int rc = getaddrinfo(name.c_str(), nullptr, &hints, &list);
  if (rc != 0) {
    return Error{
        ErrorKind::not_found,
        fmt::format("the name of this host, {}, has no address: {}", name, gai_strerror(rc)),
        "name an interface or an address with --bell-interface"};
  }
  std::vector<claim::BellAddress> found;
  for (const addrinfo* i = list; i != nullptr; i = i->ai_next) {
    if (auto address = address_of(i->ai_addr)) found.push_back(*std::move(address));
  }
  freeaddrinfo(list);
  return found;
}

}  // namespace

bool is_loopback(const claim::BellAddress& a) {
  if (a.address.size() == kV4) return byte(a.address, 0) == 127;
  std::string one(kV6, '\0');
  one.back() = 1;
  return a.address == one;
}

// Not 0.0.0.0 to 0.255.255.255, 169.254/16, groups and what is reserved; ::, fe80::/10, ff00::/8.
bool may_be_rung(const claim::BellAddress& a) {
  const std::uint8_t first = byte(a.address, 0);
  const std::uint8_t second = byte(a.address, 1);
  if (a.address.size() == kV4) return first != 0 && first < 224 && (first != 169 || second != 254);
  if (a.address == std::string(kV6, '\0')) return false;
  return first != 0xff && (first != 0xfe || (second & 0xc0U) != 0x80);
}

std::vector<claim::BellAddress> worth_telling(std::vector<claim::BellAddress> all) {
  std::erase_if(all, [](const auto& a) { return !may_be_rung(a); });
  if (std::any_of(all.begin(), all.end(), [](const auto& a) { return !is_loopback(a); }))
    std::erase_if(all, is_loopback);
  std::vector<claim::BellAddress> told;
  for (claim::BellAddress& a : all) {
    if (told.size() < claim::kMostBellAddresses &&
        std::find(told.begin(), told.end(), a) == told.end())
      told.push_back(std::move(a));
  }
  return told;
}

SocketAddress socket_address(const claim::BellAddress& address) {
  SocketAddress out;
  if (address.address.size() == kV4) {
    sockaddr_in in{};
    in.sin_family = AF_INET;
    in.sin_port = htons(address.port);
    std::memcpy(&in.sin_addr, address.address.data(), kV4);
    std::memcpy(&out.bytes, &in, sizeof in);
    out.size = sizeof in;
  } else if (address.address.size() == kV6) {
    sockaddr_in6 in{};
    in.sin6_family = AF_INET6;
    in.sin6_port = htons(address.port);
    std::memcpy(&in.sin6_addr, address.address.data(), kV6);
    std::memcpy(&out.bytes, &in, sizeof in);
    out.size = sizeof in;
  }
  return out;
}

std::optional<claim::BellAddress> address_of(const sockaddr* from) {
  if (from == nullptr) return std::nullopt;
  claim::BellAddress out;
  if (from->sa_family == AF_INET) {
    sockaddr_in in{};
    std::memcpy(&in, from, sizeof in);
    out.address.assign(reinterpret_cast<const char*>(&in.sin_addr), kV4);
    out.port = ntohs(in.sin_port);
    return out;
  }
  if (from->sa_family == AF_INET6) {
    sockaddr_in6 in{};
    std::memcpy(&in, from, sizeof in);
    out.address.assign(reinterpret_cast<const char*>(&in.sin6_addr), kV6);
    out.port = ntohs(in.sin6_port);
    return out;
  }
  return std::nullopt;
}

std::string show_address(const claim::BellAddress& address) {
  char text[INET6_ADDRSTRLEN] = {};
  const int family = address.address.size() == kV4 ? AF_INET : AF_INET6;
  if (address.address.size() != kV4 && address.address.size() != kV6) return "?";
  return inet_ntop(family, address.address.data(), text, sizeof text) == nullptr ? "?" : text;
}

std::optional<claim::BellAddress> address_named(const std::string& text) {
  claim::BellAddress one;
  one.address.resize(kV6);
  if (inet_pton(AF_INET6, text.c_str(), one.address.data()) == 1) return one;
  one.address.resize(kV4);
  if (inet_pton(AF_INET, text.c_str(), one.address.data()) == 1) return one;
  return std::nullopt;
}

// A name service that hangs is left to a thread that nobody waits for.
Answer addresses_of_host() {
  char name[256] = {};
  if (gethostname(name, sizeof name - 1) != 0) return os_error(errno, "gethostname");
  auto answer = std::make_shared<std::promise<Answer>>();
  std::future<Answer> awaited = answer->get_future();
  try {
    std::thread([answer, asked = std::string(name)] {
      answer->set_value(resolve(asked));
    }).detach();
  } catch (const std::system_error& e) {
    return os_error(e.code().value(), "there is no thread to ask the name service in");
  }
  if (awaited.wait_for(kNameService) == std::future_status::ready) return awaited.get();
  return Error{ErrorKind::busy, "the name service does not answer",
               "name an interface or an address with --bell-interface"};
}

Answer addresses_of_interface(const std::string& name_or_address) {
  if (auto one = address_named(name_or_address))
    return std::vector<claim::BellAddress>{*std::move(one)};
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) return os_error(errno, "getifaddrs");
  std::vector<claim::BellAddress> found;
  for (const ifaddrs* i = list; i != nullptr; i = i->ifa_next) {
    if (name_or_address != i->ifa_name) continue;
    if (auto address = address_of(i->ifa_addr)) found.push_back(*std::move(address));
  }
  freeifaddrs(list);
  if (!found.empty()) return found;
  return Error{ErrorKind::not_found,
               fmt::format("--bell-interface {}: this host has no such interface with an address",
                           name_or_address),
               "`ip address` lists them"};
}

bool has_other_than_loopback() {
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) return true;
  bool found = false;
  for (const ifaddrs* i = list; i != nullptr; i = i->ifa_next) {
    const auto address = address_of(i->ifa_addr);
    found = found || ((i->ifa_flags & IFF_UP) != 0 && address && !is_loopback(*address) &&
                      may_be_rung(*address));
  }
  freeifaddrs(list);
  return found;
}

}  // namespace torc::worker
