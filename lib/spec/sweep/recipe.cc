#include "lib/spec/sweep/recipe.h"

#include <algorithm>
#include <set>
#include <utility>

#include "lib/base/codec.h"
#include "lib/base/limits.h"
#include "lib/spec/sweep/name_search.h"
#include "lib/spec/sweep/pattern.h"
#include "lib/spec/sweep/range.h"
#include "lib/spec/sweep/recipe_writer.h"
#include "lib/spec/sweep/sweep.h"

namespace torc::spec {
namespace {

constexpr std::uint8_t kRecipeFormat = 2;
constexpr StdioMode kLastStdioMode = StdioMode::packed;

// What came later stands at the end, each a kind and a text, and only where it says something: so
// recipes of jobs that say nothing of it are those of earlier versions.
constexpr std::uint8_t kLaunch = 1;
constexpr std::uint8_t kCommands = 2;  // of alternatives
constexpr std::uint8_t kMayLackOutputs = 3;
constexpr std::uint8_t kPart = 0x7f;  // it is for some of the jobs; always the last

void encode(Encoder& out, const Window& window) {
  encode(out, window.parameters, window.mode);
  out.varint(window.offset).varint(window.count);
}

void encode(Encoder& out, const std::vector<const RangeMap*>& maps) {
  out.varint(maps.size());
  for (const RangeMap* map : maps) map->encode(out);
}

void encode(Encoder& out, const TakenAndMade& kept) {
  out.varint(kept.tables.size());
  for (const TakenAndMade::Table& table : kept.tables) {
    encode(out, table.window);
    table.text->encode(out);
  }
  encode(out, kept.inputs);
  encode(out, kept.outputs);
}

void encode_launch(Encoder& out, const Launch& launch) {
  Encoder text;
  text.u8(static_cast<std::uint8_t>(launch.on)).u8(static_cast<std::uint8_t>(launch.end));
  text.varint(launch.tasks_per_node);
  out.u8(kLaunch).text(text.bytes());
}

bool decode_launch(std::string_view bytes, Launch& launch) {
  Decoder in(bytes);
  const std::uint8_t on = in.u8();
  const std::uint8_t end = in.u8();
  launch = {static_cast<LaunchOn>(on), static_cast<LaunchEnd>(end), in.u32()};
  return in.is_whole() && launch.on <= LaunchOn::all && launch.end <= LaunchEnd::all &&
         launch != Launch{};
}

Error damaged() {
  return {ErrorKind::corrupt, "a job's recipe in the store is damaged",
          "run torc verify on the store"};
}

}  // namespace

std::string encode_recipe(const RecipeParts& parts) {
  Encoder out;
  out.u8(kRecipeFormat);
  encode(out, parts.window);
  parts.name->encode(out);
  parts.invocation_script->encode(out);
  parts.command->encode(out);
  out.varint(parts.env.size());
  for (const auto& [key, value] : parts.env) {
    out.text(key);
    value->encode(out);
  }
  out.u8(static_cast<std::uint8_t>(parts.stdio.mode)).u8(parts.stdio.delete_on_success ? 1 : 0);
  out.svarint(parts.checkpoint_exit_code);
  encode(out, parts.files);
  encode(out, parts.user_data);
  if (parts.launch != Launch{}) encode_launch(out, parts.launch);
  if (!parts.commands.empty()) {
    Encoder text;
    text.varint(parts.commands.size());
    for (const auto& [alternative, command] : parts.commands) {
      text.varint(alternative);
      command->encode(text);
    }
    out.u8(kCommands).text(text.bytes());
  }
  if (parts.allow_missing_outputs && !parts.files.outputs.empty()) out.u8(kMayLackOutputs).text("");
  return std::move(out).bytes();
}

namespace {

// A decoded Window, with the parameters it owns.
struct Combinations {
  DecodedSweep of;
  Sweep sweep;
  std::uint64_t offset = 0;
  std::uint64_t count = 0;

