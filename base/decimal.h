/*
 * JSON numbers by their digits: compared and divided exactly, however long they
 * are. Nothing is rounded, no double is involved.
 */
#ifndef BASE_DECIMAL_H
#define BASE_DECIMAL_H

#include "base/slice.h"

/* A number as JSON writes it. Borrows the digits. */
struct decimal {
	bool negative;                /* never for zero */
	struct slice whole, fraction; /* digits before and after the point */
	size_t first, last; /* first and last digit that is not 0, counted over
			     * whole and fraction together */
	bool zero;
	int64_t scale;     /* power of ten of the digit `last` */
	int64_t magnitude; /* power of ten of the digit `first` */
};

/* Of a text that is a JSON number (json_parse said so). Exponents past
 * ±DECIMAL_EXPONENT_MAX count as that. */
#define DECIMAL_EXPONENT_MAX INT64_C(1000000000000)
struct decimal decimal_read(struct slice number);

/* -1, 0, 1 as a < b, a == b, a > b. */
int decimal_compare(const struct decimal *a, const struct decimal *b);
/* 1, 1.0 and 10e-1 are; 1.5 is not. */
bool decimal_is_integer(const struct decimal *number);
/* Its value; false for fractions and what int64_t does not hold. */
bool decimal_i64(const struct decimal *number, int64_t *ret);
/* Is number a multiple of divisor? Always false for a divisor that is zero or
 * has more than DECIMAL_DIVISOR_DIGITS digits between its first and last one
 * that is not 0. */
#define DECIMAL_DIVISOR_DIGITS 18
bool decimal_is_multiple(
    const struct decimal *number, const struct decimal *divisor);
/* How many digits lie between the first and the last that is not 0. */
size_t decimal_digits(const struct decimal *number);
/* The digit at index i of `whole` and `fraction` together, 0 to 9. */
unsigned decimal_digit(const struct decimal *number, size_t i);

#endif
