/* Jobs of several nodes, for spin: who may take nodes together, and when they are free again. README.md beside this
 * has more.
 *
 * A transaction is one atomic step, as in claim.pml. Between two of a worker anything may happen: its lease expires,
 * rightly or not, its job is canceled, another worker claims its node for a gang. What runs on a node ends only when its
 * worker ends it, also when that was judged dead.
 */

#ifndef NODES
#define NODES 3      /* at most 3 */
#endif
#ifndef NEEDS
#define NEEDS 2      /* nodes of a job */
#endif
#ifndef JOBS
#define JOBS 2       /* or 1 */
#endif
#ifndef CLAIMS
#define CLAIMS 3     /* of jobs, in all; at most 3 */
#endif
#ifndef LIVES
#define LIVES 1      /* with 2 a worker that was fenced is started again */
#endif
#ifndef LOSSES
#define LOSSES 1
#endif
#ifndef CANCELS
#define CANCELS 1
#endif
#ifndef DEATHS
#define DEATHS 0     /* power cuts; with one, commands fail, too */
#endif
#ifndef SOLOS
#define SOLOS 1      /* jobs of one node */
#endif
#ifndef SAVES
#define SAVES 0      /* warnings to single nodes; with one, each node runs the command and can save its state */
#endif

#define READY 0
#define CLAIMED 1
#define RUNNING 2
#define ENDED 3

#define FORMING 1
#define COMPLETE 2
#define STARTED 3
#define OVER 4

/* --- the store */
byte state[JOBS];
byte claim_of[JOBS];             /* of the newest attempt */
bit lease[3];                    /* by node: its worker is registered */
bit offered[3];
byte part[3];                    /* the claim whose gang the worker is part of; 0: none */
bit confirmed[3];
byte stage[4];          /* of gangs, by claim */
byte job_of[4];
byte head_of[4];
bit failed[4];          /* the command; the head has said so */
bit shown[3];                    /* life, since the head asked */
byte sequence = 1;
byte solos = SOLOS;

/* --- the world */
byte on_node[3];                 /* the claim of which something runs there; 0: none */
bit solo[3];                     /* a job of one node runs there */
bit dead[3];                     /* it has no power any more */
bit hurt[4];            /* the command failed when a node of it was dead */

#if SAVES
bit told[3];                     /* that it ended here; in the store */
bit saved[4];                    /* a node has said so with its end; by claim, in the store */
byte warnings = SAVES;
bit gone[3];                     /* the command of its gang has ended here by itself */
bit kept[3];                     /* and had saved its state */
#define IS_AT_IT(c, i) (part[i] == c && !dead[i] && !gone[i])
#define KEPT(c) ((part[0] == c && kept[0]) || (part[1] == c && kept[1]) || (part[2] == c && kept[2]))
#define TOLD(c) ((part[0] == c && told[0]) + (part[1] == c && told[1]) + (part[2] == c && told[2]))
/* gang_end.cc, whole_of: all have saved theirs, or are ended */
#ifdef FIRST_SAVE_ENDS
#define MAY_REPORT(c) (saved[c] || TOLD(c) == NEEDS)
#else
#define MAY_REPORT(c) (TOLD(c) == NEEDS)
#endif
#endif

#define OFFERS (offered[0] + offered[1] + offered[2])
#define IS_ANY_READY (state[0] == READY || state[JOBS - 1] == READY)
#define IS_HELD(c) (stage[c] != 0 && stage[c] != OVER)
#define LACKS(c) (stage[c] == FORMING && PARTS(c) < NEEDS)
#define LIVING (lease[0] + lease[1] + lease[2])
#define PARTS(c) ((part[0] == c) + (part[1] == c) + (part[2] == c))
#define CONFIRMED(c) ((part[0] == c && confirmed[0]) + (part[1] == c && confirmed[1]) + (part[2] == c && confirmed[2]))

