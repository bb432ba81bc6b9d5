// How the name, command and environment of job k of an entry are made. Stored once an entry;
// formatted for one job when somebody needs it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/result.h"
#include "lib/spec/language/workflow.h"
#include "lib/spec/sweep/range.h"

namespace torc::spec {

struct RenderedJob {
  std::string name;
  std::string command;  // invocation_script, when there is one, stands before it: after a blank, or
                        // on the line above when it ends with a line break
  // By alternative, where it has one of its own; else empty. No longer than it has to be.
  std::vector<std::string> commands = {};
  Environment env;  // the job's own
  // Paths, each once: first those that the command names, then the lists, then the expressions.
  std::vector<std::string> input_files;
  std::vector<std::string> output_files;
  std::vector<std::string> input_user_data;  // names, in the same order
  std::vector<std::string> output_user_data;
  Stdio stdio;                            // the job's own, or the workflow's
  std::int32_t checkpoint_exit_code = 0;  // 0: none
  bool allow_missing_outputs = false;     // that it has: it completes without them
  Launch launch;                          // of a job of several nodes

  [[nodiscard]] const std::string& command_by(std::size_t alternative) const {
    const bool own = alternative < commands.size() && !commands[alternative].empty();
    return own ? commands[alternative] : command;
  }
};

struct RecipePart;

// A value, cheap to copy; safe to use from several threads.
class Recipe {
 public:
  // Error (corrupt): bytes that encode_recipe() did not write.
  static Result<Recipe> decode(std::string_view bytes);

  // Precondition of both: index < count().
  [[nodiscard]] RenderedJob render(std::uint64_t index) const;  // index from 0 within the entry
  [[nodiscard]] std::string name(std::uint64_t index) const;    // the name alone: cheap
  // For all of them, with the parameters by name, formats left out: "simulate_{r}_{i}".
  [[nodiscard]] std::string entry_name() const;
  [[nodiscard]] std::int32_t checkpoint_exit_code() const;  // of each; 0: none
  // The index of the job with this name, found from the pattern without formatting all of them
  // where possible.
  [[nodiscard]] std::optional<std::uint64_t> find(std::string_view name) const;
  [[nodiscard]] std::uint64_t count() const;
  // The indices of the jobs whose name is `text` when the placeholders in it stand for the job's
  // values: "work_3_{i}" means all i of work_{g}_{i} with g = 3. Appends.
  void find_open(std::string_view text, std::vector<Range>& out) const;
  // Whether its jobs have files or user data.
  [[nodiscard]] bool takes_or_makes() const;
  // The same of files alone, on one side; and those of one job, as render() has them.
  [[nodiscard]] bool takes_files() const;
  [[nodiscard]] bool makes_files() const;
  [[nodiscard]] std::vector<std::string> input_files(std::uint64_t index) const;
  [[nodiscard]] std::vector<std::string> output_files(std::uint64_t index) const;

 private:
  friend Result<RecipePart> part_in(std::string_view bytes);
  friend Result<std::string> part_of_recipe(std::string_view bytes, std::uint64_t from,
                                            std::uint64_t count);
  friend Result<std::string> renamed_recipe(std::string_view bytes, std::string_view ending);
  struct Data;
  explicit Recipe(std::shared_ptr<const Data> data) : data_(std::move(data)) {}
  std::shared_ptr<const Data> data_;
};

// The recipe, as bytes, for the jobs `from .. from + count - 1` of those that `bytes` is for: its
// jobs 0 .. count - 1. Of a part of a recipe a part may be made again. Errors: corrupt, of bytes
// that encode_recipe() did not write; invalid, of jobs that it is not for.
[[nodiscard]] Result<std::string> part_of_recipe(std::string_view bytes, std::uint64_t from,
                                                 std::uint64_t count);

// The recipe for the same jobs under other names: with `ending` behind those that they have. Error
// corrupt: bytes that encode_recipe() did not write.
[[nodiscard]] Result<std::string> renamed_recipe(std::string_view bytes, std::string_view ending);

// What a recipe is of another one: the first `whole` bytes are those of that.
struct RecipePart {
  std::size_t whole = 0;
  std::uint64_t from = 0;
  std::uint64_t count = 0;
  bool is_whole = true;
  [[nodiscard]] std::uint64_t end() const { return from + count; }
};
// Error corrupt: bytes that encode_recipe() did not write.
[[nodiscard]] Result<RecipePart> part_in(std::string_view bytes);

[[nodiscard]] std::string encode(const RunSettings& settings);
[[nodiscard]] Result<RunSettings> decode_settings(std::string_view bytes);

}  // namespace torc::spec
