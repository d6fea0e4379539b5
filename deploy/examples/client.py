#!/usr/bin/python3
"""A client of reeve in one file: submit a run, follow it, cancel it.

    client.py SOCKET submit AGENT INPUT    prints the run's id
    client.py SOCKET follow ID             prints text as it streams
    client.py SOCKET cancel ID             ends it

SOCKET is the path of the supervisor's socket: $(cat var/service) after a
quickstart. Read it with docs/clients.md.
"""
import json
import secrets
import sys
import time
import uuid

import msgpack
import zmq

VERSION = 1 * 256 + 0
SUBMIT, CANCEL, WATCH, UNWATCH, FAILED, EVENT = 40, 43, 44, 45, 62, 63
PASSING = ("delta", "snapshot", "resync")  # have no seq of their own


def uuid7():
    """Milliseconds since 1970, then random bits (RFC 9562)."""
    n = time.time_ns() // 10**6 << 80 | secrets.randbits(80)
    return (n & ~(15 << 76 | 3 << 62) | 7 << 76 | 2 << 62).to_bytes(16, "big")


class Client:
    def __init__(self, path, answer_s=6, silence_s=5):
        self.socket = zmq.Context.instance().socket(zmq.DEALER)
        self.socket.linger = 0
        self.socket.connect("ipc://" + path)
        self.answer_s, self.silence_s = answer_s, silence_s
        self.request, self.events = 0, []  # events that came before an answer

    def receive(self, timeout_s):
        """The next message as (id, fields, body), or None."""
        if not self.socket.poll(timeout_s * 1000):
            return None
        frames = self.socket.recv_multipart()
        version, message, *fields = msgpack.unpackb(frames[0])
        if version // 256 != VERSION // 256:
            sys.exit("the supervisor speaks another major version")
        if message == FAILED:
            sys.exit("refused: " + fields[2])
        return message, fields, json.loads(frames[1]) if any(frames[1:]) else None

    def send(self, message, *fields, body=None):  # [version, id, request, …]
        self.request += 1
        frames = [msgpack.packb([VERSION, message, self.request, *fields])]
        self.socket.send_multipart(frames + ([body] if body else []))

    def ask(self, message, *fields, body=None):  # gives the answer's fields
        self.send(message, *fields, body=body)
        end = time.monotonic() + self.answer_s
        while got := self.receive(max(0, end - time.monotonic())):
            if got[0] == EVENT:
                self.events.append(got)
            elif got[1][0] == self.request:
                return got[1]
        sys.exit("no answer from the supervisor")

    def submit(self, agent, text):  # sending an id twice starts one run
        body = json.dumps({"input": text}).encode()
        return self.ask(SUBMIT, uuid7(), agent, body=body)[1]

    def cancel(self, run, reason=""):
        self.ask(CANCEL, run, reason)

    def follow(self, run, seq=0):
        """Yields (type, body) up to the last event, stored ones once each."""
        got = None
        while True:
            if got is None:  # begin, or a silence: is a supervisor there?
                self.ask(UNWATCH, run)
                self.send(WATCH, run, seq, True)
            got = self.events.pop(0) if self.events else self.receive(self.silence_s)
            if got and got[0] == EVENT and got[1][0] == run:
                new, kind, final = got[1][1:4]
                if kind in PASSING or new > seq:
                    yield kind, got[2]
                seq = max(seq, new)
                if final:
                    return


def follow(client, run):
    attempt = None
    for kind, body in client.follow(run):
        if kind in ("delta", "snapshot"):
            if attempt != (body["turn"], body["attempt"]):
                attempt, shown, text = (body["turn"], body["attempt"]), 0, ""
            news = body["deltas"]
            if kind == "delta":  # what a snapshot held already is left out
                news = news[max(0, shown - body["offset"]):]
            end = body["offset"] + (len(body["deltas"]) if kind == "delta" else 0)
            new = "".join(d[2] for d in news if d[0] == "text")
            new = new[len(text):] if kind == "snapshot" else new
            shown, text = max(shown, end), text + new
            print("".join(c for c in new if c.isprintable() or c == "\n"), end="")
            sys.stdout.flush()
        elif kind in ("tool_called", "tool_output"):
            print("\n[%s: %s]" % (kind, json.dumps(body)), flush=True)
    print("\n%s: %s" % (body["state"], json.dumps(body.get("output"))))
    return 0 if body["state"] == "completed" else 1


def usage(text):
    print(text, file=sys.stderr)
    sys.exit(2)


def run_id(text):
    try:
        return uuid.UUID(text).bytes
    except ValueError:
        usage("'%s' is no run id; submit prints one" % text)


def main():
    match sys.argv[1:]:
        case [path, "submit", agent, text]:
            print(uuid.UUID(bytes=Client(path).submit(agent, text)))
        case [path, "follow", run]:
            run = run_id(run)
            sys.exit(follow(Client(path), run))
        case [path, "cancel", run]:
            run = run_id(run)
            Client(path).cancel(run)
        case _:
            usage(__doc__)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit("\nstopped watching; a run that was accepted goes on")
