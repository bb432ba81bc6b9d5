#include "lib/spec/text/command_line.h"

#include <algorithm>

#include "lib/spec/text/placeholder.h"

namespace torc::spec {

std::string_view program_of(std::string_view command) {
  while (true) {
    command.remove_prefix(std::min(command.find_first_not_of(" \t\r\n"), command.size()));
    const std::size_t end = std::min(command.find_first_of(" \t\r\n"), command.size());
    const std::string_view word = command.substr(0, end);
    const std::size_t equals = word.find('=');
    const bool assigns = equals != std::string_view::npos && is_identifier(word.substr(0, equals));
    if (!assigns && word != "exec") return word;
    command.remove_prefix(end);
  }
}

bool is_launcher(std::string_view program) {
  program = program.substr(program.rfind('/') + 1);
  program = program.substr(0, program.find('.'));  // mpirun.openmpi, mpiexec.hydra
  return program == "srun" || program == "mpirun" || program == "mpiexec" || program == "orterun" ||
         program == "prterun";
}

std::string_view command_separator(std::string_view line) {
  while (!line.empty() && (line.back() == '\n' || line.back() == ' ' || line.back() == ';'))
    line.remove_suffix(1);
  char quote = 0;
  int depth = 0;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (c == '\\' && quote != '\'') {
      ++i;
    } else if (quote != 0) {
      if (c == quote) quote = 0;
    } else if (c == '\'' || c == '"' || c == '`') {
      quote = c;
    } else if (c == '(' || c == '{') {
      ++depth;
    } else if (c == ')' || c == '}') {
      --depth;
    } else if (c == '#' && (i == 0 || line[i - 1] == ' ' || line[i - 1] == '\n')) {
      return {};  // a comment: what follows is hardly one of several commands
    } else if (depth == 0 && (c == ';' || c == '|' || c == '&' || c == '\n')) {
      // `2>&1`, `&>file`, `>|file` redirect.
      const bool redirects = (i > 0 && (line[i - 1] == '>' || line[i - 1] == '<')) ||
                             (c == '&' && i + 1 < line.size() && line[i + 1] == '>');
      if (redirects) continue;
      const bool twice = i + 1 < line.size() && line[i + 1] == c && (c == '&' || c == '|');
      return line.substr(i, twice ? 2 : 1);
    }
  }
  return {};
}

}  // namespace torc::spec
