/* The commit protocol of engine `journal`, for spin. README.md beside this says what is modelled and how it is run.
 *
 * One atomic step of a process is one effect on, or one look at, what is shared. Between two steps every other
 * process may do anything: a process that is not scheduled is frozen. There is no clock and no lock.
 * What is marked ghost is known to the assertions alone.
 */

#ifndef WRITERS
#define WRITERS 2    /* nodes, at most 4: each has a replica and a process that commits, crashes, is started again */
#endif
#ifndef OPS
#define OPS 2        /* transactions of the first */
#endif
#ifndef OTHERS
#define OTHERS 1     /* transactions of each other one */
#endif
#ifndef NUMBERS
#define NUMBERS 3    /* sequence numbers 1 … NUMBERS, at most 6 */
#endif
#ifndef PER_DIR
#define PER_DIR 1    /* numbers to a directory */
#endif
#ifndef RING
#define RING 2       /* commit ids that a state remembers */
#endif
#ifndef LOST
#define LOST 1       /* replies that are lost, requests that arrive late or twice */
#endif
#ifndef FAILED
#define FAILED 1     /* other operations that fail */
#endif
#ifndef CRASHES
#define CRASHES 1
#endif
#ifndef SNAPSHOTS
#define SNAPSHOTS 2
#endif
#ifndef LIES
#define LIES 0       /* 1: some directory has a segment of another history from the start */
#endif

#ifdef OLD_LISTINGS
#define OLDEST 0     /* a listing of snapshot/ may be as old as it likes, and no retention is enough for it */
#else
#define OLDEST floor
#endif
#ifdef ANY_ORDER
#define NOT_BEFORE_OTHERS(x) true
#else
#define NOT_BEFORE_OTHERS(x) ((dirs & (BIT(x) - 1)) == 0)  /* lower ones first */
#endif

#define IDS (OPS + (WRITERS - 1) * OTHERS)
#define FIRST (IDS + 1)  /* the commit that the store was made with: number 1 */
#define NOBODY 0
#define HOLLOW 255   /* the name exists with nothing inside: an empty directory (primitive rename-dir) */
#define BIT(x) (1 << (x))
#define HAS(set, x) (((set) >> (x)) & 1)
#define DIR_OF(n) ((n) / PER_DIR)
#define LAST_OF_DIR(n) ((n) % PER_DIR == PER_DIR - 1)
#define GONE(n) ((n) <= NUMBERS && !HAS(dirs, DIR_OF(n)))
#define IS_FILE(n) (name_at[n] != NOBODY && name_at[n] != HOLLOW)

/* --- the shared filesystem */
short dirs = (PER_DIR > 1) * BIT(0) | BIT(DIR_OF(1)) | BIT(DIR_OF(2));  /* directories of journal/ */
byte name_at[NUMBERS + 1];             /* whose commit file has the number: a commit id, NOBODY or HOLLOW */
short snapshots;                       /* numbers in snapshot/ */
short snapshots_ever;                  /* an old listing shows what was there */
byte floor;                            /* a number that collectors have known to be covered for the retention */
/* Directories of which a segment is there. One that says the same as the files changes nothing as long as these are
 * there, so it appears when they go. */
short segments;
short lying;                           /* … and continues the chain with commits that are not of it */

/* --- requests under way to the server */
byte source[IDS + 1];                  /* temporary of a commit: 0 none, 1 whole, 2 an empty directory */
byte late_link[IDS + 1];               /* the number that a request in flight asks for */
short late_dirs = BIT(DIR_OF(2));      /* what made that directory was sent twice */

/* --- replicas: up to which number each holds the chain. What it holds needs no variable: committed() asserts that
 *     it is the chain. */
byte replica[WRITERS] = 1;

/* --- budgets */
byte lost = LOST, failed = FAILED, crashes = CRASHES, snapshots_left = SNAPSHOTS;

/* --- ghosts */
byte chain[NUMBERS + 1];               /* the first content of each number */
byte verdict[IDS + 1];                 /* what the caller was told of a commit; a crash and `unknown` leave it open */
#define ACKNOWLEDGED 1
#define REFUSED 2                      /* "surely not committed" */

/* --- what a call found */
#define DONE 1
#define TAKEN 2
#define ABSENT 3        /* an error, and nothing has the name */
#define NO_DIRECTORY 4  /* the same with ENOENT */
#define EIO 5

