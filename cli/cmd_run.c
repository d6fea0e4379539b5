/*
 * reeve run, reeve submit: starts a run; `run` then follows it to its end. The
 * run's id is chosen here, so that sending the request twice starts one run.
 */
#include <unistd.h>

#include "base/alloc.h"
#include "base/utf8.h"
#include "cli/command.h"
#include "cli/watch.h"

#define SUBMIT_OPTIONS                                                         \
	(OPT_session | OPT_key | OPT_priority | OPT_at | OPT_metadata |        \
	    OPT_json)

/* INPUT, or standard input for "-". */
static int
read_input(const char *word, struct buf *input, struct err *err)
{
	size_t valid;

	if (strcmp(word, "-") != 0)
		buf_puts(input, word);
	else if (buf_read_all(input, STDIN_FILENO, err) == -1)
		return err_wrap(err, "standard input");
	if (input->len == 0)
		return err_set(err, ERR_INPUT, "the input is empty");
	valid = utf8_valid(buf_slice(input));
	if (valid < input->len)
		return err_set(err, ERR_INPUT,
		    "the input is not UTF-8 text at byte %zu", valid + 1);
	return 0;
}

static void
put_metadata(struct json_writer *j, const struct option_pairs *pairs)
{
	json_key(j, "metadata");
	json_open(j, '{');
	for (size_t i = 0; i < pairs->count; i++) {
		const char *pair = pairs->list[i], *eq = strchr(pair, '=');

		json_key_slice(j, slice_of(pair, (size_t)(eq - pair)));
		json_str(j, slice_string(eq + 1));
	}
	json_close(j);
}

static int
make_body(const struct cli *cli, struct buf *body, struct err *err)
{
	struct buf input = BUF_INIT(LIMIT_ITEM);
	struct json_writer j = json_writer(body);
	int rc = read_input(cli->args[1], &input, err);

	if (rc == 0) {
		json_open(&j, '{');
		json_key(&j, "input");
		json_str(&j, buf_slice(&input));
		if (cli->options.metadata.count > 0)
			put_metadata(&j, &cli->options.metadata);
		json_close(&j);
		rc = buf_check(body, "the input", err);
	}
	buf_release(&input);
	return rc;
}

static struct msg
make_message(const struct cli *cli)
{
	const struct options *o = &cli->options;
	struct msg msg = { .id = MSG_submit };

	msg.submit = (struct msg_submit){
		.request = client_request(cli->client),
		.run = uuid_v7(),
		.agent = slice_string(cli->args[0]),
		.session = slice_string(o->session),
		.key = slice_string(o->key),
		.priority = o->priority,
		.delay_ms = o->at.relative ? o->at.ms : 0,
		.at_ms = o->at.relative ? 0 : o->at.ms,
	};
	return msg;
}

/* 0, or the code of the failure, which was said. */
static int
submit(struct cli *cli, struct client_answer *ret_answer)
{
	struct buf body = BUF_INIT(LIMIT_BODY);
	struct msg msg = make_message(cli);
	struct err err = { 0 };
	char id[UUID_TEXT], *program;
	int code = 0;

	if (make_body(cli, &body, &err) == -1) {
		code = cli_usage(cli, cli->options.words[0], &err);
	} else if (client_ask(cli->client, &msg, buf_slice(&body), ret_answer,
		       &err) == -1) {
		code = cli_fail(cli, &err);
		program = cli_program(cli);
		if (err.kind == ERR_PEER && err.code == CLIENT_MAYBE)
			cli_say("whether the run was accepted: %s show %s",
			    program, uuid_text(&msg.submit.run, id));
		mem_free(program);
	}
	buf_release(&body);
	return code;
}

static int
run_run(struct cli *cli)
{
	struct client_answer answer = { 0 };
	int code = submit(cli, &answer);

	return code != 0 ? code : watch_run(cli, &answer.run, 0);
}

static int
run_submit(struct cli *cli)
{
	struct client_answer answer = { 0 };
	struct json_writer j = json_writer(&cli->out);
	char id[UUID_TEXT];
	int code = submit(cli, &answer);

	if (code != 0)
		return code;
	uuid_text(&answer.run, id);
	if (cli->options.json) {
		json_open(&j, '{');
		json_key(&j, "run");
		json_text(&j, id);
		json_key(&j, "existing");
		json_bool(&j, answer.existing);
		json_close(&j);
		buf_putc(&cli->out, '\n');
	} else {
		buf_printf(&cli->out, "%s\n", id);
	}
	return cli_flush(cli, CLI_COMPLETED);
}

const struct command cmd_run = {
	.name = "run",
	.args = "AGENT INPUT",
	.least_args = 2,
	.most_args = 2,
	.options = SUBMIT_OPTIONS | OPT_output,
	.summary = "Start a run and follow it to its end",
	.text =
	    "INPUT is a text; - reads it from standard input. Text shows as it "
	    "streams, tool calls (→) and their results (←) as they happen. "
	    "Ctrl-C stops watching, never the run, and says how to go on.",
	.example =
	    "reeve run assistant \"What is the weather in Oslo?\"\n"
	    "git diff | reeve run reviewer - --output --metadata repo=reeve",
	.needs = COMMAND_NEEDS_FRONT,
	.run = run_run,
};

const struct command cmd_submit = {
	.name = "submit",
	.args = "AGENT INPUT",
	.least_args = 2,
	.most_args = 2,
	.options = SUBMIT_OPTIONS,
	.summary = "Start a run and print its id",
	.text = "The run is stored when the id is printed. INPUT as in run.",
	.example =
	    "reeve submit assistant \"Good morning\" --at +10m --key greet-1",
	.needs = COMMAND_NEEDS_FRONT,
	.run = run_submit,
};
