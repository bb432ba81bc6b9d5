#include "bin/flags.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <set>
#include <sstream>
#include <type_traits>

#include "lib/base/number.h"
#include "lib/base/text/quote.h"
#include "lib/base/text/utf8.h"
#include "lib/spec/text/diagnostic.h"

namespace torc::cli {
namespace {

// Of --help: where the second column begins.
constexpr std::size_t kColumn = 34;

// What is between two delimiters: CLI11 describes an option as "ENGINE:{auto,lmdb,journal}" or
// "N:UINT in [1 - 256]".
std::string between_delimiters(const std::string& type, char opens, char closes) {
  const std::size_t open = type.find(opens);
  const std::size_t close = type.rfind(closes);
  if (open == std::string::npos || close == std::string::npos || close < open) return {};
  return type.substr(open + 1, close - open - 1);
}

// "1 to 256"; empty: any.
std::string limits_of(const std::string& type) {
  std::string limits = between_delimiters(type, '[', ']');
  if (const auto dash = limits.find(" - "); dash != std::string::npos)
    limits.replace(dash, 3, " to ");
  return limits;
}

// Arguments by what they stand for: "torc job [STORE] NAME", where CLI11 counts: "NAME(1x)".
// Columns are characters, where it counts bytes.
class HelpFormatter final : public CLI::Formatter {
 public:
  std::string make_option(const CLI::Option* option, bool is_positional) const override {
    const std::string type = option->get_type_name();
    const std::string name =
        is_positional && type.starts_with('[')
            ? type
            : make_option_name(option, is_positional) + make_option_opts(option);
    return row(name, make_option_desc(option));
  }
  std::string make_subcommand(const CLI::App* command) const override {
    return row(command->get_display_name(true), command->get_description());
  }
  // What it takes, in the words of a page: "N (1 to 256)", "auto|lmdb|journal (auto)".
  std::string make_option_opts(const CLI::Option* option) const override {
    const std::string type = option->get_type_name();
    std::string text;
    if (option->get_items_expected_max() > 0) {
      std::string choices = between_delimiters(type, '{', '}');
      std::ranges::replace(choices, ',', '|');
      std::string value = type.substr(0, type.find_first_of(": "));
      if (value == "UINT" || value == "INT") value = "N";
      if (option->get_positional() &&
          (value == "TEXT" || value == "…" || value == option->get_name(true)))
        value.clear();
      if (!choices.empty()) value = choices;
      if (!value.empty()) text += " " + value;
      if (const std::string limits = limits_of(type); !limits.empty() && choices.empty())
        text += " (" + limits + ")";
      if (!option->get_default_str().empty()) text += " (" + option->get_default_str() + ")";
      if (option->get_expected_max() == CLI::detail::expected_max_vector_size) text += " ...";
    }
    if (option->get_required() && !option->get_positional()) text += " (needed)";
    for (const CLI::Option* other : option->get_needs()) text += " with " + other->get_name();
    return text;
  }
  std::string make_option_usage(const CLI::Option* option) const override {
    const std::string type = option->get_type_name();
    return type.starts_with('[') ? type : CLI::Formatter::make_option_usage(option);
  }