byte i, a, b;           /* scratch: 0 between steps */

/* Nothing needed is gone: the state can be had from the newest snapshot and the files after it, and from the second
 * newest and files or segments. */
inline assert_nothing_lost() {
  i = NUMBERS;
  do  /* a: the newest, b: the second newest, or 0 */
  :: i > 0 && HAS(snapshots, i) && a == 0 -> a = i; i--
  :: i > 0 && HAS(snapshots, i) && a != 0 -> b = i; break
  :: i > 0 && !HAS(snapshots, i) -> i--
  :: i == 0 -> break
  od;
  i = b + 1;
  do
  :: i <= NUMBERS && chain[i] != NOBODY ->
     assert(name_at[i] == chain[i] || (i <= a && HAS(segments & ~lying, DIR_OF(i)))); i++
  :: else -> break
  od;
  i = 0; a = 0; b = 0
}

/* i: the number that a commit has in the chain, NUMBERS + 1 when it has none. */
inline find_in_chain(id) {
  i = 1;
  do
  :: i <= NUMBERS && chain[i] != id -> i++
  :: else -> break
  od
}

/* The server gives number n to the temporary of commit id. */
inline give_name(n, id, result) {
  if
  :: source[id] == 0 || !HAS(dirs, DIR_OF(n)) -> result = NO_DIRECTORY
#ifndef NO_PUT_IF_ABSENT
  :: source[id] != 0 && HAS(dirs, DIR_OF(n)) && IS_FILE(n) -> result = EIO
#endif
  :: else ->
     result = DONE;
     name_at[n] = (source[id] == 1 -> id : HOLLOW);
#ifdef RENAME_DIR
     source[id] = 0;
#endif
     if
     :: name_at[n] == id && chain[n] == NOBODY ->
        assert(n == 1 || chain[n - 1] != NOBODY);
        assert(verdict[id] != REFUSED);
        find_in_chain(id);
        assert(i > NUMBERS);                    /* once, not twice */
        chain[n] = id
     :: else
     fi;
     assert_nothing_lost()
  fi
}

/* A listing of snapshot/: its highest number. It may be old, but shows what was there a retention ago. */
inline list_snapshots() {
  newest = NUMBERS;
  do
  :: newest > 0 && HAS(snapshots_ever, newest) -> break
  :: newest > OLDEST -> newest--
  :: newest == 0 -> break
  od;
  known = (newest > known -> newest : known)
}

/* The same asked anew, past what the client remembers: it has made and removed a name there itself. */
inline list_snapshots_anew() {
  newest = NUMBERS;
  do
  :: newest > 0 && !HAS(snapshots, newest) -> newest--
  :: else -> break
  od;
  known = (newest > known -> newest : known)
}

/* Is the file of number m there, and that commit? Through an old handle it can be seen after its directory was renamed
 * away, but not when a number after it has been free: files are deleted in ascending order. So this look is exact. */
#define STANDS(m) ((m) == 0 || (HAS(dirs, DIR_OF(m)) && name_at[m] == chain[m]))

/* highest: the last number that a listing of the directory of after + 1 shows, `after` when nothing new. It may be
 * old: what it shows is a beginning of what there is. */
inline list_directory(after) {
  highest = after;
  do
  :: highest < NUMBERS && DIR_OF(highest + 1) == DIR_OF(after + 1) && name_at[highest + 1] != NOBODY -> highest++
  :: break
  od
}

/* highest: the last number that there seems to be, `after` when nothing new. A directory that is full or gone tells
 * nothing of what follows; the newest directory does, or, while it is empty, the one before it: it is made before the
 * last commit of that one gets its name. Each listing may be old. All of it is one step here. */
