// An installed program, and what lies beside it for people and their shells.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <regex>

#include "bin/cli.h"
#include "bin/help/man_pages.h"
#include "tests/integration/harness.h"

namespace torc::itest {
namespace {

namespace fs = std::filesystem;

#define EXPECT_SAYS(ended, text) \
  EXPECT_TRUE((ended).says(text)) << "missing: " << (text) << '\n' << (ended)

// All commands, with those below others.
std::vector<cli::CommandHelp> all_commands() {
  std::vector<cli::CommandHelp> out;
  const std::function<void(const cli::CommandHelp&)> add = [&](const cli::CommandHelp& command) {
    if (command.name != "torc") out.push_back(command);
    for (const cli::CommandHelp& below : command.commands) add(below);
  };
  add(cli::describe_command_line());
  return out;
}

// Where `program` is, or nothing.
std::string which(const std::string& program) {
  for (const char* directory : {"/usr/bin", "/bin", "/usr/local/bin"}) {
    const Path path = Path(directory) / program;
    if (fs::exists(path)) return path;
  }
  return {};
}

class Installed : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    place_ = std::make_unique<Scratch>();
    Launch launch;
    launch.argv = {TORC_CMAKE, "--install", TORC_BUILD_DIR, "--prefix", prefix()};
    launch.directory = place_->path();
    const Ended ended = run(launch);
    ASSERT_EQ(ended.exit_code, 0) << ended;
  }
  static void TearDownTestSuite() { place_.reset(); }

  static Path prefix() { return place_->path() / "opt"; }
  [[nodiscard]] Ended torc(std::vector<std::string> arguments,
                           const Path& program = prefix() / "bin/torc") const {
    Launch launch = here_.torc(std::move(arguments));
    launch.argv.front() = program;
    launch.env["XDG_CONFIG_HOME"] = here_.path() / "config";
    return run(launch);
  }
  // In the scratch directory.
  [[nodiscard]] Ended other(std::vector<std::string> argv) const {
    Launch launch;
    launch.argv = std::move(argv);
    launch.directory = here_.path();
    launch.env["MANWIDTH"] = "100";
    launch.env["LC_ALL"] = "C.UTF-8";
    launch.env["TERM"] = "dumb";
    return run(launch);
  }

  static std::unique_ptr<Scratch> place_;
  Workplace here_;
};
std::unique_ptr<Scratch> Installed::place_;

TEST_F(Installed, the_program_runs_from_there_and_has_its_files_beside_it) {
  const Ended version = torc({"--version"});
  EXPECT_EQ(version.exit_code, 0) << version;
  EXPECT_TRUE(version.out.starts_with("torc ")) << version;
  for (const char* file :
       {"man/man1/torc.1", "bash-completion/completions/torc", "zsh/site-functions/_torc",
        "fish/vendor_completions.d/torc.fish", "torc/templates/worker.sbatch", "doc/torc/README.md",
        "doc/torc/CHANGELOG.md", "doc/torc/LICENSE"})
    EXPECT_FALSE(read_text(prefix() / "share" / file).empty()) << file;
  EXPECT_TRUE(fs::is_directory(prefix() / "share/doc/torc/docs"));
  const Path schemas = Path(TORC_SOURCE_DIR) / "docs/schema";
  if (fs::exists(schemas)) {
    EXPECT_EQ(contents(prefix() / "share/torc/schema").size(), contents(schemas).size());
  }
}

TEST_F(Installed, the_help_of_an_installed_program_is_that_of_the_built_one) {
  EXPECT_EQ(read_text(prefix() / "share/bash-completion/completions/torc"),
            here_.run({"completion", "bash"}).out);
  EXPECT_EQ(read_text(prefix() / "share/fish/vendor_completions.d/torc.fish"),
            here_.run({"completion", "fish"}).out);
}

TEST_F(Installed, each_command_has_a_page_and_no_page_is_of_another) {
  std::vector<std::string> expected{"torc.1"};
  for (const cli::CommandHelp& command : all_commands())
    expected.push_back(cli::man_page_name(command) + ".1");
  std::vector<std::string> pages;
  for (const auto& entry : fs::directory_iterator(prefix() / "share/man/man1"))
    pages.push_back(entry.path().filename());
  std::sort(expected.begin(), expected.end());
  std::sort(pages.begin(), pages.end());
  EXPECT_GT(pages.size(), 30U);
  EXPECT_EQ(pages, expected);
}

TEST_F(Installed, the_pages_are_set_without_a_warning_and_show_every_flag) {
  const std::string groff = which("groff");
  if (groff.empty()) GTEST_SKIP() << "there is no groff";
  for (const cli::CommandHelp& command : all_commands()) {
    const Path page = prefix() / "share/man/man1" / (cli::man_page_name(command) + ".1");
    const Ended set = other({groff, "-ww", "-man", "-Tutf8", "-P-cbou", page});
    EXPECT_EQ(set.exit_code, 0) << set;
    EXPECT_EQ(set.err, "") << page;
    for (const cli::FlagHelp& flag : command.flags)
      for (const std::string& name : flag.names)
        EXPECT_NE(set.out.find(name), std::string::npos) << page << ": " << name << '\n' << set.out;
  }
}

TEST_F(Installed, man_finds_the_pages) {
  const std::string man = which("man");
  if (man.empty()) GTEST_SKIP() << "there is no man";
  const Ended found = other({man, "-M", prefix() / "share/man", "-w", "torc-logs-export"});
  EXPECT_EQ(found.out, (prefix() / "share/man/man1/torc-logs-export.1").string() + "\n") << found;
}

