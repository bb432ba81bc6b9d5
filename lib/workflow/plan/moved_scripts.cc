#include "lib/workflow/plan/moved_scripts.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "lib/base/file/beneath.h"
#include "lib/base/text/quote.h"
#include "lib/base/text/text.h"
#include "lib/store/disk/disk.h"
#include "lib/workflow/plan/kept_launcher.h"

namespace torc::workflow {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kStoreLine = "export TORC_STORE=";
constexpr const char* kSlurmFolder = "slurm";

// As the line of a script has it.
std::string unquoted(std::string_view word) {
  if (word.size() < 2 || word.front() != '\'' || word.back() != '\'') return std::string(word);
  return std::string(word.substr(1, word.size() - 2));
}

// What stands in scripts as it is, also where it is quoted or a pattern.
bool is_plain(const Path& path) {
  const std::string& text = path.native();
  return shell_word(text) == text && text.find_first_of("%\\") == std::string::npos;
}

bool is_of_name(char c) {
  return is_letter(c) || is_digit(c) || c == '.' || c == '_' || c == '-' || c == '+';
}

Result<void> mend(const Context& context, const Path& store, const Path& name, bool& mended) {
  store::Disk& disk = context.world.disk;
  const auto text = store::read_file(disk, store / name);
  if (!text) return {};  // one that torc did not write, such as a link
  const Path before = other_store_of(*text, store);
  if (before.empty()) return {};
  auto other = with_other_place(*text, before, store);
  if (!other) {
    Error error = std::move(other).error();
    error.what = fmt::format("{} starts workers for {}, and not for {}: {}",
                             printable((store / name).string()), printable(before.string()),
                             printable(store.string()), error.what);
    return error;
  }
  Path fresh = store / name;
  fresh += ".new";
  (void)disk.unlink(fresh);
  TORC_TRY(store::write_file(disk, fresh, *other, store::Durable::yes));
  TORC_TRY(disk.rename(fresh, store / name, store::Replace::yes));
  mended = true;
  return {};
}

}  // namespace

Path other_store_of(std::string_view script, const Path& store) {
  for (const std::string_view line : split(script, '\n')) {
    if (!line.starts_with(kStoreLine)) continue;
    const Path named = unquoted(trimmed(line.substr(kStoreLine.size()), " \t\r"));
    std::error_code error;
    const bool same = !named.is_absolute() || named == store || fs::equivalent(named, store, error);
    return same ? Path() : named;
  }
  return {};
}

Result<std::string> with_other_place(std::string_view script, const Path& before, const Path& now) {
  if (!is_plain(before) || !is_plain(now)) {
    return Error{ErrorKind::unsupported,
                 "a path with characters that scripts quote is not replaced in them",
                 "edit the script, or make the store anew where it is (`torc init --force`)"};
  }
  const std::string& old = before.native();
  std::string out;
  std::size_t done = 0;
  for (std::size_t at = script.find(old); at != std::string_view::npos;
       at = script.find(old, at + 1)) {
    const std::size_t end = at + old.size();
    const bool begins = at == 0 || (!is_of_name(script[at - 1]) && script[at - 1] != '/');
    const bool ends = end == script.size() || !is_of_name(script[end]);
    if (!begins || !ends || at < done) continue;
    out.append(script.substr(done, at - done)).append(now.native());
    done = end;
  }
  return out.append(script.substr(done));
}

Result<std::size_t> mend_scripts(const Context& context, const Path& store) {
  std::size_t mended = 0;
  const beneath::Root root(store);
  for (const auto& [folder, ending] :
       {std::pair(kSlurmFolder, ".sbatch"), std::pair(kLauncherFolder, ".sh")}) {
    auto names = beneath::list(root, folder);
    if (!names) continue;  // most stores have none
    std::ranges::sort(*names);
    for (const std::string& name : *names) {
      if (Path(name).extension() != ending) continue;
      bool one = false;
      TORC_TRY(mend(context, store, Path(folder) / name, one));
      mended += one ? 1 : 0;
    }
  }
  return mended;
}

}  // namespace torc::workflow