#define ACTS(w) (lease[w] && !dead[w])
#define IS_DEAD(c, i) (part[i] == c && dead[i])
#define TAKEN(c, i) (on_node[i] == c || IS_DEAD(c, i))
#define SHOWN(c) ((part[0] == c && shown[0]) + (part[1] == c && shown[1]) + (part[2] == c && shown[2]))
/* gang_end.cc, conclude_head: a failure is the job's own when all others have shown life since */
#ifdef FAILS_AT_ONCE
#define MAY_FAIL(c) 1
#else
#define MAY_FAIL(c) (SHOWN(c) == NEEDS - 1)
#endif

#ifdef START_UNCONFIRMED
#define MAY_START(c) (stage[c] == FORMING || stage[c] == COMPLETE)
#else
#define MAY_START(c) (stage[c] == COMPLETE)
#endif
/* exchange.cc: a worker of a gang is granted nothing, and one that is offered starts nothing unasked */
#ifdef NO_BINDING
#define MAY_TAKE_SOLO(w) (solos > 0 && lease[w] && !solo[w] && on_node[w] == 0)
#else
#define MAY_TAKE_SOLO(w) (solos > 0 && lease[w] && !solo[w] && on_node[w] == 0 && part[w] == 0)
#endif

/* gang_words.cc, end_attempt: a loss, a member that leaves or declines, a cancel */
inline end_gang(c, becomes) {
  if
  :: stage[c] != OVER -> stage[c] = OVER; state[job_of[c]] = becomes
  :: else
  fi
}

inline take(w, c) {
  assert(part[w] == 0);
  part[w] = c; offered[w] = 0; confirmed[w] = 0; shown[w] = 0;
#if SAVES
  told[w] = 0; gone[w] = 0; kept[w] = 0
#endif
}

inline choose_job(i) {
  if
  :: state[0] == READY -> i = 0
  :: state[JOBS - 1] == READY -> i = JOBS - 1
  fi
}

/* The head has its node, and starts nothing until the gang is complete. */
inline found_gang(i, w) {
  state[i] = CLAIMED; claim_of[i] = sequence; job_of[sequence] = i; head_of[sequence] = w;
  stage[sequence] = FORMING;
  take(w, sequence); confirmed[w] = 1;
  assert(on_node[w] == 0 && !solo[w]);
  on_node[w] = sequence
}

