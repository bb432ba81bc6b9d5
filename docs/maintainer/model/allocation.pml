/* One intent of the ledger of allocations, for spin: which of the allocations that tries to submit it bring may work.
 * README.md beside this has more.
 *
 * A transaction is one atomic step. Between two of a submitter anything may happen: it stands still for as long as one
 * likes, and then sends what it was about to; it dies; the batch system acts long after that. A list is read in one step
 * and noted in another one.
 */

#ifndef TRIES
#define TRIES 3      /* at most 3 */
#endif
#ifndef SUBMITTERS
#define SUBMITTERS 2
#endif
#ifndef LOOKS
#define LOOKS 3      /* lists that are noted before all is calm */
#endif

#define WANTED 0
#define INTENT 1
#define KNOWN 2      /* queued or running, with the id of a try's allocation */
#define ENDED 3

#define NONE 0
#define WAITS 1
#define RUNS 2
#define OVER 3

/* --- the store */
byte stage = WANTED;
byte tries;
byte id;                         /* the try whose allocation it is; 0: not known */

/* --- the world: by try, from 1 */
byte job[4];                     /* of the batch system */
bit works[4];                    /* its workers were admitted */
bit worked;                      /* those of some try ever were */
byte busy = SUBMITTERS + 1;      /* processes that have not ended */

#define IS_LIVE(t) (job[t] == WAITS || job[t] == RUNS)
#define MAY_BE_IT (stage == INTENT || stage == WANTED)

inline cancel(t) {
  if
  :: IS_LIVE(t) -> job[t] = OVER; works[t] = 0
  :: else
  fi
}

/* allocation.cc, after_look: what the list shows of each try; `dies`: before it cancels */
inline note(s1, s2, s3, dies) {
  row[1] = s1; row[2] = s2; row[3] = s3;
  its = 0;
  if
  :: id != 0 -> its = id
  :: id == 0 && stage != ENDED ->
    t = 1;
    do
    :: t > TRIES -> break
    :: else ->
      if
      :: row[t] == RUNS && (its == 0 || row[its] != RUNS) -> its = t
      :: row[t] == WAITS && its == 0 -> its = t
      :: row[t] == OVER && its == 0 && t == tries && stage == INTENT -> its = t
      :: else
      fi;
      t++
    od
  :: else
  fi;
  if
  :: its != 0 && stage != ENDED && (row[its] == WAITS || row[its] == RUNS) -> stage = KNOWN; id = its
  :: its != 0 && stage != ENDED && row[its] == OVER -> stage = ENDED; id = its; assert(worked)
  :: its == 0 && stage == INTENT && tries < TRIES -> stage = WANTED  /* it was not there for long enough */
  :: else
  fi;
  t = 1;
  do
  :: t > TRIES -> break
  :: else ->
#ifndef NO_SURPLUS
    if
    :: !dies && t != id && (row[t] == WAITS || row[t] == RUNS) -> cancel(t)
    :: else
    fi;
#endif
    t++
  od;
  its = 0; t = 0; row[1] = 0; row[2] = 0; row[3] = 0
}

/* allocation.cc, after_binding: workers of try `t` ask before anything else */
inline bind() {
  atomic {
    if
#ifdef NO_BINDING
    :: job[t] == RUNS -> works[t] = 1; worked = 1
#else
    :: job[t] == RUNS && (id == t && stage != ENDED) -> works[t] = 1; worked = 1
    :: job[t] == RUNS && id == 0 && MAY_BE_IT && t <= tries -> stage = KNOWN; id = t; works[t] = 1; worked = 1
    :: job[t] == RUNS && !(id == t && stage != ENDED) && !(id == 0 && MAY_BE_IT && t <= tries) -> job[t] = OVER
#endif
    :: else
    fi;
    assert(works[1] + works[2] + works[3] <= 1);
    t = 0
  }
}

proctype submitter() {
  byte mine;
  do
  :: atomic { stage == WANTED && tries < TRIES -> tries++; stage = INTENT; mine = tries }
    /* here it may stand still */
    if
    :: atomic { job[mine] = WAITS }
      if
      :: atomic { /* allocation.cc, after_try: it hears that it was accepted */
        if
#ifdef OLD_ANSWER_CANCELS
        :: (stage == INTENT && tries == mine) || stage == WANTED -> stage = KNOWN; id = mine
#else
        :: MAY_BE_IT -> stage = KNOWN; id = mine
#endif
        :: else ->
          if
          :: id != mine -> cancel(mine)
          :: else
          fi
        fi;
        mine = 0
      }
      :: mine = 0  /* it dies, or does not hear of it */
      fi
    :: mine = 0    /* it dies before */
    fi
  :: break
  od;
  busy--
}

proctype looker() {
  byte looks = LOOKS;
  byte s[4]; byte row[4];
  byte its; byte t;
  do
  :: looks > 0 ->
    atomic { s[1] = job[1]; s[2] = job[2]; s[3] = job[3] }
    if
    :: atomic { note(s[1], s[2], s[3], 0) }
    :: atomic { note(s[1], s[2], s[3], 1) }
    fi;
    looks--
  :: break
  od;
  busy--
}

/* The batch system, and the workers of what it has. */
proctype cluster() {
  byte t;
end:
  do
  :: atomic { job[1] == WAITS -> job[1] = RUNS }
  :: atomic { job[2] == WAITS -> job[2] = RUNS }
  :: atomic { job[3] == WAITS -> job[3] = RUNS }
  :: atomic { job[1] == RUNS && !works[1] -> t = 1 } bind()
  :: atomic { job[2] == RUNS && !works[2] -> t = 2 } bind()
  :: atomic { job[3] == RUNS && !works[3] -> t = 3 } bind()
  :: atomic { works[1] -> works[1] = 0; job[1] = OVER }
  :: atomic { works[2] -> works[2] = 0; job[2] = OVER }
  :: atomic { works[3] -> works[3] = 0; job[3] = OVER }
  od
}

/* When nobody submits any more, a whole list leaves nothing that is not known. */
proctype calm() {
  byte row[4];
  byte its; byte t;
  atomic {
    busy == 0 ->
    note(job[1], job[2], job[3], 0);
    assert(!IS_LIVE(1) || (id == 1 && stage == KNOWN));
    assert(!IS_LIVE(2) || (id == 2 && stage == KNOWN));
    assert(!IS_LIVE(3) || (id == 3 && stage == KNOWN))
  }
}

init {
  atomic {
    byte n = 0;
    do
    :: n < SUBMITTERS -> run submitter(); n++
    :: else -> break
    od;
    run looker(); run cluster(); run calm()
  }
}
