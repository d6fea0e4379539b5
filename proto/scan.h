/*
 * A look over one msgpack frame before anything is built from it: counts,
 * sizes, depth and number of values are bounded by what the frame really holds.
 * Allocates nothing.
 */
#ifndef PROTO_SCAN_H
#define PROTO_SCAN_H

#include "base/err.h"
#include "base/slice.h"

#define SCAN_DEPTH  8u    /* arrays and maps inside each other */
#define SCAN_VALUES 1024u /* of all kinds, maps' keys too */

/* 0 when the frame is exactly one value without extension types. ERR_INPUT and
 * ERR_LIMIT name the byte. */
int scan_frame(struct slice frame, struct err *err) CHECKED;

#endif
