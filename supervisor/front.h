/*
 * The clients' socket: requests in, answers and events out. Owns the socket
 * and what waits for the database on behalf of a client.
 */
#ifndef SUPERVISOR_FRONT_H
#define SUPERVISOR_FRONT_H

#include "supervisor/runs.h"

struct front; /* defined in front.c */

int front_new(struct front **ret_front, struct supervisor *sup,
    const char *endpoint, struct err *err) CHECKED;
struct front *front_free(struct front *front);

/* ---- answers, for those who carry a request out ---- */
void front_submitted(struct front *front, const struct receipt *receipt,
    const struct uuid *run, bool existing);
void front_cancelled(
    struct front *front, const struct receipt *receipt, const char *state);
/* The run is not here any more: through the database. */
void front_cancel_stored(struct front *front, const struct receipt *receipt,
    const struct uuid *run, struct slice reason);
void front_failed(
    struct front *front, const struct receipt *receipt, const struct err *err);
/* The run of a watch exists; its events follow. */
void front_watching(
    struct front *front, const struct peer *peer, uint64_t request);
void front_no_run(struct front *front, const struct peer *peer,
    uint64_t request, const struct uuid *run);

enum front_sent {
	FRONT_SENT,
	FRONT_FULL, /* the client reads too slowly */
	FRONT_GONE,
};
enum front_sent front_event(struct front *front, const struct peer *peer,
    const struct uuid *run, uint64_t seq, const char *type, bool final,
    uint64_t at_ms, struct slice body);

#endif
