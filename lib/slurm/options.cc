#include "lib/slurm/options.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "lib/base/text/text.h"

namespace torc::slurm {
namespace {

using Pair = std::pair<std::string_view, std::string_view>;

// Short options of sbatch and what they stand for.
constexpr std::array kShortOptions = std::to_array<Pair>({
    {"A", "account"},      {"B", "extra-node-info"},
    {"C", "constraint"},   {"D", "chdir"},
    {"F", "nodefile"},     {"G", "gpus"},
    {"H", "hold"},         {"J", "job-name"},
    {"L", "licenses"},     {"M", "clusters"},
    {"N", "nodes"},        {"O", "overcommit"},
    {"Q", "quiet"},        {"S", "core-spec"},
    {"W", "wait"},         {"a", "array"},
    {"b", "begin"},        {"c", "cpus-per-task"},
    {"d", "dependency"},   {"e", "error"},
    {"i", "input"},        {"k", "no-kill"},
    {"m", "distribution"}, {"n", "ntasks"},
    {"o", "output"},       {"p", "partition"},
    {"q", "qos"},          {"s", "oversubscribe"},
    {"t", "time"},         {"v", "verbose"},
    {"w", "nodelist"},     {"x", "exclude"},
});

// Options without a value, or whose value can only follow an equals sign.
constexpr std::array kFlags = std::to_array<std::string_view>({
    "contiguous", "exclusive",     "get-user-env", "hold",          "ignore-pbs",
    "no-kill",    "no-requeue",    "overcommit",   "oversubscribe", "parsable",
    "propagate",  "quiet",         "reboot",       "requeue",       "share",
    "spread-job", "use-min-nodes", "verbose",      "wait",          "nice",
});

// Slurm may spread a total, or a share of each task, unevenly; one worker a node could then not be
// given all of them.
constexpr std::string_view kGpusPerNode =
    "GPUs are counted per node: give the scheduler's key 'gres', for example gpu:2";

constexpr std::array kReserved = std::to_array<Pair>({
    {"nodes", "give the scheduler's key 'nodes'"},
    {"partition", "give the scheduler's key 'partition'"},
    {"time", "give the scheduler's key 'walltime'"},
    {"mem", "give the scheduler's key 'mem'"},
    {"gres", "give the scheduler's key 'gres'"},
    {"gpus", kGpusPerNode},
    {"gpus-per-task", kGpusPerNode},
    {"gpus-per-socket", kGpusPerNode},
    {"ntasks-per-gpu", kGpusPerNode},
    {"job-name", "torc names its Slurm jobs; leave it out"},
    {"output", "the log goes to the store's logs directory; leave it out"},
    {"error", "the log goes to the store's logs directory; leave it out"},
    {"open-mode", "torc appends to the log so that a requeued allocation keeps it; leave it out"},
    {"wrap", "the script starts torc workers and nothing else; leave it out"},
    {"test-only", "give it to sbatch when submitting"},
    {"help", "leave it out"},
    {"usage", "leave it out"},
    {"version", "leave it out"},
});

bool is_flag(std::string_view name) {
  return std::ranges::find(kFlags, name) != kFlags.end();
}

template <class Table>
std::string_view look_up(const Table& table, std::string_view key) {
  const auto* const found = std::ranges::find(table, key, &Pair::first);
  return found == table.end() ? std::string_view{} : found->second;
}

bool is_option_name(std::string_view name) {
  const auto is_small = [](char c) { return c >= 'a' && c <= 'z'; };
  return !name.empty() && is_small(name.front()) &&
         std::ranges::all_of(name, [&](char c) { return is_small(c) || is_digit(c) || c == '-'; });
}

// Splits as a shell does, but expands nothing.
Result<std::vector<std::string>> split_words(std::string_view text, std::string_view where) {
  std::vector<std::string> words;
  std::string word;
  bool in_word = false;
  char quote = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quote != '\'' && c == '\\') {
      if (i + 1 == text.size()) {
        return invalid(fmt::format("{} ends with a backslash: {}", where, text), "remove it");
      }
      word += text[++i];
      in_word = true;
    } else if (quote == c) {
      quote = 0;
    } else if (quote != 0) {
      word += c;
    } else if (c == '\'' || c == '"') {
      quote = c;
      in_word = true;
    } else if (c == ' ') {
      if (in_word) words.push_back(std::exchange(word, {}));
      in_word = false;
    } else {
      word += c;
      in_word = true;
    }
  }
  if (quote != 0) {
    return invalid(fmt::format("{} has an open {} quote: {}", where, quote, text),
                   "close the quote");
  }
  if (in_word) words.push_back(std::move(word));
  return words;
}

