/*
 * Decimal arithmetic on the text of a number: a number is its digits without
 * leading and trailing zeros, and the power of ten of the last one. Copies no
 * digits, allocates nothing.
 */
#include "base/decimal.h"

static size_t
digits_end(const char *ptr, size_t from, size_t len)
{
	while (from < len && ptr[from] >= '0' && ptr[from] <= '9')
		from++;
	return from;
}

static int64_t
exponent_read(struct slice text)
{
	bool negative = false;
	int64_t value = 0;
	size_t i = 0;

	if (i < text.len && (text.ptr[i] == '-' || text.ptr[i] == '+'))
		negative = text.ptr[i++] == '-';
	for (; i < text.len; i++) {
		value = value * 10 + (text.ptr[i] - '0');
		if (value > DECIMAL_EXPONENT_MAX)
			value = DECIMAL_EXPONENT_MAX;
	}
	return negative ? -value : value;
}

unsigned
decimal_digit(const struct decimal *number, size_t i)
{
	char c = i < number->whole.len
		     ? number->whole.ptr[i]
		     : number->fraction.ptr[i - number->whole.len];

	return (unsigned)(c - '0');
}

size_t
decimal_digits(const struct decimal *number)
{
	return number->zero ? 0 : number->last - number->first + 1;
}

struct decimal
decimal_read(struct slice number)
{
	struct decimal d = { 0 };
	size_t at = 0, end, total;
	int64_t exponent = 0;

	d.negative = number.len > 0 && number.ptr[0] == '-';
	at += d.negative;
	end = digits_end(number.ptr, at, number.len);
	d.whole = slice_of(number.ptr + at, end - at);
	d.fraction = slice_of(number.ptr + end, 0);
	if (end < number.len && number.ptr[end] == '.') {
		at = end + 1;
		end = digits_end(number.ptr, at, number.len);
		d.fraction = slice_of(number.ptr + at, end - at);
	}
	if (end < number.len)
		exponent = exponent_read(
		    slice_of(number.ptr + end + 1, number.len - end - 1));
	total = d.whole.len + d.fraction.len;
	while (d.first < total && decimal_digit(&d, d.first) == 0)
		d.first++;
	if (d.first == total) {
		d.zero = true;
		d.negative = false;
		return d;
	}
	d.last = total - 1;
	while (decimal_digit(&d, d.last) == 0)
		d.last--;
	d.scale = exponent + (int64_t)d.whole.len - 1 - (int64_t)d.last;
	d.magnitude = exponent + (int64_t)d.whole.len - 1 - (int64_t)d.first;
	return d;
}

static int
compare_size(const struct decimal *a, const struct decimal *b)
{
	if (a->magnitude != b->magnitude)
		return a->magnitude < b->magnitude ? -1 : 1;
	for (size_t i = 0; i < decimal_digits(a) || i < decimal_digits(b);
	     i++) {
		unsigned x =
		    i < decimal_digits(a) ? decimal_digit(a, a->first + i) : 0;
		unsigned y =
		    i < decimal_digits(b) ? decimal_digit(b, b->first + i) : 0;

		if (x != y)
			return x < y ? -1 : 1;
	}
	return 0;
}

int
decimal_compare(const struct decimal *a, const struct decimal *b)
{
	int sign_a = a->zero ? 0 : a->negative ? -1 : 1;
	int sign_b = b->zero ? 0 : b->negative ? -1 : 1;

	if (sign_a != sign_b)
		return sign_a < sign_b ? -1 : 1;
	if (sign_a == 0)
		return 0;
	return sign_a * compare_size(a, b);
}

bool
decimal_is_integer(const struct decimal *number)
{
	return number->zero || number->scale >= 0;
}

bool
decimal_i64(const struct decimal *number, int64_t *ret)
{
	int64_t value = 0;

	if (number->zero) {
		*ret = 0;
		return true;
	}
	if (number->scale < 0 || number->magnitude > 18)
		return false;
	for (size_t i = 0; i <= (size_t)number->magnitude; i++) {
		int64_t digit =
		    i < decimal_digits(number)
			? (int64_t)decimal_digit(number, number->first + i)
			: 0;

		if (__builtin_mul_overflow(value, 10, &value) ||
		    __builtin_sub_overflow(value, digit, &value))
			return false;
	}
	if (!number->negative && __builtin_mul_overflow(value, -1, &value))
		return false;
	*ret = value;
	return true;
}

__extension__ typedef unsigned __int128 wide;

static uint64_t
times(uint64_t a, uint64_t b, uint64_t modulus)
{
	return (uint64_t)((wide)a * b % modulus);
}

/* Its digits as a number; 0 for zero and for more digits than fit. */
static uint64_t
digits_value(const struct decimal *number)
{
	uint64_t value = 0;

	if (number->zero || decimal_digits(number) > DECIMAL_DIVISOR_DIGITS)
		return 0;
	for (size_t i = number->first; i <= number->last; i++)
		value = value * 10 + decimal_digit(number, i);
	return value;
}

/* number = A * 10^x and divisor = B * 10^y, neither A nor B ending in 0. With
 * x < y the quotient would need A to end in 0; else B must divide
 * A * 10^(x - y). */
bool
decimal_is_multiple(const struct decimal *number, const struct decimal *divisor)
{
	uint64_t b = digits_value(divisor), rest = 0, ten;

	if (b == 0)
		return false;
	if (number->zero)
		return true;
	if (number->scale < divisor->scale)
		return false;
	for (size_t i = number->first; i <= number->last; i++)
		rest = (times(rest, 10, b) + decimal_digit(number, i)) % b;
	ten = 10 % b;
	for (int64_t power = number->scale - divisor->scale; power > 0;
	     power /= 2) {
		if (power % 2 == 1)
			rest = times(rest, ten, b);
		ten = times(ten, ten, b);
	}
	return rest == 0;
}