proctype node(byte w) {
  byte lives, i, n;
  do
  :: atomic {      /* registration: what a life before left on the node was ended */
       lives < LIVES && !lease[w] && !dead[w] && on_node[w] == 0 && !solo[w] -> lives++; lease[w] = 1
     }
  :: atomic {      /* an exchange that offers the node */
       ACTS(w) && part[w] == 0 && !solo[w] && on_node[w] == 0 && !offered[w] -> offered[w] = 1
     }
#ifdef ONE_BY_ONE
  :: atomic {      /* claims what there is, and waits for the rest */
       ACTS(w) && offered[w] && IS_ANY_READY && sequence <= CLAIMS ->
       choose_job(i);
       found_gang(i, w);
       sequence++; i = 0
     }
  :: atomic {
       ACTS(w) && offered[w] && (LACKS(1) || LACKS(2) || LACKS(3)) ->
       if
       :: LACKS(1) -> take(w, 1)
       :: LACKS(2) -> take(w, 2)
       :: LACKS(3) -> take(w, 3)
       fi
     }
#else
  :: atomic {      /* claim, of all nodes in one commit */
       ACTS(w) && offered[w] && OFFERS >= NEEDS && IS_ANY_READY && sequence <= CLAIMS ->
       choose_job(i);
       found_gang(i, w);
       n = 1; i = 0;
       do
       :: n < NEEDS && i < 3 ->
          if
          :: offered[i] -> take(i, sequence); n++
          :: else
          fi;
          i++
       :: else -> break
       od;
       assert(n == NEEDS);
       sequence++; i = 0; n = 0
     }
#endif
  :: atomic {      /* an exchange grants a job of one node */
       MAY_TAKE_SOLO(w) -> solos--; offered[w] = 0; solo[w] = 1
     }
  :: atomic { solo[w] -> solo[w] = 0 }
  :: atomic {      /* confirms: it has its whole node */
       ACTS(w) && part[w] != 0 && stage[part[w]] == FORMING && !confirmed[w] ->
       assert(!solo[w]);
       assert(on_node[w] == 0);
       on_node[w] = part[w]; confirmed[w] = 1;
       if
       :: CONFIRMED(part[w]) == NEEDS -> stage[part[w]] = COMPLETE
       :: else
       fi
     }
  :: atomic {      /* declines */
       ACTS(w) && part[w] != 0 && stage[part[w]] == FORMING && !confirmed[w] ->
       end_gang(part[w], READY);
       part[w] = 0
     }
  :: atomic {      /* the head starts the command */
       ACTS(w) && part[w] != 0 && head_of[part[w]] == w && MAY_START(part[w]) ->
       assert(claim_of[job_of[part[w]]] == part[w]);
       assert(TAKEN(part[w], 0) + TAKEN(part[w], 1) + TAKEN(part[w], 2) == NEEDS);
       stage[part[w]] = STARTED; state[job_of[part[w]]] = RUNNING
     }
#if SAVES
  :: atomic {      /* the command ends here */
       part[w] != 0 && on_node[w] == part[w] && stage[part[w]] == STARTED && !gone[w] -> gone[w] = 1
     }
  :: atomic {      /* it is warned, or told that another node has saved its state: it does the same, and ends */
       part[w] != 0 && on_node[w] == part[w] && stage[part[w]] == STARTED && !gone[w] &&
       (warnings > 0 || saved[part[w]]) ->
       if
       :: saved[part[w]]
       :: else -> warnings--
       fi;
       gone[w] = 1; kept[w] = 1
     }
  :: atomic {      /* says so */
       ACTS(w) && part[w] != 0 && stage[part[w]] == STARTED && gone[w] && !told[w] ->
       told[w] = 1; saved[part[w]] = saved[part[w]] || kept[w]
     }
  :: atomic {      /* the head reports the end, or the checkpoint */
       ACTS(w) && part[w] != 0 && head_of[part[w]] == w && stage[part[w]] == STARTED && MAY_REPORT(part[w]) ->
       assert(!IS_AT_IT(part[w], 0) && !IS_AT_IT(part[w], 1) && !IS_AT_IT(part[w], 2));
       assert(saved[part[w]] == KEPT(part[w]));
       n = (saved[part[w]] -> READY : ENDED);
       end_gang(part[w], n);
       n = 0
     }
#else
  :: atomic {      /* the head reports the end, or that it is to run again */
       ACTS(w) && part[w] != 0 && head_of[part[w]] == w && stage[part[w]] == STARTED && !failed[part[w]] ->
       assert(claim_of[job_of[part[w]]] == part[w]);
       if
       :: n = ENDED
       :: n = READY
       fi;
       end_gang(part[w], n);
       n = 0
     }
#endif
#if DEATHS
  :: atomic {      /* the command fails, it may be for a node that is dead; the head asks who lives */
       ACTS(w) && part[w] != 0 && head_of[part[w]] == w && stage[part[w]] == STARTED && !failed[part[w]] ->
       failed[part[w]] = 1;
       hurt[part[w]] = IS_DEAD(part[w], 0) || IS_DEAD(part[w], 1) || IS_DEAD(part[w], 2)
     }
  :: atomic {      /* a member says that it lives */
       ACTS(w) && part[w] != 0 && head_of[part[w]] != w && stage[part[w]] == STARTED && failed[part[w]] && !shown[w] ->
       shown[w] = 1
     }
  :: atomic {      /* the head reports the failure */
       ACTS(w) && part[w] != 0 && head_of[part[w]] == w && stage[part[w]] == STARTED && failed[part[w]] &&
       MAY_FAIL(part[w]) ->
       assert(!hurt[part[w]]);
       end_gang(part[w], ENDED)
     }
#endif
#ifndef ONE_BY_ONE   /* who waits for the rest leaves by itself never */
  :: atomic {      /* cannot go on: the attempt is over by that, and the node is part of it still */
       ACTS(w) && part[w] != 0 && stage[part[w]] != OVER ->
       end_gang(part[w], READY);
#ifdef LEFT_AT_ONCE
       part[w] = 0
#endif
     }
#endif
  :: atomic {      /* ends what runs of it here */
       ACTS(w) && part[w] != 0 && stage[part[w]] == OVER && on_node[w] != 0 -> on_node[w] = 0
     }
  :: atomic {      /* and then says that it left */
       ACTS(w) && part[w] != 0 && stage[part[w]] == OVER && on_node[w] == 0 -> part[w] = 0
     }
#ifdef FREE_WHEN_OVER
  :: atomic {      /* the node counts as free once the gang is over, whatever runs there */
       ACTS(w) && part[w] != 0 && stage[part[w]] == OVER -> part[w] = 0; offered[w] = 1
     }
#endif
  :: atomic {      /* was fenced, and ends what runs here, at some time */
       !lease[w] && !dead[w] && (on_node[w] != 0 || solo[w]) -> on_node[w] = 0; solo[w] = 0
     }
  od
}

