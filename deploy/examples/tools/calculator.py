#!/usr/bin/python3
"""Works out an expression: {"expression": "2 * (3 + 4)"} on standard input.

The expression is parsed, never executed: numbers, + - * / // % **, and
parentheses are all there is. Fractions are exact (0.1 + 0.2 is 0.3); powers
that are none of whole numbers are rounded as usual.
"""

import ast
import json
import operator
import sys
from fractions import Fraction

LENGTH_MAX = 1000  # characters of an expression
BITS_MAX = 12000  # of a number on the way: about 3,600 digits

OPERATORS = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}


class Refused(Exception):
    """What is wrong with the expression, for whoever wrote it."""


def bits(number):
    return number.numerator.bit_length() + number.denominator.bit_length()


def power(base, exponent):
    if exponent.denominator == 1:
        if base == 0 and exponent < 0:
            raise ZeroDivisionError
        if abs(base) not in (0, 1) and bits(base) * abs(exponent) > BITS_MAX:
            raise Refused("the result of ** is too large")
        return base ** int(exponent)
    result = float(base) ** float(exponent)
    if isinstance(result, complex):
        raise Refused("a root of a negative number is no real number")
    return Fraction(str(result))


def evaluate(node):
    if isinstance(node, ast.Expression):
        return evaluate(node.body)
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        return Fraction(str(node.value))
    if isinstance(node, ast.UnaryOp):
        if isinstance(node.op, ast.USub):
            return -evaluate(node.operand)
        if isinstance(node.op, ast.UAdd):
            return evaluate(node.operand)
    if isinstance(node, ast.BinOp):
        left, right = evaluate(node.left), evaluate(node.right)
        if isinstance(node.op, ast.Pow):
            return power(left, right)
        if type(node.op) in OPERATORS:
            result = Fraction(OPERATORS[type(node.op)](left, right))
            if bits(result) > BITS_MAX:
                raise Refused("a number on the way is too large")
            return result
    raise Refused(
        "only numbers, + - * / // % ** and parentheses are understood"
    )


def text(number):
    if number.denominator == 1:
        return str(number.numerator)
    return repr(float(number))


def calculate(expression):
    if len(expression) > LENGTH_MAX:
        raise Refused(f"more than {LENGTH_MAX} characters")
    try:
        return text(evaluate(ast.parse(expression.strip(), mode="eval")))
    except ZeroDivisionError:
        raise Refused("division by zero") from None
    except OverflowError:
        raise Refused("a number on the way is too large") from None
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise Refused("this is no expression") from None


def main():
    try:
        expression = json.load(sys.stdin)["expression"]
    except (ValueError, KeyError, TypeError):
        sys.exit('calculator: the arguments must be {"expression": "…"}')
    if not isinstance(expression, str):
        sys.exit("calculator: expression must be a text")
    try:
        print(calculate(expression))
    except Refused as refused:
        sys.exit(f"calculator: {refused}")


main()
