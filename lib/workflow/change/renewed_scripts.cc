#include "lib/workflow/change/renewed_scripts.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "lib/store/disk/disk.h"
#include "lib/workflow/context/spec_text.h"
#include "lib/workflow/plan/batch_scripts.h"

namespace torc::workflow {
namespace {

Result<void> replace(store::Disk& disk, const Path& path, const std::string& text) {
  Path fresh = path;
  fresh += fmt::format(".{}.new", ::getpid());  // another one may be at it
  (void)disk.unlink(fresh);
  TORC_TRY(store::write_file(disk, fresh, text, store::Durable::yes));
  return disk.rename(fresh, path, store::Replace::yes);
}

// None where the copy, or what it names, cannot be read any more.
std::vector<BatchScript> scripts_before(const Context& context, const Path& store,
                                        const LoadedSpec& loaded) {
  const auto text = store::read_file(context.world.disk, spec_copy_in(context, store));
  if (!text) return {};
  const LoadedSpec before = load_spec_text(context, loaded.file, *text);
  if (!before.workflow) return {};
  auto scripts = render_scripts(context, before, store, "");
  return scripts ? std::move(scripts->all) : std::vector<BatchScript>();
}

}  // namespace

Result<RenewedScripts> renew_scripts(const Context& context, const Path& store,
                                     const LoadedSpec& loaded) {
  RenewedScripts done;
  store::Disk& disk = context.world.disk;
  TORC_ASSIGN(const BatchScripts now, render_scripts(context, loaded, store, ""));
  if (now.all.empty()) return done;
  const std::vector<BatchScript> before = scripts_before(context, store, loaded);
  for (const BatchScript& script : now.all) {
    const auto there = store::read_file(disk, store / script.file);
    if (there && *there == script.text) continue;
    const auto old = std::ranges::find(before, script.file, &BatchScript::file);
    const bool is_new = !there && there.error().kind == ErrorKind::not_found;
    const bool is_ours = there && old != before.end() && old->text == *there;
    if (is_new || is_ours) {
      if (is_new) {
        const auto made = disk.make_directory(store / script.file.parent_path());
        if (!made && made.error().kind != ErrorKind::exists) return made.error();
      }
      TORC_TRY(replace(disk, store / script.file, script.text));
      done.written.push_back(script.file.string());
    } else if (old == before.end() || old->text != script.text) {
      done.left.push_back(script.file.string());
    }
  }
  return done;
}

}  // namespace torc::workflow