inline survey(after) {
  highest = after;
  if
  :: after < NUMBERS && HAS(dirs, DIR_OF(after + 1)) -> list_directory(after)
  :: else
  fi;
  if
  :: after < NUMBERS && (!HAS(dirs, DIR_OF(after + 1)) || (highest > after && LAST_OF_DIR(highest))) ->
     a = DIR_OF(NUMBERS);
     do  /* a: the newest directory that is shown */
     :: a > DIR_OF(after + 1) && HAS(dirs, a) -> break
     :: a > DIR_OF(after + 1) -> a--
     :: a <= DIR_OF(after + 1) -> a = 0; break
     od;
     i = a * PER_DIR;  /* i: the first number that it does not show */
     do
     :: a > 0 && i <= NUMBERS && DIR_OF(i) == a && name_at[i] != NOBODY -> i++
     :: break
     od;
#ifndef NEXT_DIRECTORY_MEANS_FULL
     if
     :: a > 0 && i == a * PER_DIR && HAS(dirs, a - 1) ->
        i = (a - 1) * PER_DIR;
        do
        :: i < a * PER_DIR && (i == 0 || name_at[i] != NOBODY) -> i++
        :: break
        od
     :: else
     fi;
#endif
     highest = (a > 0 && i > highest + 1 -> i - 1 : highest);
     i = 0; a = 0
  :: else
  fi
}

/* Who has number n? In a directory that was renamed away an old handle may show anything. */
inline look(n, id, result) {
  if
  :: !HAS(dirs, DIR_OF(n)) -> result = ABSENT
#ifndef NO_OLD_HANDLES
  :: !HAS(dirs, DIR_OF(n)) -> result = DONE
  :: !HAS(dirs, DIR_OF(n)) -> result = TAKEN
#endif
  :: HAS(dirs, DIR_OF(n)) -> result = (!IS_FILE(n) -> ABSENT : (name_at[n] == id -> DONE : TAKEN))
  fi
}

/* The replica goes to number n, of which it was told that this is the chain. */
inline committed(n) {
  assert(n == 0 || chain[n] != NOBODY);
  replica[w] = n
}

#define OR_CRASH  :: crashes > 0 -> crashes--; goto crashed
#define OR_FAIL   :: failed > 0 -> failed--;
#define OR_LOSE   :: lost > 0 -> lost--;

#define SEG_MAY 0
#define SEG_USED 1
#define SEG_NOT 2
/* What segments said decides nothing: the same again without. */
#define UNLESS_SEGMENTS(label) seg == SEG_USED -> seg = SEG_NOT; goto catch_up \
    :: else -> goto label
#ifdef NEWEST_FROM_SEGMENT
#define IN_SEGMENTS_UP_TO highest
#else
#define IN_SEGMENTS_UP_TO (highest - 1)  /* the newest is always read from its own file */
#endif

