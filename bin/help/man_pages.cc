#include "bin/help/man_pages.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <utility>

#include "bin/help/completion.h"

namespace torc::cli {
namespace {

// One character of UTF-8 from `at` on, and how many bytes it has; what is no UTF-8 counts as one
// byte.
struct Character {
  std::uint32_t code = 0;
  std::size_t size = 1;
};
Character character_at(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U;
  };
  const std::uint32_t first = byte(at);
  const std::size_t size = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : first >= 0xC0 ? 2 : 1;
  std::uint32_t code = size == 1 ? first : first & (0x7FU >> size);
  for (std::size_t i = 1; i < size; ++i) {
    if ((byte(at + i) & 0xC0U) != 0x80) return {'?', 1};
    code = code << 6U | (byte(at + i) & 0x3FU);
  }
  return {code, size};
}

constexpr std::pair<std::uint32_t, std::string_view> kEscapes[] = {
    {'\\', "\\(rs"}, {'-', "\\-"}, {'\'', "\\(aq"}, {'`', "\\(ga"}, {'^', "\\(ha"}, {'~', "\\(ti"}};

std::string bold(std::string_view text) {
  return fmt::format("\\fB{}\\fR", roff_text(text));
}

// What stands for something else: words of letters; brackets, bars and dots around them stay
// upright.
std::string placeholder(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const auto in_word = [&](std::size_t i) {
      return std::isalnum(static_cast<unsigned char>(text[i])) != 0;
    };
    std::size_t end = at;
    while (end < text.size() && in_word(end) == in_word(at)) ++end;
    const std::string part = roff_text(text.substr(at, end - at));
    out += in_word(at) ? fmt::format("\\fI{}\\fR", part) : part;
    at = end;
  }
  return out;
}

std::vector<std::string> split(std::string_view text, std::string_view at) {
  std::vector<std::string> parts;
  for (;;) {
    const std::size_t end = text.find(at);
    parts.emplace_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + at.size());
  }
}

std::string heading(std::string_view name) {
  return fmt::format(".SH {}\n", name);
}

// Lines as they are, where they are indented, and filled ones else.
std::string paragraph(const std::string& text) {
  std::string out;
  bool as_is = false;
  for (const std::string& line : split(text, "\n")) {
    if (line.empty()) continue;
    const bool indented = line.starts_with("  ");
    if (indented != as_is) out += indented ? ".PP\n.RS 4\n.nf\n" : ".fi\n.RE\n";
    as_is = indented;
    out += roff_text(indented ? std::string_view(line).substr(2) : line) + "\n";
  }
  return out + (as_is ? ".fi\n.RE\n" : "");
}

// What --help says below the flags, by the sections in which a manual has it.
struct Notes {
  std::string description;
  std::string exit_status;
  std::string examples;
};
Notes notes_of(const std::string& footer) {
  Notes notes;
  for (std::string part : split(footer, "\n\n")) {
    if (part.find_first_not_of("\n ") == std::string::npos) continue;
    for (const std::string_view title : {"Examples:", "First steps:"}) {
      const std::size_t at = part.find(title);
      if (at == std::string::npos || part.find_first_not_of('\n') != at) continue;
      notes.examples += paragraph(part.substr(at + title.size()));
      part.clear();
    }
    if (const std::size_t at = part.find("Exit code"); at != std::string::npos) {
      notes.exit_status += paragraph(part.substr(part.find(':', at) + 2));
      part.erase(at);
    }
    if (part.find_first_not_of("\n ") != std::string::npos)
      notes.description += ".PP\n" + paragraph(part);
  }
  return notes;
}

// "One of auto, lmdb, journal. Default: auto. Not with --json."
std::string constraints(const FlagHelp& flag) {
  std::string out;
  if (!flag.choices.empty()) out += fmt::format(" One of {}.", fmt::join(flag.choices, ", "));
  if (!flag.limits.empty()) out += fmt::format(" From {}.", flag.limits);
  if (!flag.default_value.empty()) out += fmt::format(" Default: {}.", flag.default_value);
  if (!flag.needs.empty()) out += fmt::format(" Only with {}.", fmt::join(flag.needs, ", "));
  if (!flag.excludes.empty()) out += fmt::format(" Not with {}.", fmt::join(flag.excludes, ", "));
  return out;
}

std::string item(const std::string& tag, const FlagHelp& flag) {
  const std::string about = flag.about + (flag.about.ends_with('.') ? "" : ".");
  return fmt::format(".TP\n{}\n{}\n", tag, roff_text(about + constraints(flag)));
}