 private:
  [[nodiscard]] std::string row(const std::string& name, const std::string& about) const {
    const std::string blanks(get_column_width(), ' ');
    std::string text = "  " + name;
    if (const std::size_t width = count_characters(text); width < blanks.size())
      text += blanks.substr(width);
    else if (!about.empty())
      text += '\n' + blanks;
    for (const char c : about) {
      text += c;
      if (c == '\n') text += blanks;
    }
    return text + '\n';
  }
};

bool takes_store(const CLI::App& command) {
  const auto names_it = [](const CLI::Option* option) {
    const std::string said =
        option->get_name(true) + option->get_type_name() + option->get_description();
    return option->get_positional() && said.find("STORE") != std::string::npos;
  };
  const auto options = command.get_options();
  const auto below = command.get_subcommands({});
  return std::ranges::any_of(options, names_it) ||
         std::ranges::any_of(below, [](const CLI::App* one) { return takes_store(*one); });
}

std::string wrong_as_count(const std::string& text) {
  const bool digits = !text.empty() && text.size() < 19 &&
                      text.find_first_not_of("0123456789") == std::string::npos;
  return digits && text.find_first_not_of('0') != std::string::npos
             ? std::string()
             : fmt::format("'{}' is not a positive whole number", text);
}

// What a variable holds: the T of an optional one.
template <class T>
struct Held {
  using Type = T;
};
template <class T>
struct Held<std::optional<T>> {
  using Type = T;
};

// CLI11 takes "-1" for a great number where there are none below zero, and "0x10" and "1e3" for
// numbers.
template <class Number>
std::string wrong_as_number(const std::string& text) {
  if (whole_number<Number>(text)) return {};
  using Limits = std::numeric_limits<Number>;
  return Limits::is_signed
             ? fmt::format("'{}' is not a whole number", text)
             : fmt::format("'{}' is not a whole number from 0 to {}", text, Limits::max());
}

std::vector<std::string> names_of(const std::set<CLI::Option*>& options) {
  std::vector<std::string> names;
  names.reserve(options.size());
  for (const CLI::Option* option : options) names.push_back(option->get_name());
  std::sort(names.begin(), names.end());  // the set is in the order of addresses
  return names;
}

FlagHelp describe(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  const bool argument = option.get_positional();
  FlagHelp help;
  for (const std::string& name : option.get_snames()) help.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) help.names.push_back("--" + name);
  help.takes_value = option.get_items_expected_max() > 0;
  help.about = option.get_description();
  if (argument) {
    // The brackets of "[STORE] NAME" are no limits.
    help.names.push_back(type.starts_with('[') ? type : option.get_name(true));
  } else if (help.takes_value) {
    help.limits = limits_of(type);
    help.value = type.substr(0, type.find_first_of(": "));
    if (help.value == "UINT" || help.value == "INT") help.value = "N";
  }
  const std::string choices = between_delimiters(type, '{', '}');
  if (!choices.empty()) help.choices = CLI::detail::split(choices, ',');
  help.default_value = option.get_default_str();
  help.required = option.get_required();
  help.excludes = names_of(option.get_excludes());
  help.needs = names_of(option.get_needs());
  return help;
}

CommandHelp describe(const CLI::App& command, const std::string& above) {
  CommandHelp help;
  help.name = above + command.get_name();
  help.about = command.get_description();
  for (const CLI::Option* option : command.get_options())
    (option->get_positional() ? help.arguments : help.flags).push_back(describe(*option));
  help.footer = command.get_footer();
  for (const CLI::App* below : command.get_subcommands({}))
    help.commands.push_back(describe(*below, help.name + " "));
  return help;
}

std::string nearest_command(const CLI::App& cli, const std::string& word) {
  std::vector<std::string> names;
  for (const CLI::App* command : cli.get_subcommands({})) names.push_back(command->get_name());
  return spec::nearest(word, names);
}

// What a word behind "--" begins with while CLI11 has it, which takes it for nothing else then: it
// would forget what "--" means when the arguments before it are enough. So does "[a,b]", of which
// it would make the words a and b.
constexpr char kLiteral = '\x01';

std::string without_mark(std::string word) {
  if (!word.empty() && word.front() == kLiteral) word.erase(0, 1);
  return word;
}

std::vector<std::string> typed_words(int argc, char** argv) {
  std::vector<std::string> words(argv + std::min(argc, 1), argv + argc);
  if (!words.empty() && words.front() == "help") {
    words.erase(words.begin());
    words.emplace_back("--help");
  }
  return words;
}

// The words as CLI11 takes them, the last one first; from `literal` on they are arguments.
std::vector<std::string> marked(std::vector<std::string> words, std::size_t literal) {
  const auto first = words.begin() + static_cast<std::ptrdiff_t>(literal);
  auto dashes = std::find(words.begin(), first, "--");
  if (dashes == first) dashes = words.end();
  for (auto word = words.begin(); word != words.end(); ++word) {
    if (word >= first || word > dashes || (word->starts_with('[') && word->ends_with(']')))
      word->insert(0, 1, kLiteral);
  }
  if (dashes != words.end()) words.erase(dashes);
  std::reverse(words.begin(), words.end());
  return words;
}

std::string nearest_flag(const CLI::App& command, const std::string& word) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return spec::nearest(word.substr(0, word.find('=')), names);
}