proctype writer(byte w) {
  byte op, id, n, at, highest, newest, known, result;
  bit stray, ring, gap;
  byte seg;  /* of this catch-up: SEG_MAY be used, SEG_USED, SEG_NOT any more */

idle:
  atomic {
    if
    :: op == (w == 0 -> OPS : OTHERS) -> goto end
    :: else
    fi;
    op++; id = (w == 0 -> 0 : OPS + (w - 1) * OTHERS) + op;
    if
    :: goto catch_up
    :: goto plan                                /* optimistic: the plan is as old as the replica */
    fi
  };

/* --- ChainWriter::publish, Journal::publish */
plan:
  atomic {
    n = replica[w] + 1; result = DONE;
    newest = 0; known = 0; highest = 0; at = 0; stray = 0; gap = 0;
    if
    :: n > NUMBERS -> goto over                 /* the end of the model */
    :: n < NUMBERS && LAST_OF_DIR(n) ->
       if
       :: dirs = dirs | BIT(DIR_OF(n + 1))
       OR_LOSE dirs = dirs | BIT(DIR_OF(n + 1)); result = ABSENT
       OR_LOSE late_dirs = late_dirs | BIT(DIR_OF(n + 1)); result = ABSENT
       OR_LOSE dirs = dirs | BIT(DIR_OF(n + 1)); late_dirs = late_dirs | BIT(DIR_OF(n + 1))  /* sent twice */
       OR_CRASH
       fi
    :: n == NUMBERS || (n < NUMBERS && !LAST_OF_DIR(n))
    fi;
    if
    :: result == ABSENT -> goto rule_of_writer
    :: else -> goto prepare
    fi
  };

/* --- Publisher::publish */
prepare:
  atomic {
    if
    :: HAS(dirs, DIR_OF(n)) -> source[id] = 1
    :: !HAS(dirs, DIR_OF(n)) -> result = NO_DIRECTORY; goto rule_of_writer
#ifndef NO_OLD_HANDLES
    :: !HAS(dirs, DIR_OF(n)) -> source[id] = 1  /* through an old handle */
#endif
    OR_FAIL result = ABSENT; goto rule_of_writer
    OR_CRASH
    fi;
    goto name
  };
name:
  atomic {
    if
    :: give_name(n, id, result)
#ifndef NO_OLD_HANDLES
    :: !HAS(dirs, DIR_OF(n)) -> result = DONE   /* through an old handle: nobody else will see it */
#endif
    OR_LOSE give_name(n, id, result); result = EIO
    OR_LOSE late_link[id] = n; result = EIO
    OR_LOSE give_name(n, id, result); late_link[id] = n                                       /* sent twice */
    OR_CRASH
    fi;
    i = 0;
    if
    :: result == DONE -> goto make_durable
    :: else -> at = (result == NO_DIRECTORY -> 1 : 0); goto settle
    fi
  };
settle:
  atomic {
    if
    :: look(n, id, result)
    OR_FAIL goto unknown
    OR_CRASH
    fi;
    if
    :: result == DONE -> at = 0; goto make_durable
    :: result == TAKEN -> at = 0; goto discard_for_taken
    :: result == ABSENT ->
#ifdef NO_DISCARD
       goto look_again
#else
       goto discard
#endif
    fi
  };
discard:
  atomic {
    if
#ifdef DISCARD_IN_TWO_STEPS
    :: source[id] == 1 -> source[id] = 2; goto discard
    :: source[id] != 1 -> source[id] = 0
#else
    :: source[id] = 0
#endif
    OR_FAIL goto unknown
    OR_CRASH
    fi;
    goto look_again
  };
look_again:
  atomic {
    if
    :: look(n, id, result)
    OR_FAIL goto unknown
    OR_CRASH
    fi;
    if
    :: result == ABSENT && at == 1 -> result = NO_DIRECTORY
    :: else
    fi;
    at = 0;
    if
    :: result == DONE -> goto make_durable
    :: result == TAKEN -> goto discard_for_taken
    :: else -> goto rule_of_writer
    fi
  };
discard_for_taken:
  atomic {
    if
    :: source[id] = 0
    OR_FAIL skip                                /* the temporary stays */
    OR_CRASH
    fi;
    goto rule_of_writer
  };
make_durable:                                   /* and delete the temporary */
  atomic {
    if
    :: source[id] = 0
    OR_FAIL goto unknown
    OR_CRASH
    fi;
    goto rule_of_writer
  };

/* --- ChainWriter::settle: has the number been covered by a snapshot? */
rule_of_writer:
  atomic {
#ifdef TAKEN_IS_A_CONFLICT
    if
    :: result == TAKEN -> goto catch_up
    :: else
    fi;
#endif
#ifndef NO_RULE_OF_WRITER
    if
    :: list_snapshots()
#ifdef ABSENT_IS_SURE
    :: failed > 0 && result == DONE -> failed--; goto unknown
    :: failed > 0 && result != DONE -> failed--; goto refused
#else
    OR_FAIL goto unknown
#endif
    OR_CRASH
    fi;
#endif
    if
    :: newest >= n -> ring = 1; goto catch_up
#ifdef NO_EVIDENCE_OF_WRITER
    :: newest < n && result == TAKEN -> goto catch_up
    :: newest < n && result == ABSENT -> goto refused
    :: newest < n && result == NO_DIRECTORY -> goto make_this_directory
    :: newest < n && result == DONE -> goto commit_replica
#else
#ifdef EVIDENCE_FOR_SUCCESS_ALONE
    :: newest < n && result == TAKEN -> goto catch_up
    :: newest < n && result == ABSENT -> goto refused
    :: newest < n && (result == DONE || result == NO_DIRECTORY) -> goto standing
#else
    :: newest < n -> goto standing
#endif
#endif
    fi
  };
standing:                                       /* standing_of, the file of the commit before */
  atomic {
    if
    :: STANDS(n - 1) && result == DONE -> goto commit_replica
    :: STANDS(n - 1) && result == TAKEN -> goto catch_up
    :: STANDS(n - 1) && result == ABSENT -> goto refused
    :: !STANDS(n - 1) || result == NO_DIRECTORY -> goto standing_anew
    OR_FAIL goto unknown
    OR_CRASH
    fi
  };
standing_anew:                                  /* standing_without_file, without_directory */
  atomic {
    if
    :: list_snapshots_anew()
    OR_FAIL goto unknown
    OR_CRASH
    fi;
    if
    :: newest >= n -> ring = 1; goto catch_up
    :: newest < n ->
       assert(newest == n - 1 || STANDS(n - 1));  /* never "lost" of a journal that nobody damaged */
       if
       :: result == DONE -> goto commit_replica
       :: result == TAKEN -> goto catch_up
       :: result == ABSENT -> goto refused
       :: result == NO_DIRECTORY && n % PER_DIR == 0 -> goto make_this_directory
       :: result == NO_DIRECTORY && n % PER_DIR != 0 -> goto refused  /* try again */
       fi
    fi
  };
make_this_directory:
  atomic {
    if
    :: dirs = dirs | BIT(DIR_OF(n))
    OR_CRASH
    fi;
    goto catch_up
  };
commit_replica:
  atomic {
    if
    :: assert(chain[n] == id); committed(n)
    OR_CRASH
    fi;
    goto acknowledge
  };

/* --- CatchUp::run */
catch_up:
  atomic {
    result = 0; newest = 0; highest = 0; at = 0; stray = 0;
    if
    :: survey(replica[w])
    OR_FAIL goto cannot_catch_up
    OR_CRASH
    fi;
    gap = (GONE(replica[w] + 1) -> 1 : gap);     /* no second look before a reload */
    if
    :: highest == replica[w] && GONE(replica[w] + 1) -> gap = 0; highest = 0; goto reload
    :: highest == replica[w] && !GONE(replica[w] + 1) -> highest = 0; goto caught_up  /* a young view, or a clock that says so */
    :: highest == replica[w] && !GONE(replica[w] + 1) -> highest = 0; goto old_view
    :: highest > replica[w] -> at = replica[w]; goto read_next
    fi
  };
old_view:
  atomic {
    if
    :: list_snapshots()
    OR_FAIL goto cannot_catch_up
    OR_CRASH
    fi;
    if
    :: known <= replica[w] -> goto caught_up
    :: else -> goto reload
    fi
  };
read_next:                                      /* apply_segments, apply_run */
  atomic {
    if
    :: seg != SEG_NOT && at < IN_SEGMENTS_UP_TO && HAS(segments, DIR_OF(at + 1)) && !stray ->
       at++; stray = HAS(lying, DIR_OF(at)); seg = SEG_USED
    :: !IS_FILE(at + 1) ->
       if
       :: seg == SEG_USED -> seg = SEG_NOT; goto catch_up
       :: seg != SEG_USED && gap == 0 -> gap = 1; goto catch_up
       :: seg != SEG_USED && gap == 1 -> gap = 0; goto reload
       fi
    :: IS_FILE(at + 1) && stray ->              /* it does not continue what came before it */
       if
       :: UNLESS_SEGMENTS(reload)
       fi
    :: IS_FILE(at + 1) && !stray -> at++; stray = (name_at[at] != chain[at])
    OR_CRASH
    fi;
    if
    :: at < highest -> goto read_next
    :: else ->
#ifdef NO_RULE_OF_READER
       goto commit_caught_up
#else
#ifdef NO_EVIDENCE_OF_READER
       goto rule_of_reader
#else
       if
       :: replica[w] > 0 && STANDS(replica[w]) -> goto commit_caught_up
       :: else -> goto rule_of_reader
       fi
#endif
#endif
    fi
  };
rule_of_reader:
  atomic {
    if
#ifdef NO_EVIDENCE_OF_READER
    :: list_snapshots()
#else
    :: replica[w] == 0 -> list_snapshots()
    :: replica[w] > 0 -> list_snapshots_anew(); assert(newest >= replica[w])
#endif
    OR_FAIL goto cannot_catch_up
    OR_CRASH
    fi;
    if
    :: newest <= replica[w] || newest < at -> goto commit_caught_up
    :: newest > replica[w] && newest == at && !stray -> goto commit_caught_up
    :: newest > replica[w] && newest == at && stray ->      /* the hash in the snapshot's name says so */
       if
       :: UNLESS_SEGMENTS(reload)
       fi
    :: newest > replica[w] && newest > at -> goto list_further
    fi
  };
list_further:                                   /* the snapshot is ahead of what was listed: go on */
  atomic {
    if
    :: survey(at)
    OR_FAIL goto cannot_catch_up
    OR_CRASH
    fi;
    if
    :: highest == at ->
       if
       :: UNLESS_SEGMENTS(reload)
       fi
    :: else -> goto read_next
    fi
  };
commit_caught_up:
  atomic {
    if
    :: assert(!stray); committed(at); gap = 0; seg = (seg == SEG_USED -> SEG_MAY : seg)
    OR_CRASH
    fi;
    goto catch_up
  };
reload:                                         /* first: does a snapshot explain it? */
  atomic {
    result = 0; newest = 0; highest = 0; at = 0; stray = 0;
    if
    :: list_snapshots_anew()
    OR_FAIL goto cannot_catch_up
    OR_CRASH
    fi;
    /* "is missing or does not continue the history" is never said of a journal that nobody damaged */
    assert(known > replica[w]);
    goto list_again
  };
list_again:
  atomic {
    if
    :: list_snapshots()
    OR_FAIL goto cannot_catch_up
    OR_CRASH
    fi;
    if
    :: newest < known -> goto cannot_catch_up    /* older than what is known */
    :: else -> goto load
    fi
  };
load:
  atomic {
    if
    :: newest == 0 -> committed(0)
    :: newest > 0 && HAS(snapshots, newest) -> committed(newest)
    :: newest > 0 && !HAS(snapshots, newest) -> goto list_again  /* collected under us */
    OR_FAIL goto cannot_catch_up
    OR_CRASH
    fi;
    goto catch_up
  };
cannot_catch_up:
  atomic {
    seg = SEG_MAY;
    if
    :: ring -> goto unknown
    :: else -> goto refused
    fi
  };

/* --- ChainWriter::decide_by_ring */
caught_up:
  atomic {
    seg = SEG_MAY;
    if
    :: !ring -> goto plan
    :: ring && replica[w] >= n && replica[w] < n + RING ->
       ring = 0;
       if
       :: chain[n] == id -> goto acknowledge
       :: chain[n] != id && HAS(dirs, DIR_OF(n)) && name_at[n] == id -> goto remove_own_file
       :: else -> goto catch_up
       fi
#ifdef RING_WITHOUT_BOUND
    :: else -> ring = 0; goto catch_up
#else
    :: else -> goto unknown
#endif
    OR_CRASH
    fi
  };
remove_own_file:                                /* it sits on a number that was collected */
  atomic {
    if
    :: HAS(dirs, DIR_OF(n)) -> name_at[n] = NOBODY; assert_nothing_lost()
    :: !HAS(dirs, DIR_OF(n))
    OR_CRASH
    fi;
    goto catch_up
  };

acknowledge:
  atomic {
    if
    :: verdict[id] = ACKNOWLEDGED; find_in_chain(id); assert(i <= NUMBERS); i = 0
    OR_CRASH
    fi;
    goto over
  };
refused:
  atomic {
    verdict[id] = REFUSED; find_in_chain(id); assert(i > NUMBERS); i = 0;
    goto over
  };
unknown:
  atomic {
    if
    :: source[id] = 0
    :: true                                     /* the temporary stays */
    fi;
    goto over
  };

/* SIGKILL: the replica keeps what was committed to it, or the node is started anew and it is gone. */
crashed:
  atomic {
    if
    :: true
    :: replica[w] = 0
    fi;
    goto over
  };
over:
  atomic {
    n = 0; result = 0; newest = 0; known = 0; highest = 0; at = 0; stray = 0; ring = 0; gap = 0; seg = SEG_MAY;
    if
    :: late_link[id] == 0 -> source[id] = 0     /* nobody will ask for it any more */
    :: else
    fi;
    id = 0;
    goto idle
  };
end:
  skip
}

