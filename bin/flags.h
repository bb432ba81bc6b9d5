// How a command says what it takes. Of this one description come the parser, --help, the
// completions, the man pages and what docs/user/commands.md lists. The library below, CLI11, is
// included by flags.cc alone: it is made of headers, which would cost each command seconds to
// compile.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bin/app.h"
#include "bin/help/command_help.h"
#include "lib/base/result.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace torc::cli {

// A flag, an option or an argument, to say more of it. All copies are the same one, which lives as
// long as its Command.
class Flag {
 public:
  explicit Flag(CLI::Option* option) : option_(option) {}

  Flag value(const std::string& name) const;  // what stands for the value in --help: "TIME"
  Flag choices(const std::vector<std::string>& values) const;  // it is one of these
  Flag shows_default() const;                                  // what the variable holds by now
  Flag required() const;
  Flag words(int least, int most) const;  // an argument of so many
  Flag one_at_a_time() const;             // may be repeated, with one value each time
  template <class T>
  Flag between(T least, T most) const;  // a number, with both ends: T is int or std::uint64_t
  Flag positive() const;
  Flag at_least_one() const;
  // `wrong` tells what is wrong with a value; empty: nothing.
  Flag check(std::function<std::string(const std::string& value)> wrong) const;
  Flag excludes(Flag other) const;
  Flag needs(Flag other) const;

 private:
  friend class Command;
  CLI::Option* option_;
};

// One command. What its variables refer to is kept by options().
class Command {
 public:
  explicit Command(CLI::App* app);
  ~Command();
  Command(const Command&) = delete;
  Command& operator=(const Command&) = delete;

  Command& about(const std::string& line);
  Command& footer(
      const std::string& text);  // below the flags; instead of what all commands have there

  // The heading that it stands below in --help of the program.
  void group(const std::string& heading);

  // Whether an argument of it, or of a command below it, is a store.
  [[nodiscard]] bool takes_store() const;
  // Of what all commands have below their flags.
  void leave_out(const std::string& paragraph);

  // A new T, which lives as long as this.
  template <class T>
  T& options() {
    auto made = std::make_shared<T>();
    T& options = *made;
    kept_.push_back(std::move(made));
    return options;
  }

  // In the order of --help. `names`: "-q,--quiet". What a name is bound to must live as long as
  // this.
  Flag flag(const std::string& names, bool& on, const std::string& help);
  // T: std::string, a vector of it, a number, or an optional number.
  template <class T>
  Flag option(const std::string& names, T& value, const std::string& help);
  template <class T>
  Flag argument(const std::string& name, T& value, const std::string& help) {
    return option(name, value, help);
  }
  // An option that goes through a parser of ours, which tells what is wrong with a value, and the
  // remedy.
  template <class Value, class T>
  Flag option(const std::string& name, T& value, Result<Value> (*parse)(std::string_view),
              const std::string& help) {
    return option_by(
        name,
        [&value, parse](const std::string& text) -> Result<void> {
          TORC_ASSIGN(value, parse(text));
          return {};
        },
        help);
  }

  // From the first argument on all words are arguments, also those that look like flags; where one
  // of the flags `unless` stands before it from the first of `marks` on.
  void take_words(std::vector<std::string> marks, std::vector<std::string> unless);
  // Flags that it does not have and other programs have, each with what to do instead.
  void explain_missing(std::vector<std::pair<std::string, std::string>> flags) {
    missing_ = std::move(flags);
  }

  // Whether it was typed: "--store", "VALUES".
  [[nodiscard]] bool given(const std::string& name) const;

  // A command below this one, such as `torc logs export`.
  Command& add(const std::string& name);
  // By itself it is refused, with `remedy`, which names those below it.
  void only_names_others(const std::string& remedy);
  // It prints tables, which --wide keeps from being fitted to the terminal, and for which --color
  // says whether they have colors (bin/tables.h). The flag: --wide.
  Flag shows_tables();

  // What it does; once everything is parsed and good.
  void run(RunCommand run) { run_ = std::move(run); }

 private:
  friend class CommandLine;
  // The one of `commands` that was typed, or what was typed below it; null: none.
  static const Command* typed(const std::vector<std::unique_ptr<Command>>& commands);
  static Flag literal(Flag argument);
  // Where such words begin among those that were typed, the command's name first; their number
  // where there are none.
  [[nodiscard]] std::size_t first_word(const std::vector<std::string>& typed) const;
  [[nodiscard]] std::size_t words_of_flag(const std::string& typed) const;
  // What to do instead of a flag; empty: that is not known.
  [[nodiscard]] std::string instead_of(const std::string& typed) const;
  Flag option_by(const std::string& name, std::function<Result<void>(const std::string&)> take,
                 const std::string& help);

  CLI::App* app_;
  std::vector<std::shared_ptr<void>> kept_;
  std::vector<std::unique_ptr<Command>> commands_;
  RunCommand run_;
  bool wide_ = false;
  std::string color_;  // empty: as with auto
  bool takes_words_ = false;
  std::vector<std::string> marks_;
  std::vector<std::string> unless_;
  std::vector<std::pair<std::string, std::string>> missing_;
};

class CommandLine {
 public:
  // `footer`: of every command that says nothing else.
  CommandLine(const std::string& about, const std::string& version, const std::string& footer);
  ~CommandLine();
  CommandLine(const CommandLine&) = delete;
  CommandLine& operator=(const CommandLine&) = delete;

  Command& add(const std::string& name);
  void footer(const std::string& text);  // where no command is named

  // What the words ask for: a text, by --help or --version, or else a command to run, which lives
  // as long as this. Error invalid: they ask for nothing, with the --help that helps.
  struct Asked {
    std::string text;
    RunCommand run;
  };
  Result<Asked> parse(int argc, char** argv);

  // Of the program, with all commands in their order.
  [[nodiscard]] CommandHelp help() const;

 private:
  [[nodiscard]] const Command* named(const std::string& name) const;

  std::unique_ptr<CLI::App> app_;
  std::vector<std::unique_ptr<Command>> commands_;
};

}  // namespace torc::cli
