// Many named things (jobs, files), numbered from 1, of which most come from a pattern: their names,
// and who has a given one, without keeping the names.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/spec/sweep/pattern.h"
#include "lib/spec/sweep/range.h"
#include "lib/spec/sweep/sweep.h"

namespace re2 {
class RE2;
}

namespace torc::spec {

// What one entry of the spec stands for. Refers to the entry's text and parameters, which must
// outlive it.
struct Family {
  std::string_view text;  // the name as written
  std::string_view path;  // the same of a file's
  std::span<const Parameter> parameters;
  Pattern name;
  Sweep sweep;
  ParameterMode mode = ParameterMode::product;
  std::uint64_t first = 1;
  std::uint64_t count = 1;

  [[nodiscard]] std::uint64_t end() const { return first + count; }
  void append_name(std::string& out, std::uint64_t k) const {
    name.append_to(out, parameters, sweep, k);
  }
  [[nodiscard]] std::string filled(const Pattern& pattern, std::uint64_t k) const {
    return pattern.text(parameters, sweep, k);
  }
  [[nodiscard]] std::string name_of(std::uint64_t k) const { return filled(name, k); }
};

class Families {
 public:
  // `first`: the number of the first of all.
  explicit Families(std::uint64_t first = 1) : first_(first), next_(first) {}

  // Takes the next `family.sweep.count()` numbers; returns the family's position.
  std::size_t add(Family family);

  [[nodiscard]] std::size_t size() const { return families_.size(); }
  [[nodiscard]] const Family& operator[](std::size_t i) const { return families_[i]; }
  [[nodiscard]] std::uint64_t total() const { return next_ - 1; }
  [[nodiscard]] std::size_t family_of(std::uint64_t id) const;
  [[nodiscard]] std::string name(std::uint64_t id) const;

  // How many there are: of the numbers up to total() those below the first are not among them.
  [[nodiscard]] std::uint64_t members() const { return next_ - first_; }

  // Two with one name, `second` being the later. The first such pair of every pair of families.
  struct Clash {
    std::uint64_t first = 0;
    std::uint64_t second = 0;
  };
  // To be called once, before any search; of what is added later searches know nothing. 64-bit
  // hashes find candidates, comparing the names decides. Of what clashes, searches find the first.
  std::vector<Clash> index();

  [[nodiscard]] std::optional<std::uint64_t> find(std::string_view name) const;
  // All whose name is `text` when the placeholders that `text` still holds stand for any value:
  // `work_3_{i}` finds all i of `work_{g}_{i}` with g = 3. Appends; false: none.
  bool find_open(std::string_view text, std::vector<Range>& out);
  // All in whose name the expression matches somewhere. Appends.
  void match(const re2::RE2& expression, std::vector<Range>& out) const;

 private:
  struct Slot {
    std::uint32_t tag = 0;
    std::uint32_t id = 0;  // 0: empty
  };
  // Which members of a family have a given name when some parameters stay placeholders.
  struct OpenIndex {
    std::vector<std::pair<std::uint64_t, std::uint64_t>> members;  // hash of the name, number
  };
  using OpenParameters = std::vector<bool>;

  [[nodiscard]] bool has_name(std::uint64_t id, std::string_view name) const;
  const OpenIndex& open_index(std::size_t family, const OpenParameters& open);

  std::vector<Family> families_;
  std::vector<std::size_t> sweeps_;  // families with parameters
  std::uint64_t first_;
  std::uint64_t next_;
  std::vector<Slot> slots_;
  std::size_t indexed_ = 0;  // families
  mutable std::string scratch_;
  std::map<std::pair<std::size_t, OpenParameters>, OpenIndex> open_;
};

}  // namespace torc::spec
