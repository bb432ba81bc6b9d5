#include "lib/spec/script/script_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "lib/base/text/quote.h"

namespace torc::spec {
namespace {

enum class Takes : std::uint8_t { value, nothing, perhaps };  // perhaps: only behind '='

struct Known {
  std::string_view name;
  char letter;  // 0: none
  Sbatch meaning;
  Takes takes = Takes::value;
};

constexpr auto kSbatch = std::to_array<Known>({
    {"job-name", 'J', Sbatch::name},
    {"array", 'a', Sbatch::array},
    {"cpus-per-task", 'c', Sbatch::cpus_per_task},
    {"ntasks", 'n', Sbatch::tasks},
    {"ntasks-per-node", 0, Sbatch::tasks_per_node},
    {"nodes", 'N', Sbatch::nodes},
    {"mem", 0, Sbatch::memory},
    {"mem-per-cpu", 0, Sbatch::memory_per_cpu},
    {"mem-per-gpu", 0, Sbatch::memory_per_gpu},
    {"time", 't', Sbatch::time},
    {"gres", 0, Sbatch::gres},
    {"gpus", 'G', Sbatch::gpus},
    {"gpus-per-node", 0, Sbatch::gpus_per_node},
    {"gpus-per-task", 0, Sbatch::gpus_per_task},
    {"account", 'A', Sbatch::account},
    {"partition", 'p', Sbatch::partition},
    {"qos", 'q', Sbatch::qos},
    {"tmp", 0, Sbatch::tmp},
    {"chdir", 'D', Sbatch::directory},
    {"export", 0, Sbatch::environment},
    {"input", 'i', Sbatch::input},
    {"dependency", 'd', Sbatch::refused},
    {"wrap", 0, Sbatch::refused},
    {"output", 'o', Sbatch::output},
    {"error", 'e', Sbatch::output},
    {"open-mode", 0, Sbatch::output},
    {"bb", 0, Sbatch::allocation},
    {"bbf", 0, Sbatch::allocation},
    {"clusters", 'M', Sbatch::allocation},
    {"cluster-constraint", 0, Sbatch::allocation},
    {"constraint", 'C', Sbatch::allocation},
    {"contiguous", 0, Sbatch::allocation, Takes::nothing},
    {"core-spec", 'S', Sbatch::allocation},
    {"cores-per-socket", 0, Sbatch::allocation},
    {"cpu-freq", 0, Sbatch::allocation},
    {"distribution", 'm', Sbatch::allocation},
    {"exclude", 'x', Sbatch::allocation},
    {"exclusive", 0, Sbatch::allocation, Takes::perhaps},
    {"extra-node-info", 'B', Sbatch::allocation},
    {"gpu-bind", 0, Sbatch::allocation},
    {"gpu-freq", 0, Sbatch::allocation},
    {"hint", 0, Sbatch::allocation},
    {"licenses", 'L', Sbatch::allocation},
    {"mem-bind", 0, Sbatch::allocation},
    {"mincpus", 0, Sbatch::allocation},
    {"network", 0, Sbatch::allocation},
    {"nodelist", 'w', Sbatch::allocation},
    {"oversubscribe", 's', Sbatch::allocation, Takes::nothing},
    {"power", 0, Sbatch::allocation},
    {"prefer", 0, Sbatch::allocation},
    {"reservation", 0, Sbatch::allocation},
    {"sockets-per-node", 0, Sbatch::allocation},
    {"spread-job", 0, Sbatch::allocation, Takes::nothing},
    {"switches", 0, Sbatch::allocation},
    {"thread-spec", 0, Sbatch::allocation},
    {"threads-per-core", 0, Sbatch::allocation},
    {"use-min-nodes", 0, Sbatch::allocation, Takes::nothing},
    {"wckey", 0, Sbatch::allocation},
    {"acctg-freq", 0, Sbatch::nothing},
    {"begin", 'b', Sbatch::nothing},
    {"comment", 0, Sbatch::nothing},
    {"deadline", 0, Sbatch::nothing},
    {"export-file", 0, Sbatch::nothing},
    {"get-user-env", 0, Sbatch::nothing, Takes::perhaps},
    {"hold", 'H', Sbatch::nothing, Takes::nothing},
    {"ignore-pbs", 0, Sbatch::nothing, Takes::nothing},
    {"kill-on-invalid-dep", 0, Sbatch::nothing},
    {"mail-type", 0, Sbatch::nothing},
    {"mail-user", 0, Sbatch::nothing},
    {"nice", 0, Sbatch::nothing, Takes::perhaps},
    {"no-kill", 'k', Sbatch::nothing, Takes::perhaps},
    {"no-requeue", 0, Sbatch::nothing, Takes::nothing},
    {"ntasks-per-core", 0, Sbatch::nothing},
    {"ntasks-per-socket", 0, Sbatch::nothing},
    {"overcommit", 'O', Sbatch::nothing, Takes::nothing},
    {"parsable", 0, Sbatch::nothing, Takes::nothing},
    {"priority", 0, Sbatch::nothing},
    {"profile", 0, Sbatch::nothing},
    {"propagate", 0, Sbatch::nothing, Takes::perhaps},
    {"quiet", 'Q', Sbatch::nothing, Takes::nothing},
    {"reboot", 0, Sbatch::nothing, Takes::nothing},
    {"requeue", 0, Sbatch::nothing, Takes::nothing},
    {"signal", 0, Sbatch::nothing},
    {"time-min", 0, Sbatch::nothing},
    {"verbose", 'v', Sbatch::nothing, Takes::nothing},
    {"wait", 'W', Sbatch::nothing, Takes::nothing},
    {"wait-all-nodes", 0, Sbatch::nothing},
});

bool is_option(const ScriptText& word) {
  return word.text.size() > 1 && word.text.starts_with('-');
}

class OptionReader {
 public:
  OptionReader(const ScriptLine& line, const Source& source, Report& report)
      : line_(line), source_(source), report_(report) {}