/* Others: a node loses its power; a worker is judged dead, rightly or not; a job is canceled. */
active proctype others() {
  byte e, losses = LOSSES, cancels = CANCELS, deaths = DEATHS;
  do
  :: losses > 0 -> losses = 0
  :: cancels > 0 -> cancels = 0
#if DEATHS
  :: deaths > 0 -> deaths = 0
  :: atomic {
       deaths > 0 ->
       if
       :: e = 0
       :: e = 1
       :: e = 2
       fi;
       deaths--;
       dead[e] = 1; on_node[e] = 0; solo[e] = 0;
       e = 0
     }
#endif
  :: atomic {
       if
       :: losses > 0 && lease[0] && !dead[0] -> e = 0; losses--
       :: losses > 0 && lease[1] && !dead[1] -> e = 1; losses--
       :: losses > 0 && lease[2] && !dead[2] -> e = 2; losses--
       :: lease[0] && dead[0] -> e = 0
       :: lease[1] && dead[1] -> e = 1
       :: lease[2] && dead[2] -> e = 2
       fi;
       lease[e] = 0; offered[e] = 0;
       if
       :: part[e] != 0 ->
#ifdef LOSS_UNNOTICED
          state[job_of[part[e]]] = READY;
#else
          end_gang(part[e], READY);
#endif
          part[e] = 0
       :: else
       fi;
       e = 0
     }
  :: atomic {
       cancels > 0 && (IS_HELD(1) || IS_HELD(2) || IS_HELD(3)) ->
       if
       :: IS_HELD(1) -> end_gang(1, ENDED)
       :: IS_HELD(2) -> end_gang(2, ENDED)
       :: IS_HELD(3) -> end_gang(3, ENDED)
       fi;
       cancels--
     }
  od
}

#ifndef ONE_BY_ONE
/* A gang that is not over has all of its nodes, so that no two have a part each. */
active proctype whole() {
  byte c;
  atomic {
    (IS_HELD(1) && PARTS(1) != NEEDS) || (IS_HELD(2) && PARTS(2) != NEEDS) ||
    (IS_HELD(3) && PARTS(3) != NEEDS) ->
    c = 1;
    assert(c == 0)
  }
}
#endif

/* Nothing more can happen: nobody is held, and nothing waits that could be had. */
active proctype rest() {
  timeout ->
  assert(part[0] == 0 && part[1] == 0 && part[2] == 0);
  assert(sequence > CLAIMS || LIVING < NEEDS || !IS_ANY_READY)
}

init {
  atomic {
    byte w;
    do
    :: w < NODES -> run node(w); w++
    :: else -> break
    od
  }
}
