#!/usr/bin/env python3
"""Tests the prompt on a terminal: editing, history across sessions, completion, input of several lines, Ctrl-C at the
prompt and in a search, and Ctrl-D. Runs `tg repl` on a pseudo-terminal and reads its output.

    repl_pty.py PATH_TO_TG

Waits for output, not for a time, so that the test does not depend on the machine's speed. The exception is a pause
before Ctrl-C, which must interrupt a running search.
"""
import os
import pty
import re
import select
import signal
import sys
import tempfile
import termios
import time
from pathlib import Path

TESTS = Path(__file__).resolve().parent.parent
PATIENCE_S = 240
ESCAPES = re.compile(rb"\x1b\[[0-9;?]*[A-Za-z]|\x1b[=>]|\x07")


class Terminal:
    """A session of `tg repl` on a pseudo-terminal."""

    def __init__(self, tg, state, *arguments):
        self.seen = ""
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.chdir(TESTS)
            os.environ.update(XDG_STATE_HOME=str(state), XDG_CACHE_HOME=str(state), TERM="xterm",
                              NO_COLOR="1", HOME=str(state))
            os.execv(tg, [tg, "repl", *arguments])
        # Wide enough that lines are not wrapped.
        termios.tcsetwinsize(self.fd, (50, 200))

    def wait(self, text):
        """Reads up to and including `text`, and discards it."""
        if not self.arrived(text, time.monotonic() + PATIENCE_S):
            self.fail(f"`{text}` never came")

    def arrived(self, text, deadline):
        """Returns true if `text` arrives before the deadline, and discards the output up to and including it."""
        while text not in self.seen:
            ready, _, _ = select.select([self.fd], [], [], max(0, deadline - time.monotonic()))
            if not ready:
                return False
            try:
                read = os.read(self.fd, 65536)
            except OSError:
                read = b""
            if not read:
                self.fail(f"the program ended before `{text}` came")
            self.seen += ESCAPES.sub(b"", read).decode("utf-8", "replace").replace("\r", "")
        _, _, self.seen = self.seen.partition(text)
        return True

    def send(self, keys):
        os.write(self.fd, keys.encode())

    def interrupt(self, text):
        """Sends Ctrl-C after a pause in which the command (or the line editor) starts, and waits for `text`. If the
        first Ctrl-C came too early, sends a second one; a third would end the program."""
        for pause in (1, PATIENCE_S / 2):
            if self.arrived(text, time.monotonic() + pause):
                return
            self.send("\x03")
        self.wait(text)

    def say(self, line, answer):
        """Sends a line, and waits for `answer` in the output and for the next prompt."""
        self.send(line + "\n")
        if answer:
            self.wait(answer)
        self.wait("tg> ")

    def end(self, keys):
        """Types `keys`, which end the session, and returns the exit code."""
        self.send(keys)
        deadline = time.monotonic() + PATIENCE_S
        while (left := deadline - time.monotonic()) > 0:
            try:
                if select.select([self.fd], [], [], left)[0] and not os.read(self.fd, 65536):
                    break
            except OSError:  # the program has closed the terminal
                break
        while time.monotonic() < deadline:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                os.close(self.fd)
                return os.waitstatus_to_exitcode(status)
            time.sleep(0.01)
        self.fail(f"{keys!r} did not end the program")

    def fail(self, why):
        os.kill(self.pid, signal.SIGKILL)
        sys.exit(f"repl_pty: {why}; unread output:\n{self.seen}")


def first_session(tg, state):
    t = Terminal(tg, state)
    t.wait("tg> ")
    t.say("x: f32[4, 8]", "x: f32[4, 8]\n")
    # Completion of a name and of a command.
    t.send("soft\t")
    t.wait("softmax ")
    t.send("\x15")  # kill the line
    t.send(":shap\t")
    t.wait(":shape ")
    t.send("x\n")
    t.wait("[4, 8], 32 elements")
    t.wait("tg> ")
    # Completion of a setting and of its value.
    t.send(":set node-l\t")
    t.wait(":set node-limit ")
    t.send("\x15:set search=ta\t")
    t.wait(":set search=taso ")
    t.send("\x15")
    t.say("let y = tnh(x)", "did you mean `tanh`")
    t.say("\x1b[A" + "\x1b[D" * 5 + "a" + "\x05", "y: f32[4, 8]\n")
    # Input of several lines has another prompt.
    t.send("fn f(x: f32[N]) {\n")
    t.wait("... ")
    t.send("  relu(x)\n")
    t.wait("... ")
    t.say("}", "fn f(x: f32[N])\n")
    # Ctrl-C discards the input, also of several lines, and keeps the session.
    t.send("let z = (1 +\n")
    t.wait("... ")
    t.send("2")
    t.interrupt("^C\n")
    t.wait("tg> ")
    t.say("z", "error[E0201]")
    t.say("y", "f32[4, 8]\n")
    if (code := t.end("\x04")) != 0:
        sys.exit(f"repl_pty: Ctrl-D left with exit code {code}")


