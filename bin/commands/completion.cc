// torc completion: what the command line says of itself, as a script for a shell.
#include <cstdint>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "bin/cli.h"
#include "bin/commands/commands.h"
#include "bin/commands/job_completion.h"
#include "bin/commands/selection.h"
#include "bin/flags.h"
#include "bin/help/completion.h"
#include "bin/locate.h"

namespace torc::cli {
namespace {

struct CompletionOptions {
  std::string shell;
  std::vector<std::string> words;  // for kWords: the one that is typed, then those before it
};

constexpr const char* kWords = "words";

// A shell waits: to see which store is that of a very long workflow file takes too long.
bool is_long_file(const App& app, const std::string& word) {
  constexpr std::uintmax_t kLong = 1U << 20U;
  std::error_code error;
  const auto size = std::filesystem::file_size(app.directory / word, error);
  return !error && size > kLong;
}

// One a line. Nothing, where there is no store that can be read.
Result<Exit> offer_words(const App& app, const std::vector<std::string>& words) {
  const std::string typed = words.empty() ? "" : words.front();
  std::string store;
  for (const std::string& word : words) {
    if (&word != &words.front() && store.empty() && names_a_store(app, word)) store = word;
  }
  if (!store.empty() && is_long_file(app, store)) return Exit::ok;
  const auto path = locate_store(app, store);
  if (!path) return Exit::ok;
  const auto opened = store::Store::open(app.world, *path, store::Tuning{});
  if (!opened) return Exit::ok;
  std::vector<std::string> found;
  (void)(*opened)->view(store::Freshness::cached, [&](const claim::Reader& reader) -> Result<void> {
    TORC_ASSIGN(found, job_candidates(reader, typed, app.clock));
    return {};
  });
  for (const std::string& word : found) say(app.out, "{}\n", word);
  return Exit::ok;
}

Result<Exit> run(const App& app, const CompletionOptions& options) {
  if (options.shell == kWords) return offer_words(app, options.words);
  TORC_ASSIGN(const auto script,
              completion_script(options.shell, describe_command_line().commands));
  say(app.out, "{}", script);
  return Exit::ok;
}

}  // namespace

void add_completion(Command& c) {
  auto& o = c.options<CompletionOptions>();
  c.about("Print a script that completes torc's command line");
  c.argument("SHELL", o.shell,
             "bash, zsh or fish: source <(torc completion bash); words: the jobs and stages that "
             "may stand for the first WORD, behind the others")
      .required()
      .choices({"bash", "zsh", "fish", kWords});
  c.argument("WORD", o.words, "the word that is typed, and those before it").value("[WORD…]");
  c.run([&o](const App& app) { return run(app, o); });
}

}  // namespace torc::cli