// The option that `word` begins; its value, if any, as far as the word itself holds it.
Result<SbatchOption> begin_option(const std::string& word, std::string_view where) {
  if (word.starts_with("--")) {
    const auto equals = word.find('=');
    SbatchOption option{word.substr(2, equals == std::string::npos ? equals : equals - 2), {}};
    if (equals != std::string::npos) option.value = word.substr(equals + 1);
    if (is_option_name(option.name)) return option;
    return invalid(fmt::format("{} holds '{}', which is not an option of sbatch", where, word),
                   "write options as --name=value");
  }
  if (!word.starts_with("-")) {
    return invalid(fmt::format("{} holds the stray word '{}'", where, word),
                   "write options as --name=value and quote values that hold spaces");
  }
  const auto name = word.size() < 2 ? std::string_view{}
                                    : look_up(kShortOptions, std::string_view(word).substr(1, 1));
  if (name.empty() || (is_flag(name) && word.size() > 2)) {
    return invalid(fmt::format("{} holds '{}', which is not a short option of sbatch", where, word),
                   "use the long form, --name=value");
  }
  SbatchOption option{std::string(name), {}};
  if (word.size() > 2) option.value = word.substr(2);
  return option;
}

}  // namespace

std::string show_walltime(std::chrono::seconds walltime) {
  const auto total = walltime.count();
  return fmt::format("{}{:02}:{:02}:{:02}", total >= 86400 ? fmt::format("{}-", total / 86400) : "",
                     total / 3600 % 24, total / 60 % 60, total % 60);
}

void SbatchOptions::set(std::string name, std::optional<std::string> value) {
  for (auto& option : options_) {
    if (option.name == name) {
      option.value = std::move(value);
      return;
    }
  }
  options_.push_back({std::move(name), std::move(value)});
}

bool SbatchOptions::contains(std::string_view name) const {
  return std::ranges::find(options_, name, &SbatchOption::name) != options_.end();
}

std::string SbatchOptions::directives() const {
  std::string lines;
  for (const auto& option : options_) {
    if (!lines.empty()) lines += '\n';
    lines += "#SBATCH --" + option.name;
    if (option.value) lines += '=' + directive_quote(*option.value);
  }
  return lines;
}

Result<std::vector<SbatchOption>> parse_options(std::string_view text, std::string_view where) {
  if (has_control_characters(text)) {
    return invalid(fmt::format("{} holds a control character or a line break", where),
                   "write all options on one line");
  }
  TORC_ASSIGN(const auto words, split_words(text, where));
  std::vector<SbatchOption> options;
  for (std::size_t i = 0; i < words.size(); ++i) {
    TORC_ASSIGN(auto option, begin_option(words[i], where));
    const bool next_is_value = i + 1 < words.size() && !words[i + 1].starts_with("-");
    if (!option.value && !is_flag(option.name) && next_is_value) option.value = words[++i];
    if (option.value && option.value->empty()) {
      return invalid(fmt::format("{} gives --{} an empty value", where, option.name),
                     "give a value or leave the option out");
    }
    options.push_back(std::move(option));
  }
  return options;
}

Result<std::optional<SbatchOption>> default_option(std::string_view name, std::string_view value) {
  if (!is_option_name(name)) {
    return invalid(
        fmt::format("slurm_defaults holds '{}', which is not a long option of sbatch", name),
        "write the option's long name without dashes, for example 'constraint'");
  }
  if (has_control_characters(value)) {
    return invalid(fmt::format("slurm_defaults.{} holds a control character or a line break", name),
                   "write its value on one line");
  }
  if (is_flag(name) && value == "false") return std::optional<SbatchOption>{};
  if (value.empty() || (is_flag(name) && value == "true")) {
    return std::optional(SbatchOption{std::string(name), {}});
  }
  return std::optional(SbatchOption{std::string(name), std::string(value)});
}

std::string reserved_for(std::string_view option) {
  return std::string(look_up(kReserved, option));
}

std::string directive_quote(std::string_view text) {
  std::string quoted = "'";
  for (const char c : text) {
    if (c == '\'') {
      quoted += R"('\'')";
    } else if (c == '\\') {
      quoted += R"(\\)";
    } else {
      quoted += c;
    }
  }
  return quoted + "'";
}

bool has_control_characters(std::string_view text) {
  return std::ranges::any_of(text, [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte < 0x20 || byte == 0x7f;
  });
}

}  // namespace torc::slurm