TEST_F(Installed, bash_completes_by_the_file_that_it_finds) {
  const Ended offered = other({"/bin/bash", "-c",
                               ". \"$0\"; COMP_WORDS=(torc init --engine j); COMP_CWORD=3; _torc; "
                               "echo \"${COMPREPLY[@]}\"",
                               prefix() / "share/bash-completion/completions/torc"});
  EXPECT_EQ(offered.out, "journal\n") << offered;
}

TEST_F(Installed, fish_completes_by_the_file_that_it_finds) {
  const std::string fish = which("fish");
  if (fish.empty()) GTEST_SKIP() << "there is no fish";
  const Ended offered =
      other({fish, "--no-config", "-c",
             "source " + (prefix() / "share/fish/vendor_completions.d/torc.fish").string() +
                 "; complete -C 'torc init --eng'"});
  EXPECT_TRUE(offered.out.starts_with("--engine\t")) << offered;
}

// Keys are typed as at a terminal; the line is accepted as an argument of a function that prints
// it.
TEST_F(Installed, zsh_completes_by_the_function_that_it_loads) {
  const std::string zsh = which("zsh");
  if (zsh.empty()) GTEST_SKIP() << "there is no zsh";
  const Path done = here_.path() / "done";
  here_.write("wf.yaml", "");
  const Path script = here_.write("type.zsh",
                                  "zmodload zsh/zpty\nzpty shell zsh -f -i\n"
                                  "zpty -w shell 'fpath=($1/share/zsh/site-functions $fpath); "
                                  "autoload -U compinit && compinit -D -u'\n"
                                  "zpty -w shell 'torc() { print -r -- \"$*\" > $2; exit }'\n"
                                  "zpty -w -n shell $'torc init --engin\\t jour\\twf.y\\t\\n'\n"
                                  "while zpty -r shell line; do print -r -- $line; done\n");
  std::string text = read_text(script);
  const auto put = [&](const std::string& what, const std::string& value) {
    for (std::size_t at; (at = text.find(what)) != std::string::npos;)
      text.replace(at, what.size(), value);
  };
  put("$1", prefix().string());
  put("$2", done.string());
  write_text(script, text);
  const Ended typed = other({zsh, "-f", script});
  EXPECT_EQ(read_text(done), "init --engine journal wf.yaml\n") << typed;
}

TEST_F(Installed, batch_scripts_are_made_of_the_template_that_is_installed) {
  here_.write("wf.yaml",
              "name: wf\nslurm_schedulers:\n  - {name: cpu, account: proj}\n"
              "jobs:\n  - {name: only, command: \"true\", scheduler: cpu}\n");
  const Ended as_built = torc({"init", "wf.yaml", "--store", "a.torc"});
  ASSERT_EQ(as_built.exit_code, 0) << as_built;
  EXPECT_FALSE(as_built.says("its batch scripts are made of")) << as_built;
  const Path file = prefix() / "share/torc/templates/worker.sbatch";
  const std::string text = read_text(file);
  write_text(file, text + "# of this site\n");
  // However it is called, it is where it is.
  const Path link = here_.path() / "torc";
  fs::create_symlink(prefix() / "bin/torc", link);
  const Ended of_site = torc({"init", "wf.yaml", "--store", "b.torc"}, link);
  write_text(file, text);
  ASSERT_EQ(of_site.exit_code, 0) << of_site;
  EXPECT_SAYS(of_site, "its batch scripts are made of " + file.string() + "\n");
  EXPECT_TRUE(read_text(here_.path() / "b.torc/slurm/cpu.sbatch").ends_with("\n# of this site\n"));
}

// The words behind "torc" in a row of the table of docs: "logs export DIR", "hold NAME…".
std::vector<std::string> documented(const std::string& text) {
  std::vector<std::string> out;
  for (const std::string& line : lines_of(text)) {
    if (!line.starts_with("| `torc ")) continue;
    const std::string cell = line.substr(0, line.find(" | "));
    const std::regex command("`torc ([^`]*)`");
    for (std::sregex_iterator it(cell.begin(), cell.end(), command), end; it != end; ++it)
      out.push_back((*it)[1]);
  }
  return out;
}

TEST(Commands, are_all_in_the_list_of_the_documents_with_flags_that_they_have) {
  const auto rows = documented(read_text(Path(TORC_SOURCE_DIR) / "docs/user/commands.md"));
  ASSERT_GT(rows.size(), 30U);
  for (const cli::CommandHelp& command : all_commands()) {
    const auto is_of = [&](const std::string& row) {
      return (row + " ").starts_with(command.name + " ");
    };
    EXPECT_TRUE(std::any_of(rows.begin(), rows.end(), is_of)) << command.name;
    for (const std::string& row : rows) {
      if (!is_of(row)) continue;
      const std::regex flag("(^|[ \\[|])(--?[a-z][a-z-]*)");
      for (std::sregex_iterator it(row.begin(), row.end(), flag), end; it != end; ++it) {
        EXPECT_TRUE(std::any_of(command.flags.begin(), command.flags.end(), [&](const auto& f) {
          return std::find(f.names.begin(), f.names.end(), (*it)[2]) != f.names.end();
        })) << row;
      }
    }
  }
  for (const std::string& row : rows) {
    const std::string name = row.substr(0, row.find(' '));
    const auto commands = all_commands();
    EXPECT_TRUE(std::any_of(commands.begin(), commands.end(), [&](const auto& c) {
      return c.name == name;
    })) << row;
  }
}

}  // namespace
}  // namespace torc::itest
