#include "lib/doctor/meeting.h"

#include <signal.h>

#include <algorithm>
#include <cerrno>

#include "lib/base/number.h"

namespace torc::doctor {
namespace {

using std::chrono::milliseconds;

// How long names that should go are waited for.
constexpr std::chrono::nanoseconds kLongStay = std::chrono::seconds(45);
constexpr std::chrono::nanoseconds kShortStay = std::chrono::seconds(2);
// Waiting so long, what is waited for may be there and not be seen.
constexpr std::chrono::nanoseconds kStir = milliseconds(200);
constexpr std::string_view kStirred = "stir";
// What is said when the two of a round begin, or one of them leaves it for ever.
constexpr const char* kGo = "go";
constexpr const char* kAbandoned = "abandoned";

std::string encode(const NodeCard& card, std::uint64_t nonce) {
  return card.host + '\n' + card.boot_id + '\n' + card.pid_namespace + '\n' +
         std::to_string(card.pid) + '\n' + card.filesystem + '\n' + std::to_string(nonce) + '\n';
}

NodeCard decode(std::string_view text) {
  const auto line = [&] {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string out(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    return out;
  };
  NodeCard card;
  card.host = line();
  card.boot_id = line();
  card.pid_namespace = line();
  card.pid = leading_number<std::uint64_t>(line()).value_or(0);
  card.filesystem = line();
  return card;
}

Error gone() {
  return {ErrorKind::not_found, "the other instance ended before the test was over",
          "see what it says, then start both again"};
}

}  // namespace

Meeting::Meeting(const store::World& world, Path directory, const TwoNodeOptions& options,
                 const Interrupted& interrupted)
    : world_(world),
      place_(std::move(directory)),
      options_(options),
      interrupted_(interrupted),
      publisher_(world.disk, world.entropy, options.publish, store::Durable::no) {
  // Who else may write in the directory above could put links to anything there.
  world_.disk.protect(place_.parent_path());
}

Meeting::~Meeting() {
  leave();
}

void Meeting::leave() {
  if (round_.empty() || role_ == 0) return;  // a round in which others sit is theirs
  // Where listings are stale, the newest names of the other come into sight only after a while.
  const BootTime until = world_.clock.boot_now() + (interrupted_() ? kShortStay : kLongStay);
  for (;;) {
    const Result<void> gone_now = remove_tree(world_.disk, round_);
    if (gone_now.ok() || gone_now.error().os_errno == ENOENT) break;
    if (world_.clock.boot_now() >= until) break;
    world_.clock.sleep_for(milliseconds(200));
  }
  (void)world_.disk.remove_directory(place_);  // refused while another pair is at work
  round_.clear();
}

Result<void> Meeting::pause(BootTime since, BootTime until, const char* what) {
  if (interrupted_()) return Error{ErrorKind::busy, "interrupted", {}};
  const BootTime now = world_.clock.boot_now();
  if (now >= until) {
    return Error{ErrorKind::not_found, std::string(what) + " did not come in time",
                 "is this the same directory of the same filesystem on both nodes?"};
  }
  // Short at first, since what is measured is how soon something is seen.
  world_.clock.sleep_for(now - since < milliseconds(100)         ? std::chrono::microseconds(200)
                         : now - since < std::chrono::seconds(2) ? milliseconds(1)
                                                                 : milliseconds(20));
  return {};
}

// For loops that list the round: where a directory's time of change is all that tells a client that
// its listing is old (NFS version 3), a name that was made within the same tick of the server's
// clock as the listing stays unseen until the directory changes again. So whoever waits for long
// changes it.
Result<void> Meeting::pause_for_names(BootTime since, BootTime until, const char* what) {
  const BootTime now = world_.clock.boot_now();
  if (now - std::max(since, stirred_) >= kStir) {
    stirred_ = now;
    if (world_.disk.make_directory(round_ / kStirred).ok())
      (void)world_.disk.remove_directory(round_ / kStirred);
  }
  return pause(since, until, what);
}

// true: the name is ours; false: somebody else's; nullopt: the round was taken away.
Result<std::optional<bool>> Meeting::take(const std::string& name, const std::string& text) {
  TORC_ASSIGN(const store::Publication made, publisher_.publish(round_, name, text));
  if (made.state == store::Publication::State::done) return std::optional<bool>(true);
  if (made.state == store::Publication::State::taken) return std::optional<bool>(false);
  if (made.error.os_errno == ENOENT || made.error.os_errno == ESTALE) return std::optional<bool>();
  return made.error;
}

Result<std::set<std::string>> Meeting::names() {
  Result<std::vector<std::string>> listed = world_.disk.list(round_);
  if (listed.ok()) return std::set<std::string>(listed->begin(), listed->end());
  if (listed.error().os_errno == ENOENT || listed.error().os_errno == ESTALE) return gone();
  return std::move(listed).error();
}

Result<std::string> Meeting::content(const std::string& name) {
  return read_file(world_.disk, publisher_.content(round_, name));
}

Result<void> Meeting::read_other(const std::string& seat) {
  TORC_ASSIGN(const std::string text, content(seat));
  other_ = decode(text);
  return {};
}

// Known only of this very machine.
bool Meeting::is_dead(const NodeCard& card) const {
  return !card.boot_id.empty() && !card.pid_namespace.empty() && card.boot_id == self_.boot_id &&
         card.pid_namespace == self_.pid_namespace && card.pid != 0 &&
         ::kill(static_cast<pid_t>(card.pid), 0) < 0 && errno == ESRCH;
}

Result<std::uint64_t> Meeting::newest_round() {
  const Result<void> made = world_.disk.make_directory(place_);
  if (!made.ok() && made.error().os_errno != EEXIST) return made.error();
  const Result<std::vector<std::string>> listed = world_.disk.list(place_);
  if (!listed.ok() && listed.error().os_errno != ENOENT) return listed.error();
  std::uint64_t newest = 0;
  for (const std::string& name : listed.ok() ? *listed : std::vector<std::string>()) {
    newest = std::max(newest, whole_number<std::uint64_t>(name).value_or(0));
  }
  return newest;
}

Result<void> Meeting::find_partner(const NodeCard& self, const Tell& tell) {
  self_ = self;
  self_text_ = encode(self, world_.entropy.next());
  give_up_ = world_.clock.boot_now() + options_.partner_wait;
  std::uint64_t floor = 1;
  for (;;) {
    TORC_ASSIGN(const std::uint64_t newest, newest_round());
    floor = std::max(floor, newest);
    TORC_ASSIGN(const Seat seat, sit_down(floor, tell));
    if (seat == Seat::sat) return {};
    round_.clear();
    ++floor;
    TORC_TRY(pause(world_.clock.boot_now(), give_up_, "another instance"));
  }
}

Result<Meeting::Seat> Meeting::sit_down(std::uint64_t round, const Tell& tell) {
  role_ = 0;
  number_ = round;
  round_ = place_ / std::to_string(round);
  const Result<void> made = world_.disk.make_directory(round_);
  if (!made.ok() && made.error().os_errno == ENOENT) return Seat::next_round;  // just taken away
  if (!made.ok() && made.error().os_errno != EEXIST) return made.error();
  for (const char seat : {'a', 'b'}) {
    TORC_ASSIGN(const std::optional<bool> ours, take(std::string(1, seat), self_text_));
    if (!ours) return Seat::next_round;
    if (!*ours) continue;
    role_ = seat;
    if (seat == 'a') tell("waiting for the same command on another node");
    return seat == 'a' ? wait_as_a() : wait_as_b();
  }
  return Seat::next_round;  // two others sit there
}

// Who clears away a round of the dead goes on to the next one. If another one made it anew
// meanwhile, each would wait alone in its own: the lower one gives way.
Result<bool> Meeting::is_passed_by() {
  const BootTime now = world_.clock.boot_now();
  if (now - looked_beyond_ < kStir) return false;
  looked_beyond_ = now;
  TORC_ASSIGN(const std::uint64_t newest, newest_round());
  return newest > number_;
}

// What was said in the name "start", by either.
Result<Meeting::Seat> Meeting::seat_of_start() {
  const Result<std::string> said = content("start");
  if (said.ok()) return *said == kGo ? Seat::sat : Seat::next_round;
  if (said.error().kind == ErrorKind::not_found) return Seat::next_round;  // taken away
  return said.error();
}

Result<Meeting::Seat> Meeting::wait_as_a() {
  for (const BootTime since = world_.clock.boot_now();;) {
    Result<std::set<std::string>> there = names();
    if (!there.ok()) {
      if (there.error().kind == ErrorKind::not_found) return Seat::next_round;
      return std::move(there).error();
    }
    const Result<std::string> seat = content("a");
    if (seat.ok() && *seat != self_text_) {
      return Error{ErrorKind::corrupt,
                   "put-if-absent is broken: the name " + (round_ / "a").string() +
                       " was given to two instances",
                   "do not use this filesystem for a store"};
    }
    if (there->contains("b")) break;
    TORC_ASSIGN(const bool passed_by, is_passed_by());
    if (passed_by) {
      TORC_ASSIGN(const std::optional<bool> abandoned, take("start", kAbandoned));
      if (abandoned.value_or(false)) (void)remove_tree(world_.disk, round_);
      return Seat::next_round;
    }
    Result<void> waited = pause_for_names(since, give_up_, "another instance");
    if (!waited.ok()) {
      leave();
      return std::move(waited).error();
    }
  }
  if (!read_other("b").ok()) return Seat::next_round;  // a B that gave up takes all away
  TORC_ASSIGN(const std::optional<bool> started, take("start", kGo));
  return started.value_or(false) ? Seat::sat : Seat::next_round;
}

Result<Meeting::Seat> Meeting::wait_as_b() {
  if (!read_other("a").ok()) return Seat::next_round;
  const BootTime since = world_.clock.boot_now();
  const BootTime until = is_dead(other_) ? since : since + options_.start_wait;
  for (;;) {
    Result<std::set<std::string>> there = names();
    if (!there.ok()) {
      if (there.error().kind == ErrorKind::not_found) return Seat::next_round;
      return std::move(there).error();
    }
    if (there->contains("start")) return seat_of_start();
    const Result<void> waited = pause_for_names(since, until, "the start");
    if (waited.ok()) continue;
    if (waited.error().kind == ErrorKind::busy) return waited.error();
    // Whoever has seat `a` was killed long ago, unless it starts this very moment.
    TORC_ASSIGN(const std::optional<bool> abandoned, take("start", kAbandoned));
    if (!abandoned) return Seat::next_round;
    if (!*abandoned) return seat_of_start();
    (void)remove_tree(world_.disk, round_);
    return Seat::next_round;
  }
}

Result<void> Meeting::send(const std::string& step, const std::string& text) {
  TORC_ASSIGN(const std::optional<bool> sent, take(step + "-" + role_, text));
  if (!sent) return gone();
  if (*sent) return {};
  return Error{ErrorKind::corrupt,
               "put-if-absent is broken: " + (round_ / (step + "-" + role_)).string() +
                   " was there before anybody made it",
               "do not use this filesystem for a store"};
}

Result<std::string> Meeting::receive(const std::string& step) {
  const std::string name = step + "-" + (role_ == 'a' ? 'b' : 'a');
  const BootTime since = world_.clock.boot_now();
  for (;;) {
    TORC_ASSIGN(const std::set<std::string> there, names());
    if (there.contains(name)) return content(name);
    TORC_TRY(
        pause_for_names(since, since + options_.answer_wait, "an answer of the other instance"));
  }
}

Result<void> Meeting::part() {
  if (!is_a()) {
    const Result<void> sent = send("bye");
    round_.clear();  // A takes it away
    return sent;
  }
  const Result<std::string> bye = receive("bye");
  leave();
  return bye.ok() ? Result<void>() : Result<void>(bye.error());
}

}  // namespace torc::doctor
