#include "lib/doctor/bell_trial.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <sstream>
#include <string_view>
#include <utility>

#include "lib/base/number.h"
#include "lib/doctor/meeting.h"
#include "lib/worker/bell/addresses.h"
#include "lib/worker/bell/udp_bell.h"

namespace torc::doctor {
namespace {

constexpr std::uint64_t kRings = 5;
constexpr auto kBetweenRings = std::chrono::milliseconds(20);
constexpr worker::StoreInstance kTrial{'t', 'r', 'i', 'a', 'l'};
constexpr std::string_view kRefused = "refused";

using OwnBell = std::unique_ptr<worker::UdpBell>;

// The key, then an address in each line; or why there is no bell.
std::string card_of(const Result<OwnBell>& bell) {
  if (!bell.ok()) return fmt::format("{}\n{}\n", kRefused, bell.error().what);
  std::string text;
  for (const std::uint8_t byte : (*bell)->place().key) text += fmt::format("{:02x}", byte);
  for (const claim::BellAddress& a : (*bell)->place().addresses)
    text += fmt::format("\n{} {}", worker::show_address(a), a.port);
  return text + '\n';
}

// What the other said.
struct Card {
  std::optional<claim::BellPlace> place;
  std::string refusal;
};

std::optional<claim::BellPlace> decode_place(std::istream& lines, const std::string& key) {
  claim::BellPlace place;
  if (key.size() != 2 * place.key.size()) return std::nullopt;
  for (std::size_t i = 0; i < place.key.size(); ++i) {
    const auto byte = whole_number<std::uint8_t>(std::string_view(key).substr(2 * i, 2), 16);
    if (!byte) return std::nullopt;
    place.key[i] = *byte;
  }
  for (std::string line; std::getline(lines, line);) {
    const std::size_t blank = std::min(line.find(' '), line.size());
    auto address = worker::address_named(line.substr(0, blank));
    const auto port = whole_number<std::uint16_t>(line.substr(std::min(blank + 1, line.size())));
    if (!address || !port || place.addresses.size() >= claim::kMostBellAddresses)
      return std::nullopt;
    address->port = *port;
    place.addresses.push_back(*std::move(address));
  }
  if (place.addresses.empty()) return std::nullopt;
  return place;
}

Card decode_card(const std::string& text) {
  std::istringstream lines(text);
  std::string first;
  std::getline(lines, first);
  Card card;
  if (first == kRefused) {
    std::getline(lines, card.refusal);
  } else {
    card.place = decode_place(lines, first);
  }
  if (!card.place && card.refusal.empty()) card.refusal = "what it said of it cannot be read";
  return card;
}

BellSide side_of(const claim::BellPlace& place) {
  BellSide side;
  side.loopback = true;
  for (const claim::BellAddress& a : place.addresses) {
    side.addresses.push_back(worker::show_address(a));
    side.loopback = side.loopback && worker::is_loopback(a);
  }
  return side;
}

void ring(worker::Datagrams& net, const claim::BellPlace& place, bool same_host, Clock& clock) {
  for (std::uint64_t n = 1; n <= kRings; ++n) {
    const std::string bell = worker::render_bell({n, 0}, kTrial, place.key);
    for (const claim::BellAddress& to : place.addresses) {
      // As workers do it.
      if (same_host || !worker::is_loopback(to)) net.send(to, bell);
    }
    if (n < kRings) clock.sleep_for(kBetweenRings);
  }
}

// How many of those that were rung before.
Result<std::uint64_t> hear(worker::UdpBell& bell, Meeting& meeting, Clock& clock,
                           std::chrono::nanoseconds wait) {
  std::set<std::uint64_t> heard;
  for (const BootTime since = clock.boot_now();;) {
    for (const worker::BellMessage& message : bell.take()) heard.insert(message.commit);
    if (heard.size() >= kRings) break;
    const Result<void> waited = meeting.pause(since, since + wait, "a bell");
    if (!waited.ok() && waited.error().kind == ErrorKind::busy) return waited.error();
    if (!waited.ok()) break;
  }
  return heard.size();
}

std::string joined(const std::vector<std::string>& addresses) {
  std::string out;
  for (const std::string& a : addresses) out += (out.empty() ? "" : ", ") + a;
  return out;
}

}  // namespace

std::string_view to_string(BellPassage passage) {
  switch (passage) {
    case BellPassage::passes:
      return "passes";
    case BellPassage::lost:
      return "lost";
    case BellPassage::loopback:
      return "loopback";
    case BellPassage::no_bell:
      return "no bell";
    case BellPassage::not_rung:
      return "not rung";
  }
  return "?";
}

BellPassage passage_to(const BellSide& side, const BellSide& other) {
  if (!side.refusal.empty()) return BellPassage::no_bell;
  if (side.loopback) return BellPassage::loopback;  // also where both were on one host
  if (!other.refusal.empty()) return BellPassage::not_rung;
  return side.heard > 0 ? BellPassage::passes : BellPassage::lost;
}

Result<BellTrial> try_bells(Meeting& meeting, const store::World& world, const BellTerms& terms) {
  const Result<OwnBell> own = worker::UdpBell::open(terms.interface, world.entropy);
  TORC_ASSIGN(const std::string theirs, meeting.exchange("bell", card_of(own)));
  const Card card = decode_card(theirs);
  if (own.ok()) (*own)->listen(kTrial);
  if (own.ok() && card.place) {
    ring(terms.net != nullptr ? *terms.net : **own, *card.place,
         world.boot_id == meeting.other().boot_id, world.clock);
  }
  TORC_TRY(meeting.exchange("bells-rung"));
  BellTrial trial;
  trial.rung = kRings;
  BellSide& mine = meeting.is_a() ? trial.a : trial.b;
  BellSide& other = meeting.is_a() ? trial.b : trial.a;
  if (own.ok()) {
    mine = side_of((*own)->place());
  } else {
    mine.refusal = own.error().what;
  }
  if (card.place) {
    other = side_of(*card.place);
  } else {
    other.refusal = card.refusal;
  }
  if (own.ok() && card.place) {
    TORC_ASSIGN(mine.heard, hear(**own, meeting, world.clock, terms.wait));
  }
  TORC_ASSIGN(const std::string heard, meeting.exchange("bells-heard", std::to_string(mine.heard)));
  other.heard = whole_number<std::uint64_t>(heard).value_or(0);
  return trial;
}

std::vector<store::Finding> judge_bells(const BellTrial& trial, const std::string& a,
                                        const std::string& b) {
  std::vector<store::Finding> out;
  if (trial.rung == 0) return out;  // it was not tried
  const auto add = [&](std::string text, std::string remedy) {
    out.push_back({store::Severity::note, "bell", std::move(text), std::move(remedy)});
  };
  const BellPassage to_a = passage_to(trial.a, trial.b);
  const BellPassage to_b = passage_to(trial.b, trial.a);
  const std::string opened =
      "let UDP pass between the nodes (ports as in net.ipv4.ip_local_port_range), or name an "
      "interface on which it does with --bell-interface";
  if (to_a == BellPassage::lost && to_b == BellPassage::lost) {
    add("bells do not pass between the two nodes: workers look for work now and then", opened);
  } else {
    const auto one_way = [&](BellPassage to, const std::string& there, const std::string& here) {
      if (to == BellPassage::lost)
        add(fmt::format("bells do not pass from {} to {}: workers of {} look for work now and then",
                        here, there, there),
            opened);
    };
    one_way(to_a, a, b);
    one_way(to_b, b, a);
  }
  const auto of_its_own = [&](BellPassage to, const BellSide& side, const std::string& host) {
    if (to == BellPassage::loopback) {
      add(fmt::format("the bell of {} is on a loopback address alone ({}): workers of other hosts "
                      "cannot ring it",
                      host, joined(side.addresses)),
          "name an interface or an address that others reach with --bell-interface");
    } else if (to == BellPassage::no_bell) {
      add(fmt::format("{0} has no bell: {1}; workers of {0} look for work now and then", host,
                      side.refusal),
          "name an interface or an address with --bell-interface");
    }
  };
  of_its_own(to_a, trial.a, a);
  of_its_own(to_b, trial.b, b);
  return out;
}

std::string show_bells(const BellTrial& trial) {
  const BellPassage to_a = passage_to(trial.a, trial.b);
  const BellPassage to_b = passage_to(trial.b, trial.a);
  const bool a_hears = to_a == BellPassage::passes;
  const bool b_hears = to_b == BellPassage::passes;
  const std::string passing = a_hears && b_hears ? "passes both ways"
                              : a_hears          ? "passes from B to A alone"
                              : b_hears          ? "passes from A to B alone"
                                                 : "does not pass";
  const auto side = [](const char* name, const BellSide& s) {
    if (!s.refusal.empty()) return fmt::format("{} has none", name);
    return fmt::format("{} hears on {}{}", name, joined(s.addresses),
                       s.loopback ? " (loopback only)" : "");
  };
  return fmt::format("{}; {}, {}", passing, side("A", trial.a), side("B", trial.b));
}

}  // namespace torc::doctor