  void append(std::string& out, const Pattern& pattern, std::uint64_t index) const {
    pattern.append_to(out, of.parameters, sweep, offset + index);
  }
};

// False: the window lies outside of its combinations.
bool decode_combinations(Decoder& in, Combinations& c) {
  c.of = decode_sweep(in);
  c.offset = in.varint();
  c.count = in.varint();
  if (!in.ok()) return false;
  if (!have_equal_lengths(c.of.parameters, c.of.mode)) return false;
  c.sweep = Sweep(c.of.parameters, c.of.mode);
  return c.count > 0 && c.count <= kMaxJobs && c.offset < c.sweep.count() &&
         c.count <= c.sweep.count() - c.offset;
}

Pattern decode_text(Decoder& in, std::size_t parameters) {
  return Pattern::decode(in, parameters, Pattern::FilePieces::refused);
}

// Whether both have one text for every combination, whatever that is.
bool is_same(const Pattern& a, const Pattern& b) {
  return std::equal(a.pieces().begin(), a.pieces().end(), b.pieces().begin(), b.pieces().end(),
                    [](const Piece& x, const Piece& y) {
                      if (x.kind != y.kind) return false;
                      if (x.kind == Piece::Kind::literal) return x.text == y.text;
                      return x.index == y.index && x.format == y.format;
                    });
}

struct Table {
  Combinations combinations;
  Pattern text;
  std::uint64_t first = 1;  // number of its first one
};

// A decoded TakenAndMade.
struct Things {
  std::vector<Table> tables;
  std::vector<RangeMap> inputs, outputs;

  bool decode_from(Decoder& in) {
    std::uint64_t next = 1;
    for (std::uint64_t n = in.varint(); n > 0 && in.ok(); --n) {
      Table table;
      if (!decode_combinations(in, table.combinations)) return false;
      table.text = decode_text(in, table.combinations.of.parameters.size());
      table.first = next;
      next += table.combinations.count;
      tables.push_back(std::move(table));
    }
    for (auto* maps : {&inputs, &outputs}) {
      for (std::uint64_t n = in.varint(); n > 0 && in.ok(); --n)
        maps->push_back(RangeMap::decode(in));
    }
    return in.ok();
  }

  void append(std::string& out, std::uint64_t number) const {
    const auto above = std::ranges::upper_bound(tables, number, {}, &Table::first);
    if (above == tables.begin()) return;
    const Table& table = *std::prev(above);
    const std::uint64_t index = number - table.first;
    if (index < table.combinations.count) table.combinations.append(out, table.text, index);
  }

  // Those of job k, each once.
  [[nodiscard]] std::vector<std::string> of(const std::vector<RangeMap>& maps,
                                            std::uint64_t k) const {
    std::vector<std::string> result;
    std::set<std::uint64_t> seen;
    std::vector<Range> ranges;
    for (const RangeMap& map : maps) map.append_to(ranges, k);
    for (const Range& range : ranges) {
      for (std::uint64_t n = range.first; n != range.end(); ++n) {
        if (tables.empty() || n >= tables.back().first + tables.back().combinations.count) break;
        if (!seen.insert(n).second) continue;
        std::string text;
        append(text, n);
        result.push_back(std::move(text));
      }
    }
    return result;
  }
};

}  // namespace

struct Recipe::Data {
  Combinations combinations;
  Pattern name, invocation_script, command;
  std::vector<std::pair<std::string, Pattern>> env;
  Stdio stdio;
  std::int32_t checkpoint_exit_code = 0;
  bool allow_missing_outputs = false;
  Launch launch;
  std::vector<Pattern> commands;  // of alternatives; empty: that of the job
  Things files, user_data;
  // Of the combinations: the jobs that it is for. All, unless it is a part.
  std::uint64_t first = 0;
  std::uint64_t jobs = 0;
  std::size_t whole_size = 0;  // bytes of the recipe that this is a part of
  std::size_t name_at = 0;     // where the name stands in these
  std::size_t name_end = 0;

  bool decode_from(std::string_view bytes);
  bool decode_later(Decoder& in, std::string_view bytes);
  bool decode_part(std::string_view bytes);

