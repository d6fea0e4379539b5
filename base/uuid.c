/*
 * UUIDs of versions 4 and 7. Owns the process's last time and counter and a
 * stock of random bytes, in one page that the kernel wipes in a forked child,
 * so that parent and child never draw the same. Not for keys: what was drawn
 * stays in memory.
 */
#include "base/uuid.h"

#include <sys/mman.h>
#include <sys/random.h>

#include "base/clock.h"

#define MS_BITS       48
#define COUNTER_MAX   0xfffu /* rand_a: a counter within one millisecond */
#define COUNTER_START 0x7ffu /* it begins in the lower half, at random */

struct state {
	uint64_t last_ms;
	uint32_t counter;
	uint32_t left; /* unused bytes at the end of stock */
	uint8_t stock[1024];
};

static struct state *state;

static struct state *
state_get(void)
{
	void *page;

	if (state != NULL)
		return state;
	page = mmap(NULL, sizeof(*state), PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (page == MAP_FAILED ||
	    madvise(page, sizeof(*state), MADV_WIPEONFORK) == -1)
		BUG("page for random bytes: errno %d", errno);
	state = page;
	return state;
}

static void
draw(struct state *s, void *to, size_t len)
{
	if (s->left < len) {
		/* 256 bytes at a time come whole and uninterrupted. */
		for (size_t at = 0; at < sizeof(s->stock); at += 256)
			if (getrandom(s->stock + at, 256, 0) != 256)
				BUG("getrandom: errno %d", errno);
		s->left = sizeof(s->stock);
	}
	memcpy(to, s->stock + sizeof(s->stock) - s->left, len);
	s->left -= (uint32_t)len;
}

static void
mark(struct uuid *uuid, uint8_t version)
{
	uuid->bytes[6] = (uint8_t)((uuid->bytes[6] & 0x0f) | version << 4);
	uuid->bytes[8] = (uint8_t)((uuid->bytes[8] & 0x3f) | 0x80);
}

/* RFC 9562, 6.2, method 1: a dedicated counter; when it is used up, or the
 * clock stepped back, the time inside the ids runs on by itself. */
static void
advance(struct state *s, uint32_t random)
{
	uint64_t now = clock_wall_ms();

	if (now > s->last_ms) {
		s->last_ms = now;
		s->counter = random & COUNTER_START;
	} else if (++s->counter > COUNTER_MAX) {
		s->last_ms++;
		s->counter = random & COUNTER_START;
	}
}

struct uuid
uuid_v7(void)
{
	struct state *s = state_get();
	struct uuid uuid;
	uint16_t random;

	draw(s, &random, sizeof(random));
	draw(s, &uuid.bytes[8], 8);
	advance(s, random);
	for (int i = 0; i < 6; i++)
		uuid.bytes[i] = (uint8_t)(s->last_ms >> (MS_BITS - 8 - 8 * i));
	uuid.bytes[6] = (uint8_t)(s->counter >> 8);
	uuid.bytes[7] = (uint8_t)s->counter;
	mark(&uuid, 7);
	return uuid;
}

struct uuid
uuid_v4(void)
{
	struct uuid uuid;

	draw(state_get(), uuid.bytes, sizeof(uuid.bytes));
	mark(&uuid, 4);
	return uuid;
}

bool
uuid_is_zero(const struct uuid *uuid)
{
	static const struct uuid zero;

	return uuid_eq(uuid, &zero);
}

bool
uuid_eq(const struct uuid *a, const struct uuid *b)
{
	return memcmp(a->bytes, b->bytes, sizeof(a->bytes)) == 0;
}

uint64_t
uuid_ms(const struct uuid *uuid)
{
	uint64_t ms = 0;

	if (uuid->bytes[6] >> 4 != 7)
		return 0;
	for (int i = 0; i < 6; i++)
		ms = ms << 8 | uuid->bytes[i];
	return ms;
}

/* Is there a hyphen before byte i of the text form? */
static bool
hyphen_before(size_t i)
{
	return i == 4 || i == 6 || i == 8 || i == 10;
}

const char *
uuid_text(const struct uuid *uuid, char text[UUID_TEXT])
{
	static const char hex[] = "0123456789abcdef";
	char *p = text;

	for (size_t i = 0; i < sizeof(uuid->bytes); i++) {
		if (hyphen_before(i))
			*p++ = '-';
		*p++ = hex[uuid->bytes[i] >> 4];
		*p++ = hex[uuid->bytes[i] & 0x0f];
	}
	*p = '\0';
	return text;
}

static int
hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

/* text has UUID_TEXT - 1 bytes. */
static bool
read_hex(const char *text, struct uuid *uuid)
{
	for (size_t i = 0; i < sizeof(uuid->bytes); i++) {
		if (hyphen_before(i) && *text++ != '-')
			return false;
		int high = hex_digit(*text++), low = hex_digit(*text++);

		if (high < 0 || low < 0)
			return false;
		uuid->bytes[i] = (uint8_t)(high << 4 | low);
	}
	return true;
}

int
uuid_parse(struct slice text, struct uuid *ret_uuid, struct err *err)
{
	struct uuid uuid;

	if (text.len != UUID_TEXT - 1 || !read_hex(text.ptr, &uuid))
		return err_set(err, ERR_INPUT,
		    "not a UUID of 36 characters: \"%.*s\"",
		    text.len > 40 ? 40 : (int)text.len,
		    text.len == 0 ? "" : text.ptr);
	*ret_uuid = uuid;
	return 0;
}
