// How two instances of a program find each other in a directory and talk by names in it. See
// two_node.h.
#pragma once

#include <optional>
#include <set>
#include <string>

#include "lib/doctor/two_node.h"
#include "lib/store/disk/publisher.h"

namespace torc::doctor {

class Meeting {
 public:
  Meeting(const store::World& world, Path directory, const TwoNodeOptions& options,
          const Interrupted& interrupted);
  ~Meeting();  // removes the round if it still stands
  Meeting(const Meeting&) = delete;
  Meeting& operator=(const Meeting&) = delete;

  // Finds the other. After it role(), card of the other and the talk are there.
  Result<void> find_partner(const NodeCard& self, const Tell& tell);
  [[nodiscard]] bool is_a() const { return role_ == 'a'; }
  [[nodiscard]] const NodeCard& other() const { return other_; }
  [[nodiscard]] const Path& round() const { return round_; }
  [[nodiscard]] store::Publisher& publisher() { return publisher_; }

  // Each `step` is used once by each of the two.
  Result<void> send(const std::string& step, const std::string& text = "x");
  Result<std::string> receive(const std::string& step);
  Result<std::string> exchange(const std::string& step, const std::string& text = "x") {
    TORC_TRY(send(step, text));
    return receive(step);
  }
  // Both are done: A takes everything away.
  Result<void> part();
  // Waits a little, longer the longer it has been waiting. Error: interrupted, or `until` passed.
  Result<void> pause(BootTime since, BootTime until, const char* what);
  // The same text for the file that `name` was published as.
  Result<std::string> content(const std::string& name);

 private:
  enum class Seat : std::uint8_t { sat, next_round };
  Result<Seat> sit_down(std::uint64_t round, const Tell& tell);
  Result<Seat> wait_as_a();
  Result<Seat> wait_as_b();
  Result<bool> is_passed_by();
  Result<Seat> seat_of_start();
  Result<std::optional<bool>> take(const std::string& name, const std::string& text);
  Result<std::set<std::string>> names();
  Result<void> pause_for_names(BootTime since, BootTime until, const char* what);
  Result<void> read_other(const std::string& seat);
  Result<std::uint64_t> newest_round();
  [[nodiscard]] bool is_dead(const NodeCard& card) const;
  void leave();

  store::World world_;
  Path place_;
  TwoNodeOptions options_;
  const Interrupted& interrupted_;
  store::Publisher publisher_;
  std::string self_text_;
  NodeCard self_;
  NodeCard other_;
  char role_ = 0;
  Path round_;
  std::uint64_t number_ = 0;  // of the round
  BootTime give_up_{};
  BootTime looked_beyond_{};
  BootTime stirred_{};  // when this instance last changed the round only to see it anew
};

}  // namespace torc::doctor
