// Where this host can be reached by others.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <optional>
#include <string>
#include <vector>

#include "lib/base/result.h"
#include "lib/claim/rules/worker.h"

namespace torc::worker {

[[nodiscard]] bool is_loopback(const claim::BellAddress& address);
// One that a worker may have told: not of one link alone, of a group or of nobody, as they stand in
// a forged record. Addresses of whole networks the kernel refuses.
[[nodiscard]] bool may_be_rung(const claim::BellAddress& address);
// Of those that a host has, the ones to tell others: none of one link alone, of a group or of
// nobody; no loopback, unless there is nothing else; each once. Pure.
[[nodiscard]] std::vector<claim::BellAddress> worth_telling(std::vector<claim::BellAddress> all);

// As the kernel takes it.
struct SocketAddress {
  sockaddr_storage bytes{};
  socklen_t size = 0;
  [[nodiscard]] const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&bytes); }
};
[[nodiscard]] SocketAddress socket_address(const claim::BellAddress& address);
// nullopt: of neither family.
[[nodiscard]] std::optional<claim::BellAddress> address_of(const sockaddr* from);

// "10.1.2.3" and back, without the port. nullopt: no address of either family.
[[nodiscard]] std::string show_address(const claim::BellAddress& address);
[[nodiscard]] std::optional<claim::BellAddress> address_named(const std::string& text);

// What the name of this host stands for, with port 0. Waits for the name service for two seconds at
// most. Error: it has no answer.
Result<std::vector<claim::BellAddress>> addresses_of_host();
// Of the interface of that name, or that address itself. Error: there is no such interface.
Result<std::vector<claim::BellAddress>> addresses_of_interface(const std::string& name_or_address);

// Whether an interface of this host that is up has an address by which others may reach it. True
// where that cannot be seen.
[[nodiscard]] bool has_other_than_loopback();

}  // namespace torc::worker