std::string items(const CommandHelp& command) {
  std::string out;
  if (!command.arguments.empty()) out += heading("ARGUMENTS");
  for (const FlagHelp& argument : command.arguments)
    out += item(placeholder(argument.names.front()), argument);
  if (!command.flags.empty()) out += heading("OPTIONS");
  for (const FlagHelp& flag : command.flags) {
    std::string tag;
    for (const std::string& name : flag.names) tag += (tag.empty() ? "" : ", ") + bold(name);
    if (flag.takes_value) tag += " " + placeholder(flag.value);
    out += item(tag, flag);
  }
  return out;
}

std::string synopsis(const std::string& program, const CommandHelp& command) {
  std::string out = fmt::format(".B {}\n", roff_text(program));
  if (!command.flags.empty()) out += "[\\fIOPTIONS\\fR]\n";
  for (const FlagHelp& argument : command.arguments) {
    const std::string shown = placeholder(argument.names.front());
    const bool may_lack = !argument.required && !shown.starts_with('[');
    out += may_lack ? fmt::format("[{}]\n", shown) : shown + "\n";
  }
  return out;
}

std::string title(const CommandHelp& command, std::string_view version, std::string_view about) {
  const std::string name = man_page_name(command);
  std::string capitals = name;
  std::transform(capitals.begin(), capitals.end(), capitals.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return fmt::format(".TH {} 1 \"\" \"torc {}\" \"torc\"\n.ad l\n.nh\n{}{} \\- {}\n",
                     roff_text(capitals), roff_text(version), heading("NAME"), roff_text(name),
                     roff_text(about));
}

std::string list_of(const std::vector<CommandHelp>& commands) {
  std::string out;
  for (const CommandHelp& command : commands)
    out += fmt::format(".TP\n{}(1)\n{}.\n", bold(man_page_name(command)), roff_text(command.about));
  return out;
}

std::string program_man_page(const CommandHelp& torc, std::string_view version) {
  // "torc: runs workflows …"
  const std::string_view about = std::string_view(torc.about).substr(torc.about.find(' ') + 1);
  const Notes notes = notes_of(torc.footer);
  return title(torc, version, about) + heading("SYNOPSIS") +
         ".B torc\n\\fICOMMAND\\fR\n[\\fIOPTIONS\\fR]\n[\\fIARGUMENTS\\fR]\n" +
         heading("DESCRIPTION") + notes.description + heading("COMMANDS") + list_of(torc.commands) +
         items(torc) + heading("EXIT STATUS") + notes.exit_status + heading("EXAMPLES") +
         notes.examples;
}

void add_man_pages(std::vector<HelpFile>& files, const std::vector<CommandHelp>& commands,
                   std::string_view version) {
  for (const CommandHelp& command : commands) {
    files.push_back(
        {Path("man/man1") / (man_page_name(command) + ".1"), command_man_page(command, version)});
    add_man_pages(files, command.commands, version);
  }
}

}  // namespace

std::string roff_text(std::string_view text) {
  std::string out;
  bool at_start = true;
  for (std::size_t at = 0; at < text.size();) {
    const Character c = character_at(text, at);
    if (at_start && (c.code == '.' || c.code == '\'')) out += "\\&";
    at_start = c.code == '\n';
    const auto named = std::find_if(std::begin(kEscapes), std::end(kEscapes),
                                    [&](const auto& e) { return e.first == c.code; });
    if (named != std::end(kEscapes)) {
      out += named->second;
    } else if (c.code < 0x80) {
      out += static_cast<char>(c.code);
    } else {
      out += fmt::format("\\[u{:04X}]", c.code);
    }
    at += c.size;
  }
  return out;
}

std::string man_page_name(const CommandHelp& command) {
  std::string name = command.name == "torc" ? "torc" : "torc-" + command.name;
  std::replace(name.begin(), name.end(), ' ', '-');
  return name;
}

std::string command_man_page(const CommandHelp& command, std::string_view version) {
  const Notes notes = notes_of(command.footer);
  std::string out = title(command, version, command.about) + heading("SYNOPSIS") +
                    synopsis("torc " + command.name, command) + heading("DESCRIPTION") +
                    roff_text(command.about) + ".\n" + notes.description + items(command);
  if (!command.commands.empty()) out += heading("COMMANDS") + list_of(command.commands);
  if (!notes.exit_status.empty()) out += heading("EXIT STATUS") + notes.exit_status;
  if (!notes.examples.empty()) out += heading("EXAMPLES") + notes.examples;
  return out + heading("SEE ALSO") + bold("torc") + "(1)\n";
}

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