/* Snapshots, collection, late requests: what may happen at any time, by whomever. Authors and collectors that stood
 * still are covered, since all of this may happen as late as one likes. */
#define HELD(x) (replica[0] >= x || replica[1 % WRITERS] >= x || replica[2 % WRITERS] >= x || replica[3 % WRITERS] >= x)
#define NEWER_THAN(x) (snapshots >> (x + 1))
#define SECOND_COVERS(n) (((snapshots >> (n)) & ((snapshots >> (n)) - 1)) != 0)
#define LAST_IN(x) ((x) * PER_DIR + PER_DIR - 1)
/* What a replica holds, or held, is published as a snapshot: put-if-absent. */
#define TAKE(x) :: d_step { snapshots_left > 0 && x <= NUMBERS && HELD(x) && !HAS(snapshots, x) -> \
    snapshots_left--; snapshots = snapshots | BIT(x); snapshots_ever = snapshots_ever | BIT(x) }
/* A collector has known snapshot x for the retention. */
#define RIPEN(x) :: d_step { x > floor && HAS(snapshots, x) -> floor = x }
/* A snapshot goes that two newer ones follow. */
#define DROP(x) :: d_step { x < floor && HAS(snapshots, x) && (NEWER_THAN(x) & (NEWER_THAN(x) - 1)) != 0 -> \
    snapshots = snapshots & ~BIT(x); assert_nothing_lost() }
