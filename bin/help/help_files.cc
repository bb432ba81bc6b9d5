#include "bin/help/help_files.h"

#include "bin/help/completion.h"
#include "bin/help/man_pages.h"

namespace torc::cli {
namespace {

void add_man_pages(std::vector<HelpFile>& files, const std::vector<CommandHelp>& commands,
                   std::string_view version) {
  for (const CommandHelp& command : commands) {
    files.push_back(
        {Path("man/man1") / (man_page_name(command) + ".1"), command_man_page(command, version)});
    add_man_pages(files, command.commands, version);
  }
}

}  // namespace

std::vector<HelpFile> help_files(const CommandHelp& torc, std::string_view version) {
  const std::vector<CommandHelp>& commands = torc.commands;
  std::vector<HelpFile> files{
      {"man/man1/torc.1", program_man_page(torc, version)},
      {"bash-completion/completions/torc", *completion_script("bash", commands)},
      {"zsh/site-functions/_torc", zsh_site_function(commands)},
      {"fish/vendor_completions.d/torc.fish", *completion_script("fish", commands)}};
  add_man_pages(files, commands, version);
  return files;
}

}  // namespace torc::cli
