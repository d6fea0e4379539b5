/*
 * PostgreSQL's binary format: parameters in, results out. Pure.
 */
#include <arpa/inet.h>
#include <endian.h>

#include "schema/db.h"

/* ---- parameters ---- */

/* Begins one value: a parameter, or an element of the open array. */
static void
begin(struct db_params *p, size_t len)
{
	if (p->array_at != 0) {
		uint32_t be = htobe32((uint32_t)len);

		p->array_count++;
		buf_put(&p->bytes, &be, sizeof(be));
		return;
	}
	if (p->count == DB_PARAMS_MAX)
		BUG("more than %d parameters", DB_PARAMS_MAX);
	p->offsets[p->count] = p->bytes.len;
	p->lengths[p->count] = (int)len;
	p->nulls[p->count++] = false;
}

void
db_null(struct db_params *p)
{
	if (p->array_at != 0) {
		uint32_t none = UINT32_MAX, yes = htobe32(1);

		p->array_count++;
		buf_put(&p->bytes, &none, sizeof(none));
		if (!p->bytes.failed)
			memcpy(
			    p->bytes.ptr + p->array_at - 8, &yes, sizeof(yes));
		return;
	}
	begin(p, 0);
	p->nulls[p->count - 1] = true;
}

void
db_int2(struct db_params *p, int64_t value)
{
	uint16_t be = htobe16((uint16_t)value);

	begin(p, sizeof(be));
	buf_put(&p->bytes, &be, sizeof(be));
}

void
db_int4(struct db_params *p, int64_t value)
{
	uint32_t be = htobe32((uint32_t)value);

	begin(p, sizeof(be));
	buf_put(&p->bytes, &be, sizeof(be));
}

void
db_int8(struct db_params *p, int64_t value)
{
	uint64_t be = htobe64((uint64_t)value);

	begin(p, sizeof(be));
	buf_put(&p->bytes, &be, sizeof(be));
}

void
db_bool(struct db_params *p, bool value)
{
	begin(p, 1);
	buf_putc(&p->bytes, value ? 1 : 0);
}

void
db_uuid(struct db_params *p, const struct uuid *uuid)
{
	begin(p, sizeof(uuid->bytes));
	buf_put(&p->bytes, uuid->bytes, sizeof(uuid->bytes));
}

void
db_bytes(struct db_params *p, struct slice bytes)
{
	begin(p, bytes.len);
	buf_put_slice(&p->bytes, bytes);
}

void
db_text(struct db_params *p, struct slice text)
{
	if (text.len == 0)
		db_null(p);
	else
		db_bytes(p, text);
}

/* Header: dimensions, has nulls, element type, count, lower bound. An empty
 * array of one dimension with no elements is accepted as empty. */
void
db_array(struct db_params *p, enum db_oid oid)
{
	uint32_t head[5] = { htobe32(1), 0, htobe32((uint32_t)oid), 0,
		htobe32(1) };

	begin(p, 0);
	p->array_at = p->bytes.len + 12;
	p->array_count = 0;
	buf_put(&p->bytes, head, sizeof(head));
}

void
db_array_end(struct db_params *p)
{
	uint32_t be = htobe32(p->array_count);

	if (!p->bytes.failed)
		memcpy(p->bytes.ptr + p->array_at, &be, sizeof(be));
	p->array_at = 0;
	p->lengths[p->count - 1] =
	    (int)(p->bytes.len - p->offsets[p->count - 1]);
}

void
db_params_point(const struct db_params *p, const char *values[DB_PARAMS_MAX])
{
	for (int i = 0; i < p->count; i++) {
		/* libpq takes NULL for null; without a byte there is no ptr. */
		if (p->nulls[i])
			values[i] = NULL;
		else if (p->bytes.ptr == NULL)
			values[i] = "";
		else
			values[i] = p->bytes.ptr + p->offsets[i];
	}
}

void
db_params_clear(struct db_params *p)
{
	buf_clear(&p->bytes);
	p->count = 0;
	p->array_at = 0;
}

void
db_params_release(struct db_params *p)
{
	buf_release(&p->bytes);
}

/* ---- results ---- */

bool
db_is_null(const PGresult *r, int row, int column)
{
	return PQgetisnull(r, row, column);
}

struct slice
db_get(const PGresult *r, int row, int column)
{
	return slice_of(
	    PQgetvalue(r, row, column), (size_t)PQgetlength(r, row, column));
}

int64_t
db_get_int(const PGresult *r, int row, int column)
{
	struct slice s = db_get(r, row, column);
	uint64_t be8;
	uint32_t be4;
	uint16_t be2;

	switch (s.len) {
	case 8:
		memcpy(&be8, s.ptr, 8);
		return (int64_t)be64toh(be8);
	case 4:
		memcpy(&be4, s.ptr, 4);
		return (int32_t)be32toh(be4);
	case 2:
		memcpy(&be2, s.ptr, 2);
		return (int16_t)be16toh(be2);
	default:
		return 0;
	}
}

bool
db_get_bool(const PGresult *r, int row, int column)
{
	struct slice s = db_get(r, row, column);

	return s.len == 1 && s.ptr[0] != 0;
}

struct uuid
db_get_uuid(const PGresult *r, int row, int column)
{
	struct slice s = db_get(r, row, column);
	struct uuid uuid = { 0 };

	if (s.len == sizeof(uuid.bytes))
		memcpy(uuid.bytes, s.ptr, s.len);
	return uuid;
}