// `instead`: what to do instead of a flag that there is not; empty: nobody knows.
Error explain(const CLI::App& cli, const CLI::ParseError& error,
              const std::function<std::string(const std::string& flag)>& instead) {
  const CLI::App* command = &cli;
  std::string name = "torc";
  for (auto below = cli.get_subcommands(); !below.empty(); below = command->get_subcommands()) {
    command = below.front();
    name += " " + command->get_name();
  }
  const std::string see = fmt::format("see `{} --help`", name);
  const auto or_near = [&](const std::string& near) {
    return near.empty() ? see : fmt::format("did you mean `{}`?\n  {}", near, see);
  };
  const auto unknown = command->remaining();
  if (command == &cli && !unknown.empty()) {
    const std::string word = without_mark(unknown.front());
    const std::string near = nearest_command(cli, word);
    return {ErrorKind::invalid, fmt::format("there is no command '{}'", printable(word)),
            or_near(near.empty() ? near : "torc " + near)};
  }
  // Its value was not taken for one, and may be what is said to be too much.
  const auto flag = std::find_if(unknown.begin(), unknown.end(),
                                 [](const std::string& word) { return word.starts_with('-'); });
  if (flag != unknown.end()) {
    if (const std::string other = instead(*flag); !other.empty())
      return {ErrorKind::invalid, fmt::format("`{}` has no flag {}", name, printable(*flag)),
              other};
    return {ErrorKind::invalid, fmt::format("`{}` has no flag {}", name, printable(*flag)),
            or_near(nearest_flag(*command, *flag))};
  }
  std::string what = error.what();
  std::erase(what, kLiteral);
  return {ErrorKind::invalid, what, see};
}

}  // namespace

Flag Flag::value(const std::string& name) const {
  option_->type_name(name);
  return *this;
}

Flag Flag::choices(const std::vector<std::string>& values) const {
  option_->check(CLI::IsMember(values));
  return *this;
}

Flag Flag::shows_default() const {
  option_->capture_default_str();
  return *this;
}

Flag Flag::required() const {
  option_->required();
  return *this;
}

Flag Flag::words(int least, int most) const {
  option_->expected(least, most);
  return *this;
}

Flag Flag::one_at_a_time() const {
  option_->allow_extra_args(false);
  return *this;
}

template <class T>
Flag Flag::between(T least, T most) const {
  option_->check(CLI::Range(least, most));
  return *this;
}
template Flag Flag::between(int least, int most) const;
template Flag Flag::between(std::uint64_t least, std::uint64_t most) const;

Flag Flag::positive() const {
  option_->check(CLI::PositiveNumber);
  return *this;
}

Flag Flag::at_least_one() const {
  // In front, so that it is told instead of wrong_as_number().
  option_->transform(CLI::Validator([](std::string& text) { return wrong_as_count(text); }, ""));
  return *this;
}

Flag Flag::check(std::function<std::string(const std::string&)> wrong) const {
  option_->check(std::move(wrong));
  return *this;
}

Flag Flag::excludes(Flag other) const {
  option_->excludes(other.option_);
  return *this;
}

