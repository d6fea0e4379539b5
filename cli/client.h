/*
 * The connection to a supervisor's front: one DEALER in a loop of its own.
 * client_ask is for commands that want one answer; client_send and a listener
 * are for those that follow a run. Everything runs in the calling thread.
 */
#ifndef CLI_CLIENT_H
#define CLI_CLIENT_H

#include "base/json.h"
#include "base/loop.h"
#include "proto/link.h"

#define CLIENT_CONNECT_MS 2000u /* until a request could be sent */
#define CLIENT_ANSWER_MS  6000u /* from then to its answer */
#define CLIENT_MAYBE      (-1)  /* err.code: it was sent, its fate is unknown */

struct client; /* defined in client.c */

struct client_config {
	const char *path;    /* of the front's socket; borrowed for ever */
	uint32_t connect_ms; /* 0 = CLIENT_CONNECT_MS */
	uint32_t answer_ms;  /* 0 = CLIENT_ANSWER_MS */
};

/* Where the front is: `option` (--socket, may be NULL), else REEVE_SOCKET, else
 * the first line of ../var/service beside the folder of this program, else
 * /run/reeve/front.sock. A leading "ipc://" is dropped. The caller frees with
 * mem_free. ret_source gets a constant text that says which of them it was. */
int client_find(const char *option, char **ret_path, const char **ret_source,
    struct err *err) CHECKED;

/* Connects in the background: a front that is not there yet is no error. */
int client_new(struct client **ret_client, const struct client_config *config,
    struct err *err) CHECKED;
struct client *client_free(struct client *client);

struct loop *client_loop(struct client *client);
/* A new number for the request field of the next message. */
uint64_t client_request(struct client *client);

/* An answer: submitted or reply. */
struct client_answer {
	struct uuid run;        /* of submitted */
	bool existing;          /* of submitted */
	struct json body;       /* of reply; JSON_NONE for submitted */
	struct link_body *held; /* owned: what body borrows from */
};
void client_answer_release(struct client_answer *answer);

/* Sends a message whose request field is the newest client_request and waits
 * for its answer. ERR_PEER: not reached or not answered; the text says what
 * was tried and why; code is CLIENT_MAYBE when the request may have been
 * carried out, else errno of a connection. A refusal comes with the kind that
 * the supervisor gave (ERR_INPUT, ERR_MISSING, ERR_CONFLICT, ERR_BUSY,
 * ERR_LIMIT) and its text. Never from inside a listener. */
int client_ask(struct client *client, const struct msg *msg, struct slice body,
    struct client_answer *ret_answer, struct err *err) CHECKED;

/* Sends and does not wait. ERR_PEER: not connected now. */
int client_send(struct client *client, const struct msg *msg, struct slice body,
    struct err *err) CHECKED;

/* Gets all events, and every answer that no client_ask waits for (msg is
 * submitted, reply or failed). Bodies are checked JSON, borrowed for the
 * call; JSON_NONE when what came is none. */
struct client_listener {
	void (*on_event)(
	    void *arg, const struct msg_event *event, struct json body);
	void (*on_answer)(void *arg, const struct msg *msg, struct json body);
	void (*on_connection)(void *arg, bool up);
	void *arg;
};
/* Borrowed until it is replaced; NULL ends it. */
void client_listen(
    struct client *client, const struct client_listener *listener);

/* The kind of error that a failed message stands for. */
enum err_kind client_refusal(const struct msg_failed *failed);
/* Why no answer came from the socket: ERR_PEER, a text, and errno or 0. */
int client_unreachable(const struct client *client, struct err *err);

#endif
