/* The life of one job between workers that freeze, for spin: who may end it. README.md beside this has more.
 *
 * A transaction is one atomic step, since commit.pml shows that commits are decided one after the other. What lies
 * between two transactions of a worker may take for ever: the job runs, the worker is frozen, killed, or its lease
 * expires because it was silent, rightly or not. The job may kill its worker as soon as it is executed.
 */

#ifndef WORKERS
#define WORKERS 2
#endif
#ifndef LIVES
#define LIVES 2      /* a process that was fenced is started again, with a new epoch */
#endif
#ifndef CLAIMS
#define CLAIMS 4     /* the number of times that the job may be claimed */
#endif

#ifndef CRASH_LIMIT
#define CRASH_LIMIT 2
#endif

#define READY 0
#define CLAIMED 1
#define RUNNING 2
#define ENDED 3
#define IS_LIVE (state == CLAIMED || state == RUNNING)
#define NOBODY 0

/* --- the store: Job, and the leases of the live workers */
byte state = READY;
byte attempt, claim, holder;     /* of the newest attempt; holder is an epoch */
bit lease[WORKERS * LIVES + 1];  /* by epoch */
byte sequence = 1;               /* of the newest commit that claimed, so that claims have numbers that grow */
byte lost;                       /* losses that count against the job */
byte suspicion;                  /* 1: a worker fell silent with it; 2: one died, or a second one fell silent */

/* --- the world */
bit dead[WORKERS * LIVES + 1];   /* killed by the job; its lease stands until somebody looks */

/* --- ghosts */
byte live_claim;                 /* the claim whose attempt may still be ended; 0: none */
byte results;                    /* accepted ends for good */
byte executed;                   /* the highest attempt whose command was executed */
byte kills;                      /* workers that the job killed in a row */

/* transition.cc: refusal_of, and exchange.cc: a worker without a lease is fenced before anything is looked at */
#ifdef NO_LEASE_CHECK
#define FENCED(e) false
#else
#define FENCED(e) (!lease[e])
#endif
#ifdef NO_TOKEN_CHECK
#define HOLDS(e, a, c) (IS_LIVE)
#elif defined(TOKEN_OF_ATTEMPT_ONLY)
#define HOLDS(e, a, c) (IS_LIVE && attempt == a)
#else
#define HOLDS(e, a, c) (IS_LIVE && attempt == a && claim == c && holder == e)
#endif

/* transition.cc, lose(): a loss counts against a suspect from its claim on */
#ifdef NO_SUSPECTS
#define IS_SUSPECT false
#else
#define IS_SUSPECT (suspicion == 2)
#endif
/* worker_end.cc: a worker that gives back says with it what it started */
#ifdef RETURN_WITHOUT_START
#define UNSTARTED true
#else
#define UNSTARTED (!ran)
#endif

proctype worker(byte w) {
  byte life, epoch, my_attempt, my_claim;
  bit ran, over;                 /* its command was executed; it has ended, or the job was given back */
  do
  :: life == LIVES -> break
  :: life < LIVES ->
     atomic { life++; epoch = w * LIVES + life; lease[epoch] = 1 };
     do
     :: atomic {      /* claim */
          my_claim == 0 && lease[epoch] && state == READY && sequence <= CLAIMS ->
          state = CLAIMED; attempt++; claim = sequence; sequence++; holder = epoch;
          my_attempt = attempt; my_claim = claim; ran = 0; over = 0;
          assert(live_claim == 0);
          live_claim = claim
        }
     :: atomic {      /* the command is executed, which is no transaction: not after the fence */
          my_claim != 0 && !ran && !over && lease[epoch] ->
          ran = 1;
          assert(my_attempt > executed);
          executed = my_attempt
        }
     :: atomic {      /* and kills its worker, whatever that has told by now */
          my_claim != 0 && ran && !over && lease[epoch] ->
          dead[epoch] = 1; kills++;
          assert(kills <= CRASH_LIMIT + 1);
          my_attempt = 0; my_claim = 0; ran = 0; over = 0;
          break
        }
     :: atomic {      /* start */
          my_claim != 0 && !FENCED(epoch) ->
          if
          :: state == CLAIMED && HOLDS(epoch, my_attempt, my_claim) ->
             assert(my_claim == live_claim);
             state = RUNNING
          :: else
          fi
        }
     :: atomic {      /* finish: for good, or to run again; or refused */
          my_claim != 0 && ran && !FENCED(epoch) ->
          over = 1;
          if
          :: HOLDS(epoch, my_attempt, my_claim) ->
             assert(my_claim == live_claim);
             live_claim = 0;
             suspicion = 0; kills = 0;
             if
             :: state = ENDED; results++; assert(results == 1)
             :: state = READY
             fi
          :: else
          fi;
          if
          :: my_attempt = 0; my_claim = 0; ran = 0; over = 0
          :: true     /* the reply is lost, or the process remembers for other reasons: it reports again */
          fi
        }
     :: atomic {      /* give back: one that was not started becomes as if it had never been claimed */
          my_claim != 0 && !FENCED(epoch) ->
          over = 1;
          if
          :: HOLDS(epoch, my_attempt, my_claim) ->
             assert(my_claim == live_claim);
             live_claim = 0;
             if
             :: state == CLAIMED && UNSTARTED -> attempt--; claim = 0; holder = NOBODY
             :: else
             fi;
             state = READY
          :: else
          fi;
          if
          :: my_attempt = 0; my_claim = 0; ran = 0; over = 0
          :: true
          fi
        }
     :: atomic { FENCED(epoch) -> my_attempt = 0; my_claim = 0; ran = 0; over = 0; break }
#ifdef NO_LEASE_CHECK
     :: atomic { !lease[epoch] && my_claim == 0 -> break }
#endif
     od
  od
}

/* Others: somebody judges a worker to be dead. Frozen is not dead: the judgement may be wrong. */
active proctype others() {
  byte e;
  do
  :: atomic {
       e = 1;
       do
       :: e < WORKERS * LIVES -> e++
       :: break
       od;
       if
       :: lease[e] ->
          lease[e] = 0;
          if
          :: IS_LIVE && holder == e ->
             assert(claim == live_claim);
             live_claim = 0;
             if
             :: IS_SUSPECT || (state == RUNNING && dead[e]) -> lost++
             :: else
             fi;
             suspicion = (dead[e] || suspicion > 0 -> 2 : 1);
             state = (lost >= CRASH_LIMIT -> ENDED : READY)
          :: else
          fi
       :: else
       fi;
       e = 0
     }
  od
}

init {
  atomic {
    byte i;
    do
    :: i < WORKERS -> run worker(i); i++
    :: else -> break
    od
  }
}