Flag Flag::needs(Flag other) const {
  option_->needs(other.option_);
  return *this;
}

Command::Command(CLI::App* app) : app_(app) {}
Command::~Command() = default;

Command& Command::about(const std::string& line) {
  app_->description(line);
  return *this;
}

Command& Command::footer(const std::string& text) {
  app_->footer(text);
  return *this;
}

bool Command::takes_store() const {
  return cli::takes_store(*app_);
}

void Command::leave_out(const std::string& paragraph) {
  std::string footer = app_->get_footer();
  const std::size_t at = footer.find(paragraph);
  if (at != std::string::npos) app_->footer(footer.erase(at, paragraph.size()));
}

Flag Command::flag(const std::string& names, bool& on, const std::string& help) {
  return Flag(app_->add_flag(names, on, help));
}

Flag Command::shows_tables() {
  option("--color", color_,
         "states in color: auto (on a terminal, unless NO_COLOR is set), always or never")
      .value("WHEN")
      .choices({"auto", "always", "never"});
  return flag("--wide", wide_, "whole names and reasons, also where the terminal is too narrow");
}

void Command::only_names_others(const std::string& remedy) {
  run([name = app_->get_name(), remedy](const App&) -> Result<Exit> {
    return Error{ErrorKind::invalid, fmt::format("torc {} does nothing by itself", name), remedy};
  });
}

template <class T>
Flag Command::option(const std::string& names, T& value, const std::string& help) {
  const Flag made = literal(Flag(app_->add_option(names, value, help)));
  using Number = typename Held<T>::Type;
  if constexpr (std::is_integral_v<Number>) return made.check(wrong_as_number<Number>);
  return made;
}
template Flag Command::option(const std::string&, std::string&, const std::string&);
template Flag Command::option(const std::string&, std::vector<std::string>&, const std::string&);
template Flag Command::option(const std::string&, std::uint32_t&, const std::string&);
template Flag Command::option(const std::string&, std::uint64_t&, const std::string&);
template Flag Command::option(const std::string&, std::optional<std::int32_t>&, const std::string&);
template Flag Command::option(const std::string&, std::optional<std::uint32_t>&,
                              const std::string&);
template Flag Command::option(const std::string&, std::optional<std::uint64_t>&,
                              const std::string&);

Flag Command::literal(Flag argument) {
  argument.option_->transform(without_mark);
  return argument;
}

Flag Command::option_by(const std::string& name,
                        std::function<Result<void>(const std::string&)> take,
                        const std::string& help) {
  const auto parse = [name, take = std::move(take)](const std::string& text) {
    if (const auto taken = take(without_mark(text)); !taken)
      throw CLI::ValidationError(name, taken.error().text());
  };
  return Flag(app_->add_option_function<std::string>(name, parse, help));
}

void Command::take_words(std::vector<std::string> marks, std::vector<std::string> unless) {
  takes_words_ = true;
  marks_ = std::move(marks);
  unless_ = std::move(unless);
}

// Itself, and its value where that is a word of its own.
std::size_t Command::words_of_flag(const std::string& typed) const {
  const auto takes_value = [&](const std::string& name) {
    const CLI::Option* option = app_->get_option_no_throw(name);
    return option != nullptr && option->get_items_expected_max() > 0;
  };
  if (typed.starts_with("--"))
    return typed.find('=') == std::string::npos && takes_value(typed) ? 2 : 1;
  for (std::size_t i = 1; i < typed.size(); ++i) {
    if (takes_value({'-', typed[i]})) return i + 1 == typed.size() ? 2 : 1;
  }
  return 1;
}

