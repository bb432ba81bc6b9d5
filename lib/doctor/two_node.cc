#include "lib/doctor/two_node.h"

#include <unistd.h>

#include <algorithm>
#include <bitset>
#include <numeric>

#include "lib/base/number.h"
#include "lib/doctor/meeting.h"

namespace torc::doctor {
namespace {

using std::chrono::nanoseconds;

constexpr std::size_t kGroup = 16;
constexpr std::size_t kRoundTrips = 50;
constexpr std::size_t kRewrites = 20;
constexpr std::size_t kEarlyNames = 5;
constexpr std::uint64_t kOwnPlace = 64UL * 1024;  // in a file that both write
constexpr nanoseconds kSlow = std::chrono::seconds(1);
constexpr std::string_view kLastContent = "99999999";

std::string answer_of(const Result<bool>& got) {
  if (!got.ok()) return std::to_string(got.error().os_errno == 0 ? EIO : got.error().os_errno);
  return *got ? "got" : "refused";
}

std::string word_of(std::string_view words, std::size_t i) {
  for (; i > 0; --i) words.remove_prefix(std::min(words.find(' ') + 1, words.size()));
  return std::string(words.substr(0, words.find(' ')));
}

class TwoNodes {
 public:
  TwoNodes(const store::World& world, store::Locks& locks, Meeting& meeting,
           const TwoNodeOptions& options, const Tell& tell)
      : world_(world), locks_(locks), meeting_(meeting), options_(options), tell_(tell) {}

  Result<TwoNodeReport> run();

 private:
  Result<void> prepare();
  Result<void> test_locks();
  struct Answers {
    std::string held, tried, again;  // a word for each of kLockKinds
  };
  Result<Answers> hold(char holder);
  Result<Answers> try_others(char holder);
  std::string try_all(char holder);
  void unlock_all(char holder);
  static store::LockOutcome judge_lock(store::LockKind kind, const Answers& answers, std::size_t i);
  Result<void> race();
  Result<void> race_group(std::size_t group);
  Result<void> time_names();
  Result<void> early_names();
  Result<void> old_listings();
  Result<EarlyNames> exchange_seen(const std::string& step, const EarlyNames& seen);
  // Where a side writes what the other waits for.
  struct Place {
    const char* name;
    std::uint64_t offset = 0;
  };
  struct Places {
    Place of_a, of_b;
  };
  Result<void> rewrite(const Places& places, store::Latency& latency, bool& in_time);
  Result<void> rewrite_as_a(const Places& places, store::Latency& latency, bool& in_time);
  Result<void> rewrite_as_b(const Places& places);
  Result<void> meet_at_once(std::size_t round);
  Result<void> write_content(const Place& place, std::string_view text);
  Result<std::string> read_content(const Place& place);
  Result<std::string> wait_for_content(const Place& place, const std::string& before);
  [[nodiscard]] BootTime now() const { return world_.clock.boot_now(); }
  [[nodiscard]] Path inside(const std::string& name) const { return meeting_.round() / name; }
  [[nodiscard]] Path lock_file(char holder, store::LockKind kind) const {
    return inside(std::string("file-") + holder + "-" + std::string(to_string(kind)));
  }

