#!/usr/bin/python3
"""The weather in a city: {"city": "Paris"} on standard input.

An example: the report is worked out from the letters of the name, so that the
same city always has the same weather. Nothing is asked of anybody.
"""

import hashlib
import json
import sys

SKIES = ["sunny", "partly cloudy", "cloudy", "light rain", "showers", "fog"]
WINDS = ["north", "east", "south", "west"]


def report(city):
    name = " ".join(city.split()).casefold()
    dice = hashlib.sha256(name.encode("utf-8", "replace")).digest()
    sky = SKIES[dice[0] % len(SKIES)]
    degrees = dice[1] % 31 - 2
    wind = WINDS[dice[2] % len(WINDS)]
    speed = dice[3] % 40
    return (
        f"{sky}, {degrees} °C, wind from the {wind} at {speed} km/h "
        "(an example, made up from the name)"
    )


def main():
    try:
        city = json.load(sys.stdin)["city"]
    except (ValueError, KeyError, TypeError):
        sys.exit('weather: the arguments must be {"city": "…"}')
    if not isinstance(city, str) or not city.strip():
        sys.exit("weather: city must be the name of a city")
    sys.stdout.reconfigure(encoding="utf-8")
    print(report(city))


main()