  template <class Find>
  std::vector<ScriptOption> read(const Find& find) {
    std::vector<ScriptOption> all;
    while (at_ < line_.words.size()) {
      const ScriptText& word = line_.words[at_++];
      if (!is_option(word)) {
        error(word, fmt::format("{} is not an option", torc::quoted(word.text)),
              "options begin with '--'; a value with blanks stands in quotes");
        continue;
      }
      if (word.text == "--") continue;
      ScriptOption option;
      option.value = word;
      const Known known =
          word.text.starts_with("--") ? begin_long(word, option, find) : begin_short(word, option);
      option.meaning = known.meaning;
      if (take_value(known, option)) all.push_back(std::move(option));
    }
    return all;
  }

 private:
  void error(const ScriptText& at, std::string message, std::string remedy) {
    report_.error(source_.place(at.begin, at.bytes), std::move(message), std::move(remedy));
  }

  template <class Find>
  Known begin_long(const ScriptText& word, ScriptOption& option, const Find& find) {
    const std::size_t equals = word.text.find('=');
    const std::size_t end = std::min(equals, word.text.size());
    option.name = {word.text.substr(2, end - 2), word.begin, std::min(end, word.bytes)};
    if (equals != std::string::npos) set_value(word, equals + 1, option);
    return find(option.name.text);
  }

  // #TORC has long ones alone.
  Known begin_short(const ScriptText& word, ScriptOption& option) {
    const char letter = word.text[1];
    const auto* const found = std::ranges::find(kSbatch, letter, &Known::letter);
    option.name = {std::string(1, letter), word.begin, std::min<std::size_t>(2, word.bytes)};
    if (found == kSbatch.end() || line_.directive == Directive::torc)
      return {"", 0, Sbatch::unknown, Takes::perhaps};
    option.name.text = found->name;
    if (word.text.size() > 2 && found->takes != Takes::nothing) set_value(word, 2, option);
    return *found;
  }

  // From byte `from` of the word on; where it stands is only known of a word without quotes.
  static void set_value(const ScriptText& word, std::size_t from, ScriptOption& option) {
    const bool bare = word.bytes == word.text.size();
    option.has_value = true;
    option.value = {word.text.substr(from), bare ? word.begin + from : word.begin,
                    bare ? std::max<std::size_t>(word.bytes - from, 1) : word.bytes};
  }

  bool take_value(const Known& known, ScriptOption& option) {
    const bool is_sbatch = line_.directive == Directive::sbatch;
    const bool may_follow =
        known.takes == Takes::value || (is_sbatch && known.meaning == Sbatch::unknown);
    if (may_follow && !option.has_value && at_ < line_.words.size() &&
        !line_.words[at_].text.starts_with("--")) {
      option.value = line_.words[at_++];
      option.has_value = true;
    }
    if (known.takes == Takes::value && (!option.has_value || option.value.text.empty())) {
      error(option.name, fmt::format("'--{}' has no value", printable(option.name.text)),
            fmt::format("write --{}=…, or remove it", printable(option.name.text)));
      return false;
    }
    if (known.takes == Takes::nothing && option.has_value) {
      error(option.value, fmt::format("'--{}' takes no value", printable(option.name.text)),
            "remove it");
      return false;
    }
    return true;
  }

  const ScriptLine& line_;
  const Source& source_;
  Report& report_;
  std::size_t at_ = 0;
};

}  // namespace

std::vector<ScriptOption> options_of_sbatch(const ScriptLine& line, const Source& source,
                                            Report& report) {
  return OptionReader(line, source, report).read([](std::string_view name) {
    const auto* const found = std::ranges::find(kSbatch, name, &Known::name);
    return found == kSbatch.end() ? Known{name, 0, Sbatch::unknown, Takes::perhaps} : *found;
  });
}

std::vector<ScriptOption> options_of_torc(const ScriptLine& line,
                                          bool (*is_switch)(std::string_view name),
                                          const Source& source, Report& report) {
  return OptionReader(line, source, report).read([&](std::string_view name) {
    return Known{name, 0, Sbatch::unknown, is_switch(name) ? Takes::perhaps : Takes::value};
  });
}

std::vector<std::string> sbatch_options() {
  std::vector<std::string> names;
  names.reserve(kSbatch.size());
  for (const Known& known : kSbatch) names.emplace_back(known.name);
  return names;
}

}  // namespace torc::spec
