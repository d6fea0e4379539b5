/*
 * The codec: one encoder and one decoder that walk the catalogue's tables over
 * msgpack-c. A frame is scanned before msgpack-c sees it. Owns nothing; what it
 * decodes points into the frame.
 */
#include "proto/message.h"

#include "base/utf8.h"
#include "proto/catalogue.h"
#include "proto/scan.h"

#include <inttypes.h>
#include <msgpack.h>

/* What stands before the fields: version and id. */
#define HEAD 2u

/* Enough for the values of most messages, and small for malloc: the 8 KiB that
 * msgpack_unpack_next takes each time cost more than all the rest. */
#define ZONE_BYTES 1000u

static void *
field_in(struct msg *msg, const struct field *field)
{
	return (char *)msg + field->offset;
}

static const void *
field_of(const struct msg *msg, const struct field *field)
{
	return (const char *)msg + field->offset;
}

/* ---- what a value may be, the same for both directions ---- */

static int
check_u64(const struct catalogue_message *message, const struct field *field,
    uint64_t value, struct err *err)
{
	if (field->limit == 0 || value <= field->limit)
		return 0;
	return err_set(err, ERR_LIMIT,
	    "%s.%s: %" PRIu64 ", allowed is 0 to %" PRIu64, message->name,
	    field->name, value, field->limit);
}

static int
check_str(const struct catalogue_message *message, const struct field *field,
    struct slice value, struct err *err)
{
	size_t valid;

	if (value.len > field->limit)
		return err_set(err, ERR_LIMIT,
		    "%s.%s: %zu bytes, allowed are at most %" PRIu64,
		    message->name, field->name, value.len, field->limit);
	if (value.len == 0)
		return 0;
	valid = utf8_valid(value);
	if (valid != value.len)
		return err_set(err, ERR_INPUT, "%s.%s: byte %zu is not UTF-8",
		    message->name, field->name, valid);
	if (memchr(value.ptr, 0, value.len) != NULL)
		return err_set(err, ERR_INPUT, "%s.%s: holds a NUL byte",
		    message->name, field->name);
	return 0;
}

/* ---- encoding ---- */

/* msgpack-c writes a few bytes at a time: most fit where the last ones went. */
static int
put(void *data, const char *ptr, size_t len)
{
	struct buf *out = data;

	if (len > out->cap - out->len) {
		buf_put(out, ptr, len);
		return 0;
	}
	memcpy(out->ptr + out->len, ptr, len);
	out->len += len;
	return 0;
}

static int
encode_field(const struct catalogue_message *message, const struct field *field,
    const struct msg *msg, msgpack_packer *packer, struct err *err)
{
	const void *at = field_of(msg, field);

	switch (field->type) {
	case FIELD_U64: {
		uint64_t value = *(const uint64_t *)at;

		if (check_u64(message, field, value, err) == -1)
			return -1;
		msgpack_pack_uint64(packer, value);
		return 0;
	}
	case FIELD_I64:
		msgpack_pack_int64(packer, *(const int64_t *)at);
		return 0;
	case FIELD_BOOL:
		if (*(const bool *)at)
			msgpack_pack_true(packer);
		else
			msgpack_pack_false(packer);
		return 0;
	case FIELD_STR: {
		struct slice value = *(const struct slice *)at;

		if (check_str(message, field, value, err) == -1)
			return -1;
		msgpack_pack_str(packer, value.len);
		if (value.len > 0)
			msgpack_pack_str_body(packer, value.ptr, value.len);
		return 0;
	}
	case FIELD_UUID:
		msgpack_pack_bin(packer, sizeof(struct uuid));
		msgpack_pack_bin_body(packer, at, sizeof(struct uuid));
		return 0;
	}
	BUG("field type %d", (int)field->type);
}

int
msg_encode(const struct msg *msg, struct buf *out, struct err *err)
{
	const struct catalogue_message *message = catalogue_message(msg->id);
	size_t start = out->len;
	msgpack_packer packer;

	if (message == NULL)
		BUG("message id %d", (int)msg->id);
	msgpack_packer_init(&packer, out, put);
	msgpack_pack_array(&packer, HEAD + message->count);
	msgpack_pack_unsigned_int(&packer, MESSAGE_MAJOR * 256 + MESSAGE_MINOR);
	msgpack_pack_unsigned_int(&packer, msg->id);
	for (size_t i = 0; i < message->count; i++) {
		if (encode_field(message, &message->fields[i], msg, &packer,
			err) == -1) {
			out->len = start;
			return -1;
		}
	}
	return buf_check(out, message->name, err);
}

/* ---- decoding ---- */

static const char *
expected(const struct field *field)
{
	switch (field->type) {
	case FIELD_U64:
		return "an integer from 0";
	case FIELD_I64:
		return "an integer of 64 bits";
	case FIELD_BOOL:
		return "true or false";
	case FIELD_STR:
		return "a string (str)";
	case FIELD_UUID:
		return "16 bytes (bin)";
	}
	BUG("field type %d", (int)field->type);
}

static int
refuse_type(const struct catalogue_message *message, const struct field *field,
    struct err *err)
{
	return err_set(err, ERR_INPUT, "%s.%s: must be %s", message->name,
	    field->name, expected(field));
}

