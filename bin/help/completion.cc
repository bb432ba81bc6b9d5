#include "bin/help/completion.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "lib/base/text/quote.h"

namespace torc::cli {
namespace {

std::string flag_words(const CommandHelp& command) {
  std::vector<std::string> words;
  for (const FlagHelp& flag : command.flags)
    words.insert(words.end(), flag.names.begin(), flag.names.end());
  return fmt::format("{}", fmt::join(words, " "));
}

std::string command_words(const std::vector<CommandHelp>& commands) {
  std::vector<std::string> words;
  words.reserve(commands.size());
  for (const CommandHelp& command : commands) words.push_back(command.name);
  return fmt::format("{}", fmt::join(words, " "));
}

// Whether its arguments may be jobs.
bool takes_jobs(const CommandHelp& command) {
  return !command.arguments.empty() &&
         command.arguments.front().names.front().find("NAME") != std::string::npos;
}

// Jobs and stages, which torc itself looks up. The shell takes "stage:al" for three words.
constexpr std::string_view kJobsForBash = R"(      local typed=$cur IFS=$'\n'
      [[ $prev == stage && $cur == : ]] && typed=stage:
      [[ $prev == : && ${COMP_WORDS[COMP_CWORD-2]} == stage ]] && typed=stage:$cur
      COMPREPLY=($(torc completion words "$typed" "${COMP_WORDS[@]:2:COMP_CWORD-2}" 2>/dev/null))
      [[ $typed == "$cur" ]] || COMPREPLY=("${COMPREPLY[@]#stage:}") ;;
)";

// Values come before flags, since the word before decides.
std::string for_bash(const std::vector<CommandHelp>& commands) {
  std::string script = R"(_torc() {
  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} command=${COMP_WORDS[1]}
  COMPREPLY=()
  if ((COMP_CWORD == 1)); then
    COMPREPLY=($(compgen -W ')" +
                       command_words(commands) + R"( --help --version' -- "$cur"))
    return
  fi
  case "$command $prev" in
)";
  for (const CommandHelp& command : commands) {
    for (const FlagHelp& flag : command.flags) {
      if (!flag.takes_value) continue;
      std::vector<std::string> patterns;
      for (const std::string& name : flag.names)
        patterns.push_back(fmt::format("'{} {}'", command.name, name));
      const std::string reply = flag.choices.empty()
                                    ? ""
                                    : fmt::format("COMPREPLY=($(compgen -W '{}' -- \"$cur\")); ",
                                                  fmt::join(flag.choices, " "));
      script += fmt::format("    {}) {}return ;;\n", fmt::join(patterns, "|"), reply);
    }
  }
  script += "  esac\n  case \"$command $COMP_CWORD\" in\n";
  for (const CommandHelp& command : commands) {
    if (command.arguments.empty() || command.arguments.front().choices.empty()) continue;
    script += fmt::format("    '{} 2') COMPREPLY=($(compgen -W '{}' -- \"$cur\")) ;;\n",
                          command.name, fmt::join(command.arguments.front().choices, " "));
  }
  script += "  esac\n  if [[ $cur != -* ]]; then\n    case \"$command\" in\n";
  std::vector<std::string> of_jobs;
  for (const CommandHelp& command : commands) {
    if (takes_jobs(command)) of_jobs.push_back(command.name);
  }
  if (!of_jobs.empty()) script += fmt::format("    {})\n{}", fmt::join(of_jobs, "|"), kJobsForBash);
  script += "    esac\n    return\n  fi\n  case \"$command\" in\n";
  for (const CommandHelp& command : commands) {
    script += fmt::format("    {}) COMPREPLY=($(compgen -W '{}' -- \"$cur\")) ;;\n", command.name,
                          flag_words(command));
  }
  return script + "  esac\n}\ncomplete -o default -o bashdefault -F _torc torc\n";
}

std::string for_zsh(const std::vector<CommandHelp>& commands) {
  return "autoload -U +X compinit && compinit\nautoload -U +X bashcompinit && bashcompinit\n" +
         for_bash(commands);
}

std::string for_fish(const std::vector<CommandHelp>& commands) {
  std::string script;
  for (const CommandHelp& command : commands) {
    script += fmt::format("complete -c torc -n __fish_use_subcommand -a {} -d {}\n", command.name,
                          shell_quote(command.about));
    for (const FlagHelp& argument : command.arguments) {
      if (argument.choices.empty()) continue;
      script += fmt::format("complete -c torc -n '__fish_seen_subcommand_from {}' -f -a '{}'\n",
                            command.name, fmt::join(argument.choices, " "));
    }
    if (takes_jobs(command)) {
      script += fmt::format(
          "complete -c torc -n '__fish_seen_subcommand_from {}' -a '(torc completion words "
          "(commandline -ct) (commandline -opc)[3..] 2>/dev/null)'\n",
          command.name);
    }
    for (const FlagHelp& flag : command.flags) {
      script += fmt::format("complete -c torc -n '__fish_seen_subcommand_from {}'", command.name);
      for (const std::string& name : flag.names) {
        script += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
      }
      if (flag.takes_value) script += " -r";
      if (!flag.choices.empty()) script += fmt::format(" -f -a '{}'", fmt::join(flag.choices, " "));
      script += fmt::format(" -d {}\n", shell_quote(flag.about));
    }
  }
  return script;
}

}  // namespace

Result<std::string> completion_script(std::string_view shell,
                                      const std::vector<CommandHelp>& commands) {
  if (shell == "bash") return for_bash(commands);
  if (shell == "zsh") return for_zsh(commands);
  if (shell == "fish") return for_fish(commands);
  return Error{ErrorKind::invalid, fmt::format("no completion for '{}'", shell),
               "bash, zsh or fish"};
}

// zsh makes a function _torc of the file, which is called in place of what it is to define.
std::string zsh_site_function(const std::vector<CommandHelp>& commands) {
  return "#compdef torc\nautoload -U +X bashcompinit && bashcompinit\n" + for_bash(commands) +
         "_bash_complete -o default -o bashdefault -F _torc\n";
}

}  // namespace torc::cli