  [[nodiscard]] std::string text(const Pattern& pattern, std::uint64_t k) const {
    std::string out;
    combinations.append(out, pattern, k);
    return out;
  }
  bool decode_commands(std::string_view bytes);
  [[nodiscard]] std::string command_of(const Pattern& pattern, std::uint64_t k) const;
  void append_with_files(std::string& out, const Pattern& pattern, std::uint64_t k) const;
};

bool Recipe::Data::decode_from(std::string_view bytes) {
  Decoder in(bytes);
  if (in.u8() != kRecipeFormat || !decode_combinations(in, combinations)) return false;
  jobs = combinations.count;
  whole_size = bytes.size();
  const std::size_t parameters = combinations.of.parameters.size();
  name_at = bytes.size() - in.rest().size();
  name = decode_text(in, parameters);
  name_end = bytes.size() - in.rest().size();
  invocation_script = Pattern::decode(in, parameters, Pattern::FilePieces::allowed);
  command = Pattern::decode(in, parameters, Pattern::FilePieces::allowed);
  for (std::uint64_t n = in.varint(); n > 0 && in.ok(); --n) {
    std::string key(in.text());
    env.emplace_back(std::move(key), decode_text(in, parameters));
  }
  stdio.mode = static_cast<StdioMode>(in.u8());
  stdio.delete_on_success = in.u8() != 0;
  checkpoint_exit_code = static_cast<std::int32_t>(in.svarint());
  if (stdio.mode > kLastStdioMode) return false;
  return files.decode_from(in) && user_data.decode_from(in) && decode_later(in, bytes) && in.ok() &&
         in.at_end();
}

bool Recipe::Data::decode_later(Decoder& in, std::string_view bytes) {
  std::uint8_t before = 0;
  while (in.ok() && !in.at_end()) {
    const std::size_t begin = bytes.size() - in.rest().size();
    const std::uint8_t kind = in.u8();
    if (kind <= before) return false;
    before = kind;
    const std::string_view text = in.text();
    if (!in.ok()) return false;
    allow_missing_outputs = allow_missing_outputs || kind == kMayLackOutputs;
    const bool sound = kind == kLaunch           ? decode_launch(text, launch)
                       : kind == kCommands       ? decode_commands(text)
                       : kind == kMayLackOutputs ? text.empty()
                       : kind == kPart           ? decode_part(text)
                                                 : false;
    if (!sound) return false;
    if (kind == kPart) whole_size = begin;
  }
  return in.ok();
}

bool Recipe::Data::decode_part(std::string_view bytes) {
  Decoder in(bytes);
  first = in.varint();
  jobs = in.varint();
  return in.is_whole() && jobs > 0 && jobs < combinations.count &&
         first <= combinations.count - jobs;
}

bool Recipe::Data::decode_commands(std::string_view bytes) {
  Decoder in(bytes);
  const std::uint64_t count = in.varint();
  for (std::uint64_t n = 0; n < count && in.ok(); ++n) {
    const std::uint64_t alternative = in.varint();
    if (alternative >= kMostAlternatives || alternative < commands.size()) return false;
    commands.resize(alternative + 1);
    commands.back() =
        Pattern::decode(in, combinations.of.parameters.size(), Pattern::FilePieces::allowed);
    if (commands.back().pieces().empty()) return false;
  }
  return count > 0 && in.is_whole();
}

std::string Recipe::Data::command_of(const Pattern& pattern, std::uint64_t k) const {
  std::string out;
  append_with_files(out, invocation_script, k);
  if (!out.empty() && out.back() != '\n') out.push_back(' ');
  append_with_files(out, pattern, k);
  return out;
}

void Recipe::Data::append_with_files(std::string& out, const Pattern& pattern,
                                     std::uint64_t k) const {
  const auto& parameters = combinations.of.parameters;
  std::vector<Range> numbers;
  for (const Piece& piece : pattern.pieces()) {
    if (piece.kind == Piece::Kind::literal) {
      out.append(piece.text);
    } else if (piece.kind == Piece::Kind::parameter) {
      append_value(out, parameters[piece.index].values,
                   combinations.sweep.position(piece.index, combinations.offset + k), piece.format);
    } else {
      const auto& maps = piece.side == FileSide::input ? files.inputs : files.outputs;
      numbers.clear();
      if (piece.index < maps.size()) maps[piece.index].append_to(numbers, k);
      if (!numbers.empty()) files.append(out, numbers.front().first);
    }
  }
}

Result<Recipe> Recipe::decode(std::string_view bytes) {
  auto data = std::make_shared<Data>();
  if (!data->decode_from(bytes)) return damaged();
  return Recipe(std::move(data));
}

Result<std::string> part_of_recipe(std::string_view bytes, std::uint64_t from,
                                   std::uint64_t count) {
  Recipe::Data data;
  if (!data.decode_from(bytes)) return damaged();
  if (count == 0 || count > data.jobs || from > data.jobs - count)
    return Error{ErrorKind::invalid, "a part of a recipe lies outside of it", ""};
  Encoder out;
  std::string part(bytes.substr(0, data.whole_size));
  if (count == data.combinations.count) return part;
  Encoder text;
  text.varint(data.first + from).varint(count);
  out.u8(kPart).text(text.bytes());
  return part.append(out.bytes());
}

Result<std::string> renamed_recipe(std::string_view bytes, std::string_view ending) {
  Recipe::Data data;
  if (!data.decode_from(bytes)) return damaged();
  Encoder name;
  data.name.end_with(ending);
  data.name.encode(name);
  std::string renamed(bytes.substr(0, data.name_at));
  return renamed.append(name.bytes()).append(bytes.substr(data.name_end));
}

Result<RecipePart> part_in(std::string_view bytes) {
  Recipe::Data data;
  if (!data.decode_from(bytes)) return damaged();
  return RecipePart{data.whole_size, data.first, data.jobs, data.whole_size == bytes.size()};
}

RenderedJob Recipe::render(std::uint64_t index_of_job) const {
  RenderedJob job;
  job.name = name(index_of_job);
  const std::uint64_t index = data_->first + index_of_job;
  job.command = data_->command_of(data_->command, index);
  for (const Pattern& own : data_->commands)
    job.commands.push_back(own.pieces().empty() ? std::string() : data_->command_of(own, index));
  for (const auto& [key, value] : data_->env) job.env.emplace_back(key, data_->text(value, index));
  job.input_files = data_->files.of(data_->files.inputs, index);
  job.output_files = data_->files.of(data_->files.outputs, index);
  job.input_user_data = data_->user_data.of(data_->user_data.inputs, index);
  job.output_user_data = data_->user_data.of(data_->user_data.outputs, index);
  job.stdio = data_->stdio;
  job.checkpoint_exit_code = data_->checkpoint_exit_code;
  job.allow_missing_outputs = data_->allow_missing_outputs;
  job.launch = data_->launch;
  return job;
}

std::string Recipe::name(std::uint64_t index) const {
  return data_->text(data_->name, data_->first + index);
}

std::string Recipe::entry_name() const {
  std::string text;
  for (const Piece& piece : data_->name.pieces()) {
    const bool literal = piece.kind != Piece::Kind::parameter;
    text += literal ? piece.text : "{" + data_->combinations.of.parameters[piece.index].name + "}";
  }
  return text;
}

std::int32_t Recipe::checkpoint_exit_code() const {
  return data_->checkpoint_exit_code;
}

std::optional<std::uint64_t> Recipe::find(std::string_view name) const {
  const Combinations& c = data_->combinations;
  const std::uint64_t first = c.offset + data_->first;
  const auto found = find_combination(data_->name, c.of.parameters, c.of.mode, c.sweep,
                                      {first, data_->jobs}, name);
  if (!found) return {};
  return *found - first;
}

void Recipe::find_open(std::string_view text, std::vector<Range>& out) const {
  const Combinations& c = data_->combinations;
  const auto pattern = Pattern::compile(text, c.of.parameters);
  if (!pattern || !pattern->has_parameters() || !text.starts_with(data_->name.prefix())) return;
  if (is_same(*pattern, data_->name)) {
    out.push_back({0, data_->jobs});
    return;
  }
  std::string filled;
  for (std::uint64_t k = 0; k < data_->jobs; ++k) {
    filled.clear();
    c.append(filled, *pattern, data_->first + k);
    if (filled == name(k)) spec::append(out, k);
  }
}

bool Recipe::takes_files() const {
  return !data_->files.inputs.empty();
}

bool Recipe::makes_files() const {
  return !data_->files.outputs.empty();
}

std::vector<std::string> Recipe::input_files(std::uint64_t index) const {
  return data_->files.of(data_->files.inputs, data_->first + index);
}

std::vector<std::string> Recipe::output_files(std::uint64_t index) const {
  return data_->files.of(data_->files.outputs, data_->first + index);
}

bool Recipe::takes_or_makes() const {
  return !data_->files.tables.empty() || !data_->user_data.tables.empty();
}

std::uint64_t Recipe::count() const {
  return data_->jobs;
}

}  // namespace torc::spec