static int
decode_field(const struct catalogue_message *message, const struct field *field,
    const msgpack_object *o, struct msg *msg, struct err *err)
{
	void *at = field_in(msg, field);

	switch (field->type) {
	case FIELD_U64:
		if (o->type != MSGPACK_OBJECT_POSITIVE_INTEGER)
			break;
		*(uint64_t *)at = o->via.u64;
		return check_u64(message, field, o->via.u64, err);
	case FIELD_I64:
		if (o->type == MSGPACK_OBJECT_NEGATIVE_INTEGER)
			*(int64_t *)at = o->via.i64;
		else if (o->type == MSGPACK_OBJECT_POSITIVE_INTEGER &&
			 o->via.u64 <= INT64_MAX)
			*(int64_t *)at = (int64_t)o->via.u64;
		else
			break;
		return 0;
	case FIELD_BOOL:
		if (o->type != MSGPACK_OBJECT_BOOLEAN)
			break;
		*(bool *)at = o->via.boolean;
		return 0;
	case FIELD_STR: {
		struct slice value = { o->via.str.ptr, o->via.str.size };

		if (o->type != MSGPACK_OBJECT_STR)
			break;
		*(struct slice *)at = value;
		return check_str(message, field, value, err);
	}
	case FIELD_UUID:
		if (o->type != MSGPACK_OBJECT_BIN ||
		    o->via.bin.size != sizeof(struct uuid))
			break;
		memcpy(at, o->via.bin.ptr, sizeof(struct uuid));
		return 0;
	}
	return refuse_type(message, field, err);
}

static int
decode_fields(const struct catalogue_message *message,
    const msgpack_object *values, size_t count, struct msg *msg,
    struct err *err)
{
	if (count > message->count && msg->minor <= MESSAGE_MINOR)
		return err_set(err, ERR_INPUT,
		    "%s: %zu fields, version %u.%u has %zu", message->name,
		    count, MESSAGE_MAJOR, msg->minor, message->count);
	for (size_t i = 0; i < message->count; i++) {
		const struct field *field = &message->fields[i];
		bool there =
		    i < count &&
		    (field->must || values[i].type != MSGPACK_OBJECT_NIL);

		if (there &&
		    decode_field(message, field, &values[i], msg, err) == -1)
			return -1;
		if (!there && field->must)
			return err_set(err, ERR_INPUT, "%s.%s: is missing",
			    message->name, field->name);
	}
	return 0;
}

static bool
head_number(const msgpack_object *o, uint64_t most, uint64_t *ret_number)
{
	*ret_number = o->via.u64;
	return o->type == MSGPACK_OBJECT_POSITIVE_INTEGER && o->via.u64 <= most;
}

static int
decode_root(const msgpack_object *root, struct msg *msg, struct err *err)
{
	const struct catalogue_message *message;
	const msgpack_object *values = root->via.array.ptr;
	uint64_t version, id;

	if (root->type != MSGPACK_OBJECT_ARRAY || root->via.array.size < HEAD)
		return err_set(
		    err, ERR_INPUT, "must be an array [version, id, fields…]");
	if (!head_number(&values[0], UINT16_MAX, &version))
		return err_set(err, ERR_INPUT,
		    "version must be an integer, major * 256 + minor");
	msg->minor = version & 255;
	if (version >> 8 != MESSAGE_MAJOR)
		return err_set(err, ERR_INPUT,
		    "message version %" PRIu64 ".%u is not spoken here, only "
		    "%u.%u",
		    version >> 8, msg->minor, MESSAGE_MAJOR, MESSAGE_MINOR);
	if (!head_number(&values[1], UINT32_MAX, &id))
		return err_set(err, ERR_INPUT, "id must be an integer");
	message = catalogue_message(id);
	if (message == NULL)
		return err_set(err, ERR_INPUT,
		    "unknown message id %" PRIu64 " (version %u.%u)", id,
		    MESSAGE_MAJOR, msg->minor);
	msg->id = (enum msg_id)id;
	return decode_fields(
	    message, values + HEAD, root->via.array.size - HEAD, msg, err);
}

int
msg_decode(struct msg *ret_msg, struct slice frame, struct err *err)
{
	struct msg msg = { 0 };
	msgpack_zone zone;
	msgpack_object root;
	size_t used = 0;
	int rc = -1;

	if (frame.len > LIMIT_MESSAGE)
		return err_set(err, ERR_LIMIT,
		    "message of %zu bytes, allowed are at most %u", frame.len,
		    LIMIT_MESSAGE);
	if (scan_frame(frame, err) == -1)
		return err_wrap(err, "message");
	if (!msgpack_zone_init(&zone, ZONE_BYTES))
		BUG("msgpack has no memory");
	if (msgpack_unpack(frame.ptr, frame.len, &used, &zone, &root) !=
		MSGPACK_UNPACK_SUCCESS ||
	    used != frame.len)
		err_set(err, ERR_INPUT, "message: is not msgpack");
	else
		rc = decode_root(&root, &msg, err);
	msgpack_zone_destroy(&zone);
	if (rc == 0)
		*ret_msg = msg;
	return rc;
}
