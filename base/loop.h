/*
 * The event loop: libuv, with the one rule by which ZeroMQ sockets do not
 * stall in it: an empty callback on the socket's descriptor, ZMQ_EVENTS asked
 * before every wait, at most LOOP_DRAIN messages a socket and pass after it.
 * One thread. Everything else (timers, signals, polls) uses libuv as it is.
 */
#ifndef BASE_LOOP_H
#define BASE_LOOP_H

#include <uv.h>

#include "base/err.h"
#include "base/list.h"

#define LOOP_DRAIN 64

struct loop {
	uv_loop_t uv;
	uv_prepare_t prepare;
	uv_check_t check;
	uv_idle_t idle; /* active while a socket has messages left */
	struct list sockets;
	struct list passes;
	bool stopped; /* loop_run is to return */
};

/* A ZeroMQ socket in the loop. `on_ready` reads at most ONE message (all its
 * frames, ZMQ_DONTWAIT) and returns false when there was none. */
struct loop_socket {
	struct list link;
	struct loop *loop;
	void *socket; /* borrowed */
	uv_poll_t poll;
	bool (*on_ready)(void *arg);
	void (*on_closed)(void *arg);
	void *arg;
	bool ready; /* something to read was seen before or by the wait */
	bool closing;
};

/* Runs once a pass, after all handlers of it and before the loop waits again
 * (and once more when it stops): where batches close. */
struct loop_pass {
	struct list link;
	void (*on_pass)(void *arg);
	void *arg;
};

int loop_init(struct loop *loop, struct err *err) CHECKED;
/* Until loop_stop; one that came before counts. */
void loop_run(struct loop *loop);
void loop_stop(struct loop *loop);
/* Closes every handle that is left and runs what waits for that (on_closed).
 * Owners remove their sockets before and close them in on_closed. */
void loop_release(struct loop *loop);

int loop_add_socket(struct loop *loop, struct loop_socket *s, void *socket,
    bool (*on_ready)(void *arg), void *arg, struct err *err) CHECKED;
/* No on_ready from here on. `on_closed` (may be NULL) comes later, from the
 * loop or from loop_release: then the struct and the socket may be freed. */
void loop_remove_socket(struct loop_socket *s, void (*on_closed)(void *arg));
void loop_add_pass(struct loop *loop, struct loop_pass *pass,
    void (*on_pass)(void *arg), void *arg);
/* Not from inside a pass. One that was never added is fine. */
void loop_remove_pass(struct loop_pass *pass);

/* Raises the soft limit of open files to the hard one and returns it: accept()
 * without a free descriptor makes libzmq abort the process. For main, once. */
uint64_t loop_raise_limits(void);

#endif