std::size_t Command::first_word(const std::vector<std::string>& typed) const {
  if (!takes_words_) return typed.size();
  const auto is_one_of = [](const std::vector<std::string>& some, const std::string& word) {
    return std::find(some.begin(), some.end(), word) != some.end();
  };
  bool by_marks = false;
  for (std::size_t i = 1; i < typed.size(); ++i) {
    const std::string& word = typed[i];
    if (word == "--") break;
    if (is_one_of(marks_, word)) return i;
    if (word.size() > 1 && word.starts_with('-')) {
      const bool is_long = word.starts_with("--");
      by_marks = by_marks ||
                 is_one_of(unless_, is_long ? word.substr(0, word.find('=')) : word.substr(0, 2));
      i += words_of_flag(word) - 1;
    } else if (word != "-" && !by_marks) {
      return i;
    }
  }
  return typed.size();
}

std::string Command::instead_of(const std::string& typed) const {
  const std::string name =
      typed.starts_with("--") ? typed.substr(0, typed.find('=')) : typed.substr(0, 2);
  const auto found = std::find_if(missing_.begin(), missing_.end(),
                                  [&](const auto& one) { return one.first == name; });
  return found == missing_.end() ? std::string() : found->second;
}

bool Command::given(const std::string& name) const {
  return app_->count(name) > 0;
}

void Command::group(const std::string& heading) {
  app_->group(heading);
}

Command& Command::add(const std::string& name) {
  commands_.push_back(std::make_unique<Command>(app_->add_subcommand(name)));
  return *commands_.back();
}

const Command* Command::typed(const std::vector<std::unique_ptr<Command>>& commands) {
  for (const std::unique_ptr<Command>& command : commands) {
    if (!command->app_->parsed()) continue;
    const Command* below = typed(command->commands_);
    return below == nullptr ? command.get() : below;
  }
  return nullptr;
}

CommandLine::CommandLine(const std::string& about, const std::string& version,
                         const std::string& footer)
    : app_(std::make_unique<CLI::App>(about, "torc")) {
  app_->set_version_flag("-V,--version", version);
  app_->footer(footer);
  app_->formatter(std::make_shared<HelpFormatter>());
  app_->require_subcommand(1);
  app_->get_formatter()->column_width(kColumn);
}

CommandLine::~CommandLine() = default;

Command& CommandLine::add(const std::string& name) {
  commands_.push_back(std::make_unique<Command>(app_->add_subcommand(name)));
  return *commands_.back();
}

void CommandLine::footer(const std::string& text) {
  app_->footer(text);
}

const Command* CommandLine::named(const std::string& name) const {
  const auto found = std::find_if(commands_.begin(), commands_.end(),
                                  [&](const auto& c) { return c->app_->get_name() == name; });
  return found == commands_.end() ? nullptr : found->get();
}

Result<CommandLine::Asked> CommandLine::parse(int argc, char** argv) {
  std::vector<std::string> words = typed_words(argc, argv);
  const Command* command = words.empty() ? nullptr : named(words.front());
  const std::size_t literal = command == nullptr ? words.size() : command->first_word(words);
  try {
    app_->parse(marked(std::move(words), literal));
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() != 0) {
      return explain(*app_, error, [&](const std::string& flag) {
        return command == nullptr ? std::string() : command->instead_of(flag);
      });
    }
    std::ostringstream text;
    app_->exit(error, text, text);
    return Asked{text.str(), {}};
  }
  const Command* typed = Command::typed(commands_);
  if (!typed->wide_ && typed->color_.empty()) return Asked{{}, typed->run_};
  return Asked{{}, [typed](const App& app) {
                 App asked = app;
                 asked.wide = typed->wide_;
                 if (typed->color_ == "always") asked.color = Color::always;
                 if (typed->color_ == "never") asked.color = Color::never;
                 return typed->run_(asked);
               }};
}

CommandHelp CommandLine::help() const {
  CommandHelp help = describe(*app_, "");
  help.commands.clear();  // their names are their own, without "torc"
  const CLI::App& app = *app_;
  for (const CLI::App* command : app.get_subcommands({}))
    help.commands.push_back(describe(*command, ""));
  return help;
}

}  // namespace torc::cli
