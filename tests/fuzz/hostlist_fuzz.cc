// Slurm's host lists: as many names as an independent count says, and the names mean themselves.
#include <string>

#include "lib/slurm/host_list.h"
#include "tests/fuzz/fuzz.h"

namespace {

// What stands between brackets: "1-4,7" are 5.
std::uint64_t count_ranges(std::string_view ranges) {
  std::uint64_t sum = 0;
  std::uint64_t low = 0, number = 0;
  bool is_range = false;
  const auto end_one = [&] {
    sum += is_range ? number - low + 1 : 1;
    number = 0;
    is_range = false;
  };
  for (const char c : ranges) {
    if (c == ',') {
      end_one();
    } else if (c == '-') {
      low = number;
      number = 0;
      is_range = true;
    } else {
      number = number * 10 + static_cast<std::uint64_t>(c - '0');
    }
  }
  end_one();
  return sum;
}

// Precondition: it is a host list.
std::uint64_t count_hosts(std::string_view text) {
  std::uint64_t sum = 0;
  std::uint64_t product = 1;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == ',') {
      sum += product;
      product = 1;
    } else if (text[i] == '[') {
      const std::size_t end = text.find(']', i);
      product *= count_ranges(text.substr(i + 1, end - i - 1));
      i = end;
    }
  }
  return text.empty() ? 0 : sum + product;
}

// Numbers of four to six digits can make up to a hundred thousand hosts, each time;
// hostlist_test.cc tries those.
bool takes_long(std::string_view text) {
  std::size_t digits = 0;
  for (const char c : text) {
    if (c >= '0' && c <= '9') {
      ++digits;
      continue;
    }
    if (digits >= 4 && digits <= 6) return true;
    digits = 0;
  }
  return false;
}

}  // namespace

TORC_FUZZ_TARGET(hostlist) {
  if (takes_long(input)) return;
  const auto hosts = torc::slurm::expand_host_list(input);
  if (!hosts.ok()) {
    TORC_MUST(hosts.error().kind == torc::ErrorKind::invalid && !hosts.error().remedy.empty());
    return;
  }
  TORC_MUST(hosts->size() <= torc::slurm::kMaxHosts);
  TORC_MUST(hosts->size() == count_hosts(input));
  std::string names;
  for (const std::string& host : *hosts) {
    TORC_MUST(!host.empty() && host.find_first_of("[],") == std::string::npos);
    names += (names.empty() ? "" : ",") + host;
  }
  const auto again = torc::slurm::expand_host_list(names);
  TORC_MUST(again.ok() && *again == *hosts);
}