def keyword_arguments(tg, state):
    """Tab within a call of an operator or a function completes names of missing arguments and the words that an
    argument takes, also if the call began in the previous line."""
    t = Terminal(tg, state)
    t.wait("tg> ")
    t.say("x: f32[4, 8]", "x: f32[4, 8]\n")
    t.say("let y = tanh(x)", "y: f32[4, 8]\n")
    t.send("softmax(x, ax\t")
    t.wait("axis = ")
    t.say("1)", "f32[4, 8]\n")
    t.send("matmul(x, transpose(x), act = re\t")
    t.wait("act = relu")
    t.send("\t")
    t.wait("relu  relu6")
    t.send("\x15")
    t.say("fn wide(x: f32[N, D], width: int, bias: bool = true) { x }", "fn wide(")
    t.send("wide(\t")
    t.wait("bias =  width =  x =")
    t.send("y,\n")
    t.wait("... ")
    t.send("widt\t")
    t.wait("width = ")
    t.send("3, bi\t")
    t.wait("bias = ")
    t.send("tr\t")
    t.wait("true ")
    t.say(")", "f32[4, 8]\n")
    if (code := t.end("exit\n")) != 0:
        sys.exit(f"repl_pty: exit left with exit code {code}")


def ways_out(tg, state):
    """The usual words end a session, unless the word is the name of a value."""
    for word in ("exit", "quit", "exit()", ":exit", ":quit"):
        t = Terminal(tg, state)
        t.wait("tg> ")
        if (code := t.end(word + "\n")) != 0:
            sys.exit(f"repl_pty: {word} left with exit code {code}")
    t = Terminal(tg, state)
    t.wait("tg> ")
    t.say("quit: f32[2]", "quit: f32[2]\n")
    t.say("quit", "f32[2]\n")
    if (code := t.end("exit\n")) != 0:
        sys.exit(f"repl_pty: exit left with exit code {code}")


def commands(tg, state):
    """Tests `:verify`, `:undo` and `:graph`, and their completion."""
    t = Terminal(tg, state)
    t.wait("tg> ")
    t.send(":gr\t")
    t.wait(":graph ")
    t.send("\x15")
    t.say("x: f32[4, 8]", "x: f32[4, 8]\n")
    t.say("let y = relu(relu(x))", "y: f32[4, 8]\n")
    t.say(":set cost=analytic:cpu", "")  # independent of times
    t.say(":opt", "operators        2         1")
    t.say(":verify", "equal")
    t.say("let y = tanh(x)", "y: f32[4, 8]\n")
    t.say(":graph", "tanh  f32[4, 8]")
    t.say(":undo", "undone: let y = tanh(x)\n")
    t.say(":graph", "relu  f32[4, 8]")
    if (code := t.end("quit\n")) != 0:
        sys.exit(f"repl_pty: quit left with exit code {code}")


def keys_at_once(tg, state):
    """The line editor receives keys as soon as the prompt is printed: Ctrl-D ends the session."""
    for _ in range(20):
        t = Terminal(tg, state)
        t.wait("tg> ")
        if (code := t.end("\x04")) != 0:
            sys.exit(f"repl_pty: Ctrl-D left with exit code {code}")


def second_session(tg, state):
    """Uses the history of the first session. Ctrl-C stops a search and keeps its result."""
    t = Terminal(tg, state, "golden/repl/blocks.tg")
    t.wait("tg> ")
    t.send("\x1b[A" * 2)
    t.wait("z")
    t.send("\x15")
    t.say("x: f32[1, 8]", "x: f32[1, 8]\n")
    t.say(":set cost=analytic:cpu", "")
    t.say(":opt tanh(x)", "")  # verifies the file's rules now, so that Ctrl-C below does not interrupt that
    # Without a memory limit, the search would run until memory is exhausted.
    for setting in ("extract=greedy", "time-limit=100000", "node-limit=2000000000",
                    "iterations=1000000", "multi-iterations=1000000", "memory-limit=2000"):
        t.say(":set " + setting, "")
    t.send(":opt tanh(fire(x, 64)) @ transpose(fire(x, 64)) * fire(fire(x, 32), 64)\n")
    t.wait("\n")
    t.interrupt("stopped by: interrupted")
    t.wait("tg> ")
    # Ctrl-C ends runs on both backends between two steps, and the session continues.
    t.say("v: f32[256, 256]", "")
    t.say(":set runs=1000000", "")
    for backend in ("ref", "cpu"):
        t.say(":set backend=" + backend, "")
        t.send(":run v @ v\n")
        t.wait("\n")
        t.interrupt("the run was stopped before it finished")
        t.wait("tg> ")
    t.say(":set runs=1", "")
    t.say(":run tanh(x)", "checksum")
    # Verification respects the limits of the session and Ctrl-C.
    t.say(":set time-limit=0", "")
    t.say(":verify tanh(x) + 1, 1 + tanh(x)", "undecided")
    t.say(":set time-limit=100000", "")
    t.say(":set threads=1", "")
    t.say("w: f32[2048, 2048]", "")
    t.send(":verify w @ w @ w @ w @ w, w @ (w @ (w @ (w @ w)))\n")
    t.wait("\n")
    t.interrupt("undecided")
    t.wait("tg> ")
    t.say(":show best", "model it(")
    t.say("x", "f32[1, 8]\n")
    if (code := t.end(":quit\n")) != 0:
        sys.exit(f"repl_pty: :quit left with exit code {code}")


def main():
    tg = str(Path(sys.argv[1]).resolve())
    with tempfile.TemporaryDirectory(prefix="tg-pty-") as state:
        first_session(tg, state)
        second_session(tg, state)
        keys_at_once(tg, state)
        keyword_arguments(tg, state)
        ways_out(tg, state)
        commands(tg, state)
        if not Path(state, "tangram", "history").exists():
            sys.exit("repl_pty: no history was kept")
    print("repl_pty: editing, history, completion, several rows, Ctrl-C, ways out, commands")


if __name__ == "__main__":
    main()