  store::World world_;
  store::Locks& locks_;
  Meeting& meeting_;
  const TwoNodeOptions& options_;
  const Tell& tell_;
  TwoNodeReport out_;
};

Result<void> TwoNodes::prepare() {
  if (meeting_.is_a()) {
    for (const char* name : {"early-a", "early-b", "quiet-a", "quiet-b"})
      TORC_TRY(world_.disk.make_directory(inside(name)));
    for (const char* name : {"content-a", "content-b", "turn-a", "turn-b"})
      TORC_TRY(write_file(world_.disk, inside(name), "00000000", store::Durable::yes));
    std::string both(kOwnPlace, '\0');
    both.replace(0, 8, "00000000");
    TORC_TRY(
        write_file(world_.disk, inside("content-both"), both + "00000000", store::Durable::yes));
  }
  TORC_TRY(meeting_.exchange("ready"));
  return {};
}

// --- locks ---

// All kinds together, each on a file of its own, so that a filesystem on which a message takes long
// is tested in eight of them.
Result<void> TwoNodes::test_locks() {
  for (const char holder : {'a', 'b'}) {
    const bool mine = (holder == 'a') == meeting_.is_a();
    TORC_ASSIGN(const Answers answers, mine ? hold(holder) : try_others(holder));
    for (std::size_t i = 0; i < store::kLockKinds.size(); ++i) {
      PairLock& pair = out_.locks[i];
      (holder == 'a' ? pair.from_a : pair.from_b) = judge_lock(store::kLockKinds[i], answers, i);
    }
  }
  return {};
}

// What became of the lock: `held` by the holder; `tried` meanwhile by the other, and `again`
// afterwards.
store::LockOutcome TwoNodes::judge_lock(store::LockKind kind, const Answers& answers,
                                        std::size_t i) {
  const auto failure = [&](const std::string& word) {
    return store::LockOutcome{kind, store::LockVerdict::fails,
                              static_cast<int>(leading_number<std::int64_t>(word).value_or(0))};
  };
  const std::string held = word_of(answers.held, i);
  const std::string tried = word_of(answers.tried, i);
  if (held != "got" && held != "refused") return failure(held);
  if (held == "refused") return {kind, store::LockVerdict::stuck, 0};
  if (tried == "got") return {kind, store::LockVerdict::given_to_all, 0};
  if (tried != "refused") return failure(tried);
  const bool free = word_of(answers.again, i) == "got";
  return {kind, free ? store::LockVerdict::exclusive : store::LockVerdict::stuck, 0};
}

std::string TwoNodes::try_all(char holder) {
  std::string words;
  for (const store::LockKind kind : store::kLockKinds)
    words += answer_of(locks_.try_lock(kind, lock_file(holder, kind))) + ' ';
  return words;
}

void TwoNodes::unlock_all(char holder) {
  for (const store::LockKind kind : store::kLockKinds)
    (void)locks_.unlock(kind, lock_file(holder, kind));
}

Result<TwoNodes::Answers> TwoNodes::hold(char holder) {
  const std::string step = std::string("lock-") + holder;
  Answers out;
  out.held = try_all(holder);
  TORC_TRY(meeting_.send(step + "-held", out.held));
  TORC_ASSIGN(out.tried, meeting_.receive(step + "-tried"));
  unlock_all(holder);
  TORC_TRY(meeting_.send(step + "-free"));
  TORC_ASSIGN(out.again, meeting_.receive(step + "-again"));
  return out;
}

Result<TwoNodes::Answers> TwoNodes::try_others(char holder) {
  const std::string step = std::string("lock-") + holder;
  Answers out;
  TORC_ASSIGN(out.held, meeting_.receive(step + "-held"));
  out.tried = try_all(holder);
  unlock_all(holder);
  TORC_TRY(meeting_.send(step + "-tried", out.tried));
  TORC_TRY(meeting_.receive(step + "-free"));
  for (const BootTime since = now();;) {
    out.again = try_all(holder);
    unlock_all(holder);
    if (out.again.find("refused") == std::string::npos || now() - since > options_.unlock_wait)
      break;
    world_.clock.sleep_for(std::chrono::milliseconds(50));
  }
  TORC_TRY(meeting_.send(step + "-again", out.again));
  return out;
}

// --- put-if-absent ---

Result<void> TwoNodes::race_group(std::size_t group) {
  const Path place = inside("race-" + std::to_string(group));
  store::Publisher& publisher = meeting_.publisher();
  const std::string mine = meeting_.is_a() ? "A" : "B";
  std::vector<std::size_t> order(kGroup);
  std::iota(order.begin(), order.end(), 0U);
  // Each in an order of its own: the two come across each other again and again.
  for (std::size_t i = kGroup - 1; i > 0; --i)
    std::swap(order[i], order[world_.entropy.next() % (i + 1)]);
  // Told by content, which is seen sooner than names where listings are old; so both begin
  // together.
  TORC_TRY(meet_at_once(group + 1));
  std::bitset<kGroup> won;
  for (const std::size_t i : order) {
    TORC_ASSIGN(const store::Publication made,
                publisher.publish(place, "n" + std::to_string(i), mine));
    if (made.state == store::Publication::State::absent) return made.error;
    won[i] = made.state == store::Publication::State::done;
  }
  const std::string step = "raced-" + std::to_string(group);
  TORC_ASSIGN(const std::string answer, meeting_.exchange(step, won.to_string()));
  if (answer.size() != kGroup) return Error{ErrorKind::corrupt, "an answer came cut off", {}};
  const std::bitset<kGroup> theirs(answer);
  const std::bitset<kGroup>& a = meeting_.is_a() ? won : theirs;
  const std::bitset<kGroup>& b = meeting_.is_a() ? theirs : won;
  out_.race.names += kGroup;
  out_.race.won_by_a += a.count();
  out_.race.won_by_b += b.count();
  out_.race.won_by_both += (a & b).count();
  out_.race.won_by_none += (~(a | b)).count();
  if (a.any() && b.any()) out_.race.overlapping += kGroup;
  for (std::size_t i = 0; i < kGroup; ++i) {
    const Result<std::string> text =
        read_file(world_.disk, publisher.content(place, "n" + std::to_string(i)));
    if (!text.ok() || *text != (a[i] ? "A" : "B")) ++out_.race.wrong_content;
  }
  return {};
}

Result<void> TwoNodes::race() {
  const BootTime begun = now();
  for (std::size_t group = 0;; ++group) {
    const std::string step = "race-go-" + std::to_string(group);
    if (meeting_.is_a()) {
      const bool more =
          group < options_.race_groups && (group < 1 || now() - begun < options_.step_budget);
      if (more) TORC_TRY(world_.disk.make_directory(inside("race-" + std::to_string(group))));
      TORC_TRY(meeting_.exchange(step, more ? "go" : "stop"));
      if (!more) break;
    } else {
      TORC_ASSIGN(const std::string word, meeting_.receive(step));
      TORC_TRY(meeting_.send(step));
      if (word != "go") break;
    }
    TORC_TRY(race_group(group));
  }
  // What the other saw of the contents.
  TORC_ASSIGN(const std::string theirs,
              meeting_.exchange("race-wrong", std::to_string(out_.race.wrong_content)));
  out_.race.wrong_content +=
      static_cast<std::uint64_t>(leading_number<std::int64_t>(theirs).value_or(0));
  return {};
}

// --- delays ---

Result<void> TwoNodes::time_names() {
  std::vector<nanoseconds> trips;
  const BootTime begun = now();
  for (std::size_t i = 0;; ++i) {
    const std::string step = "ping-" + std::to_string(i);
    if (!meeting_.is_a()) {
      TORC_ASSIGN(const std::string word, meeting_.receive(step));
      TORC_TRY(meeting_.send(step));
      if (word != "go") break;
      continue;
    }
    const bool last = i == kRoundTrips || (i > 0 && now() - begun > options_.step_budget);
    const BootTime asked = now();
    TORC_TRY(meeting_.exchange(step, last ? "stop" : "go"));
    if (last) break;
    trips.push_back(now() - asked);
  }
  out_.new_name = store::summarize(std::move(trips));
  if (out_.new_name.p50 > kSlow) tell_("new names are seen late here: this will take some minutes");
  return {};
}

Result<void> TwoNodes::early_names() {
  const auto name = [&](char of, std::size_t i) {
    return inside(std::string("early-") + of) / ("e" + std::to_string(i));
  };
  const char own = meeting_.is_a() ? 'a' : 'b';
  const char other = meeting_.is_a() ? 'b' : 'a';
  for (std::size_t i = 0; i < kEarlyNames; ++i) (void)world_.disk.status(name(own, i));
  TORC_TRY(meeting_.exchange("looked"));
  for (std::size_t i = 0; i < kEarlyNames; ++i)
    TORC_TRY(write_file(world_.disk, name(other, i), "here", store::Durable::yes));
  TORC_TRY(meeting_.exchange("made"));
  EarlyNames seen;
  seen.names = kEarlyNames;
  const BootTime since = now();
  for (std::size_t i = 0; i < kEarlyNames; ++i) {
    Result<void> waited = {};
    while (!world_.disk.status(name(own, i)).ok() && waited.ok())
      waited = meeting_.pause(since, since + options_.early_wait, "a name");
    if (!waited.ok() && waited.error().kind == ErrorKind::busy) return waited;
    if (waited.ok()) {
      seen.longest = now() - since;
    } else {
      ++seen.never_seen;
    }
  }
  TORC_ASSIGN(const EarlyNames theirs, exchange_seen("seen", seen));
  out_.early_a = meeting_.is_a() ? seen : theirs;
  out_.early_b = meeting_.is_a() ? theirs : seen;
  return {};
}

// What the other found out in the same test.
Result<EarlyNames> TwoNodes::exchange_seen(const std::string& step, const EarlyNames& seen) {
  const std::string text =
      std::to_string(seen.never_seen) + " " + std::to_string(seen.longest.count());
  TORC_ASSIGN(const std::string answer, meeting_.exchange(step, text));
  EarlyNames theirs;
  theirs.names = seen.names;
  theirs.never_seen = static_cast<std::uint64_t>(leading_number<std::int64_t>(answer).value_or(0));
  const std::size_t blank = answer.find(' ');
  if (blank != std::string::npos)
    theirs.longest = nanoseconds(
        leading_number<std::int64_t>(std::string_view(answer).substr(blank + 1)).value_or(0));
  return theirs;
}

Result<void> TwoNodes::old_listings() {
  const Path own = inside(meeting_.is_a() ? "quiet-a" : "quiet-b");
  const Path others = inside(meeting_.is_a() ? "quiet-b" : "quiet-a");
  const BootTime since = now();
  TORC_TRY(world_.disk.list(own));
  TORC_TRY(meeting_.exchange("listed"));
  TORC_TRY(write_file(world_.disk, others / "new", "here", store::Durable::yes));
  TORC_TRY(meeting_.exchange("put"));
  EarlyNames seen;
  seen.names = 1;
  const BootTime begun = now();
  Result<void> waited = {};
  while (waited.ok()) {
    TORC_ASSIGN(const std::vector<std::string> names, world_.disk.list(own));
    if (!names.empty()) break;
    waited = meeting_.pause(begun, begun + options_.early_wait, "a name");
  }
  if (!waited.ok() && waited.error().kind == ErrorKind::busy) return waited;
  // Seen at the first look: not a second old, whatever the exchange took.
  seen.longest = now() - (waited.ok() && now() - begun < kSlow ? begun : since);
  seen.never_seen = waited.ok() ? 0 : 1;
  TORC_ASSIGN(const EarlyNames theirs, exchange_seen("seen-listed", seen));
  out_.listed_a = meeting_.is_a() ? seen : theirs;
  out_.listed_b = meeting_.is_a() ? theirs : seen;
  return {};
}

// As heartbeats are written: in place, by an open and a close.
Result<void> TwoNodes::write_content(const Place& place, std::string_view text) {
  const Path file = inside(place.name);
  TORC_ASSIGN(const store::FileHandle handle, world_.disk.open_update(file));
  store::OpenFile open(world_.disk, handle, file);
  TORC_TRY(open.write(place.offset, text));
  return open.close();
}

Result<std::string> TwoNodes::read_content(const Place& place) {
  return world_.disk.read_at(inside(place.name), place.offset, kLastContent.size(),
                             store::Caches::trust);
}

Result<std::string> TwoNodes::wait_for_content(const Place& place, const std::string& before) {
  for (const BootTime since = now();;) {
    const Result<std::string> text = read_content(place);
    if (text.ok() && text->size() == before.size() && *text != before) return *text;
    TORC_TRY(meeting_.pause(since, since + options_.content_wait, "new content"));
  }
}

std::string content_of(std::size_t number) {
  std::string text = std::to_string(number);
  return text.insert(0, kLastContent.size() - text.size(), '0');
}

// Each says that it is there and waits for the other to say so. Without an answer it goes on.
Result<void> TwoNodes::meet_at_once(std::size_t round) {
  const Place mine{meeting_.is_a() ? "turn-a" : "turn-b"};
  const Place theirs{meeting_.is_a() ? "turn-b" : "turn-a"};
  TORC_TRY(write_content(mine, content_of(round)));
  const Result<std::string> there = wait_for_content(theirs, content_of(round - 1));
  return !there.ok() && there.error().kind == ErrorKind::busy ? there.error() : Result<void>();
}

Result<void> TwoNodes::rewrite_as_a(const Places& places, store::Latency& latency, bool& in_time) {
  std::vector<nanoseconds> trips;
  std::string heard = content_of(0);
  const BootTime begun = now();
  for (std::size_t i = 1; i <= kRewrites && now() - begun < options_.step_budget && in_time; ++i) {
    const BootTime asked = now();
    TORC_TRY(write_content(places.of_a, content_of(i)));
    const Result<std::string> answer = wait_for_content(places.of_b, heard);
    if (!answer.ok() && answer.error().kind == ErrorKind::busy) return answer.error();
    in_time = answer.ok();
    trips.push_back(now() - asked);
    if (answer.ok()) heard = *answer;
  }
  TORC_TRY(write_content(places.of_a, kLastContent));
  latency = store::summarize(std::move(trips));
  return {};
}

Result<void> TwoNodes::rewrite_as_b(const Places& places) {
  std::string heard = content_of(0);
  while (heard != kLastContent) {
    const Result<std::string> text = wait_for_content(places.of_a, heard);
    if (!text.ok() && text.error().kind == ErrorKind::busy) return text.error();
    if (!text.ok()) break;  // A has noticed as well, and says so in what follows
    heard = *text;
    TORC_TRY(write_content(places.of_b, heard));
  }
  return {};
}

Result<void> TwoNodes::rewrite(const Places& places, store::Latency& latency, bool& in_time) {
  TORC_TRY(meeting_.exchange(std::string("rewrite-") + places.of_a.name));
  return meeting_.is_a() ? rewrite_as_a(places, latency, in_time) : rewrite_as_b(places);
}

// What only A has measured.
std::string results_of(const TwoNodeReport& report) {
  return std::string(report.content_in_time ? "1" : "0") + (report.shared_in_time ? "1" : "0") +
         to_text(report.new_name) + ";" + to_text(report.new_content) + ";" +
         to_text(report.shared_content);
}

void take_results(std::string_view text, TwoNodeReport& report) {
  const std::size_t first = text.find(';');
  const std::size_t second = text.find(';', first + 1);
  if (text.size() < 2 || first == std::string_view::npos || second == std::string_view::npos)
    return;
  report.content_in_time = text[0] == '1';
  report.shared_in_time = text[1] == '1';
  report.new_name = store::latency_of(text.substr(2, first - 2));
  report.new_content = store::latency_of(text.substr(first + 1, second - first - 1));
  report.shared_content = store::latency_of(text.substr(second + 1));
}

Result<TwoNodeReport> TwoNodes::run() {
  out_.role = meeting_.is_a() ? 'A' : 'B';
  out_.other = meeting_.other();
  for (const store::LockKind kind : store::kLockKinds) out_.locks.push_back({kind, {}, {}});
  TORC_TRY(prepare());
  tell_("how soon a new name is seen");
  TORC_TRY(time_names());
  tell_("locks");
  TORC_TRY(test_locks());
  tell_("put-if-absent, raced");
  TORC_TRY(race());
  tell_("how old a listing may be (up to a minute)");
  TORC_TRY(old_listings());
  tell_("names looked up before they exist (up to a minute)");
  TORC_TRY(early_names());
  tell_("how soon new content is seen");
  TORC_TRY(rewrite({{"content-a"}, {"content-b"}}, out_.new_content, out_.content_in_time));
  tell_("how soon it is seen in a file that both write");
  TORC_TRY(rewrite({{"content-both"}, {"content-both", kOwnPlace}}, out_.shared_content,
                   out_.shared_in_time));
  tell_("bells of workers");
  TORC_ASSIGN(out_.bells, try_bells(meeting_, world_, options_.bells));
  TORC_ASSIGN(const std::string results, meeting_.exchange("results", results_of(out_)));
  if (!meeting_.is_a()) take_results(results, out_);
  (void)meeting_.part();  // everything is known
  return std::move(out_);
}

}  // namespace

Result<TwoNodeReport> run_two_node(const store::World& world, store::Locks& locks,
                                   const Path& directory, const TwoNodeOptions& options,
                                   const Tell& tell, const Interrupted& interrupted) {
  Meeting meeting(world, directory / kMeetingPlace, options, interrupted);
  const NodeCard self{world.host, world.boot_id, world.pid_namespace,
                      static_cast<std::uint64_t>(::getpid()), options.filesystem};
  TORC_TRY(meeting.find_partner(self, tell));
  tell("testing with " + meeting.other().host);
  TORC_ASSIGN(TwoNodeReport report, TwoNodes(world, locks, meeting, options, tell).run());
  report.self = self;
  report.facts = options.facts;
  report.same_host = report.self.boot_id == report.other.boot_id;
  return report;
}

}  // namespace torc::doctor
