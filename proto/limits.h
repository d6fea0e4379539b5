/*
 * Every limit on what crosses a socket. Bytes unless the name says otherwise.
 */
#ifndef PROTO_LIMITS_H
#define PROTO_LIMITS_H

#define LIMIT_MESSAGE    (64u * 1024)        /* first frame */
#define LIMIT_BODY       (64u * 1024 * 1024) /* second frame */
#define LIMIT_BODY_HELD  (256u * 1024) /* a larger result waits for take */
#define LIMIT_NAME       128u          /* agents, tools, workers, models */
#define LIMIT_TEXT       2048u         /* error texts, reasons */
#define LIMIT_CALL_ID    512u          /* as the provider issued it */
#define LIMIT_KEY        256u          /* idempotency keys, session ids */
#define LIMIT_PEERS      10000u        /* peers known by one socket */
#define LIMIT_CREDIT     100000u       /* starts in flight at one worker */
#define LIMIT_ITEM       (32u * 1024 * 1024) /* one stored item */
#define LIMIT_ITEM_DEPTH 100u                /* nesting of one stored item */
#define LIMIT_TURN_CALLS 128u                /* calls of one model response */
#define LIMIT_HISTORY    (48u * 1024 * 1024) /* items of one request */

#define LEASE_WORKER_MS 5000u /* T_worker: a session without echo lapses */
#define LEASE_SELF_MS                                                          \
	8000u /* T_self: a supervisor without beat releases nothing */
#define LEASE_DEPOSE_MS 15000u /* T_depose > T_worker + T_self */
#define HEARTBEAT_MS    1000u
#define BEAT_MS         2000u

#endif