/* have_segment_of: a segment can stand in for the directory when its last commit is byte for byte the single file,
 * which contains the hash of all before. One that is not there, or says something else, is made of what a replica
 * holds. */
#ifdef NO_SEGMENT_RULE
#define STANDS_IN(x) true
#define STAND_IN(x) skip
#else
#ifdef NO_SEGMENT_CHECK
#define STAND_IN(x) segments = segments | BIT(x)
#else
#define STAND_IN(x) segments = segments | BIT(x); lying = lying & ~BIT(x)
#endif
#define STANDS_IN(x) (HELD(LAST_IN(x)) && name_at[LAST_IN(x)] == chain[LAST_IN(x)])
#endif
#define REMOVE(x) \
    dirs = dirs & ~BIT(x); \
    i = x * PER_DIR; \
    do \
    :: i <= NUMBERS && DIR_OF(i) == x -> name_at[i] = NOBODY; i++ \
    :: else -> break \
    od; \
    i = 0; assert_nothing_lost()
/* A directory is renamed away: a snapshot that was known for the retention covers it, and the second newest does too
 * or a segment stands in. */
#ifdef NO_RETENTION
#define IS_COVERED(n) ((snapshots >> (n)) != 0)
#else
#define IS_COVERED(n) ((n) <= floor)
#endif
#define MAY_GO(x) x <= DIR_OF(NUMBERS) && NOT_BEFORE_OTHERS(x) && HAS(dirs, x) && LAST_IN(x) <= NUMBERS && IS_COVERED(LAST_IN(x))
#define COLLECT(x) \
    :: d_step { MAY_GO(x) && SECOND_COVERS(LAST_IN(x)) -> REMOVE(x) } \
    :: d_step { MAY_GO(x) && STANDS_IN(x) -> STAND_IN(x); REMOVE(x) }
