#!/usr/bin/env bash
# Compares the rooms and arrows that are built with those in docs/architecture.md, and every #include and every symbol
# with the arrows.
#   rooms.sh BUILD   exit code 1: they differ
set -euo pipefail
cd "$(dirname "$0")/.."
build=${1:?the build directory}
built=$(sort "$build/rooms.txt")
drawn=$(sed -n '/^```rooms$/,/^```$/p' docs/architecture.md | grep -v '^```' | sort)
failed=0
if [[ $built != "$drawn" ]]; then
  echo 'docs/architecture.md draws other rooms than are built (<: drawn, >: built):'
  diff <(echo "$drawn") <(echo "$built") || true
  failed=1
fi

# A header that is included from a room without an arrow to it links, as long as nothing of its .cc is used.
python3 - "$build/rooms.txt" <<'PYTHON' || failed=1
import pathlib, re, subprocess, sys

arrows = {}
for line in open(sys.argv[1]):
    room, _, below = line.partition(' ->')
    arrows[room] = set(below.split())

def reach(room, seen):
    for below in arrows.get(room, ()):
        if below not in seen:
            seen.add(below)
            reach(below, seen)
    return seen

# lib/store/disk is store_disk; a folder that is no room of its own belongs to the one above it.
def room_of(path):
    parts = path.parts[1:-1] if path.parts[0] == 'lib' else ('bin',)
    while parts:
        if '_'.join(parts) in arrows:
            return '_'.join(parts)
        parts = parts[:-1]

wrong = 0
for top in ('lib', 'bin'):
    for path in sorted(pathlib.Path(top).rglob('*')):
        if path.suffix not in ('.h', '.cc') or path.name.endswith('_test.cc') or path.name.startswith('test_') \
                or path.name.endswith('_fixture.h'):
            continue
        room = room_of(path)
        allowed = reach(room, {room})
        for include in re.findall(r'^#include "((?:lib|bin)/[^"]+)"', path.read_text(), re.M):
            other = room_of(pathlib.Path(include))
            if other not in allowed:
                print(f'{path} includes {include}: there is no arrow from {room} to {other}')
                wrong += 1

# A function that a lower room declares and a higher one defines links as well, by the order of the libraries.
build = pathlib.Path(sys.argv[1]).parent
defined, needed = {}, {}
for archive in sorted((build / 'lib').rglob('libtorc_*.a')):
    room = archive.stem[len('libtorc_'):]
    # A group of rooms has no library of its own: this one is of an earlier layout.
    if room not in arrows or any(below.startswith(room + '_') for below in arrows[room]):
        continue
    for line in subprocess.run(['nm', '-P', archive], capture_output=True, text=True, check=True).stdout.splitlines():
        symbol, _, kind = line.partition(' ')
        if kind.startswith('U'):
            needed.setdefault(symbol, set()).add(room)
        elif kind[:1] in tuple('TDBR'):
            defined.setdefault(symbol, room)
for symbol, rooms in sorted(needed.items()):
    for room in sorted(rooms):
        if symbol in defined and defined[symbol] not in reach(room, {room}):
            print(f'{room} uses {symbol}, which {defined[symbol]} defines: there is no arrow to it')
            wrong += 1
sys.exit(1 if wrong else 0)
PYTHON
exit $failed
