/*
 * Recorded streams of real providers, when there is a folder of them: each must
 * give its expected result whole, in pieces and byte by byte. The folder is
 * $REEVE_SHARED/corpus/responses, or ../shared beside the source.
 */
#include <dirent.h>

#include "tests/unit/model/play.h"
#include "tests/unit/suite.h"

#define FILES_MAX 500

struct corpus {
	char folder[3000];
	char *names[FILES_MAX]; /* without ".sse" */
	int count;
};

/* Members that must be absent where they are not expected. */
static const char *const at_times[] = { "refusal", "other_calls",
	"undeclared_calls" };

static void
find_folder(struct corpus *corpus)
{
	const char *shared = getenv("REEVE_SHARED");
	const char *tests = strstr(__FILE__, "tests/unit/");

	if (shared != NULL)
		snprintf(corpus->folder, sizeof(corpus->folder),
		    "%s/corpus/responses", shared);
	else
		snprintf(corpus->folder, sizeof(corpus->folder),
		    "%.*s../shared/corpus/responses",
		    tests == NULL ? 0 : (int)(tests - __FILE__), __FILE__);
}

static bool
find_files(struct corpus *corpus)
{
	DIR *folder;
	struct dirent *entry;

	find_folder(corpus);
	folder = opendir(corpus->folder);
	if (folder == NULL)
		return false;
	while ((entry = readdir(folder)) != NULL && corpus->count < FILES_MAX) {
		size_t len = strlen(entry->d_name);

		if (len > 4 && strcmp(entry->d_name + len - 4, ".sse") == 0)
			corpus->names[corpus->count++] =
			    mem_string_n(entry->d_name, len - 4);
	}
	closedir(folder);
	return true;
}

static void
load(const struct corpus *corpus, int i, const char *end, struct buf *out)
{
	char path[4096];
	struct err err = { 0 };

	snprintf(path, sizeof(path), "%s/%s%s", corpus->folder,
	    corpus->names[i], end);
	ck_assert_msg(buf_read_file(out, path, &err) == 0, "%s", err.text);
	buf_putc(out, '\0');
	out->len--;
}

static void
check(const char *name, struct slice text, size_t chunk, const char *expected)
{
	struct buf out = BUF_INIT(PLAY_MAX);
	struct play play = { 0 };
	struct json got, wanted;

	play_report(&play, text, 0, chunk, &out);
	play_compare(buf_slice(&out), expected, name);
	ck_assert_int_eq(json_parse(buf_slice(&out), &got, NULL, NULL), 0);
	ck_assert_int_eq(
	    json_parse(slice_string(expected), &wanted, NULL, NULL), 0);
	for (size_t i = 0; i < COUNT(at_times); i++) {
		if (json_get(wanted, at_times[i]).type == JSON_NONE)
			ck_assert_msg(
			    json_get(got, at_times[i]).type == JSON_NONE,
			    "%s: %s is there", name, at_times[i]);
	}
	buf_release(&out);
}

START_TEST(recorded_streams_give_their_results)
{
	static const size_t chunks[] = { PLAY_MAX, 1009, 1 };
	struct corpus corpus = { 0 };

	if (!find_files(&corpus)) {
		printf("corpus: %s is not there, nothing was checked\n",
		    corpus.folder);
		return;
	}
	ck_assert_int_gt(corpus.count, 0);
	for (int i = 0; i < corpus.count; i++) {
		struct buf text = BUF_INIT(PLAY_MAX);
		struct buf expected = BUF_INIT(PLAY_MAX);

		load(&corpus, i, ".sse", &text);
		load(&corpus, i, ".expect.json", &expected);
		for (size_t k = 0; k < COUNT(chunks); k++)
			check(corpus.names[i], buf_slice(&text), chunks[k],
			    expected.ptr);
		buf_release(&text);
		buf_release(&expected);
		mem_free(corpus.names[i]);
	}
	printf("corpus: %d recorded streams\n", corpus.count);
}
END_TEST

static Suite *
suite(void)
{
	Suite *s = suite_create("corpus");
	TCase *recorded = tcase_create("recorded");

	tcase_set_timeout(recorded, 120);
	tcase_add_test(recorded, recorded_streams_give_their_results);
	suite_add_tcase(s, recorded);
	return s;
}

int
main(void)
{
	return run_suite(suite());
}