/* A segment goes that the second newest snapshot covers. */
#define DROP_SEGMENT(x) :: d_step { HAS(segments, x) && SECOND_COVERS(LAST_IN(x)) -> \
    segments = segments & ~BIT(x); lying = lying & ~BIT(x); assert_nothing_lost() }
#define ARRIVE(x) :: d_step { late_link[x] != 0 -> \
    give_name(late_link[x], x, answer); i = 0; answer = 0; late_link[x] = 0 }

active proctype world() {
  byte answer;
  do
  TAKE(1) TAKE(2) TAKE(3) TAKE(4) TAKE(5) TAKE(6)
  RIPEN(1) RIPEN(2) RIPEN(3) RIPEN(4) RIPEN(5) RIPEN(6)
  DROP(1) DROP(2) DROP(3) DROP(4) DROP(5) DROP(6)
  COLLECT(0) COLLECT(1) COLLECT(2) COLLECT(3) COLLECT(4) COLLECT(5) COLLECT(6)
  DROP_SEGMENT(0) DROP_SEGMENT(1) DROP_SEGMENT(2) DROP_SEGMENT(3)
  :: d_step { late_dirs != 0 -> dirs = dirs | late_dirs; late_dirs = 0 }
  ARRIVE(1) ARRIVE(2)
#if IDS >= 3
  ARRIVE(3)
#endif
#if IDS >= 4
  ARRIVE(4)
#endif
#if IDS >= 5
  ARRIVE(5)
#endif
#if IDS >= 6
  ARRIVE(6)
#endif
  od
}

init {
  atomic {
    byte node;
    name_at[1] = FIRST; chain[1] = FIRST;
#if LIES
    if
    :: lying = BIT(DIR_OF(2))
    :: lying = BIT(DIR_OF(3))
    fi;
    segments = lying;
#endif
    do
    :: node < WRITERS -> run writer(node); node++
    :: else -> break
    od
  }
}
