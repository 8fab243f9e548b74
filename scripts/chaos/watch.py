"""What the log, the metrics and /readyz of a gateway say of a fault."""
import collections, re, threading

# A commit takes a few milliseconds.
SLOW_MS = 200
# Gauges and counters that have to do with a host; a change is shown.
TOLD = re.compile(r"signalbox_(disk_full|store_failing|store_faults_total|database_gone|requests_total_5xx|damaged_total|"
                  r"sender_held|leases_lost_total|stranded_total|outcomes_lost_total|config_last_reload_successful|"
                  r"limit_reached_total|checkpoints?_\w+|log_\w+|resources?_\w+|clock_\w+)$")


class Watch:
    """Asks five times a second, from `begin` to `end`."""

    def __init__(self, gateway):
        self.gateway, self.place, self.before = gateway, gateway.log_size(), gateway.metrics()
        self.states, self.changed, self.is_over = collections.Counter(), {}, threading.Event()
        self.commit_ms = 0.0
        self.thread = threading.Thread(target=self.run, daemon=True)

    def begin(self):
        self.thread.start()

    def run(self):
        while not self.is_over.is_set():
            self.look()
            self.is_over.wait(0.2)

    def look(self):
        status, body = self.gateway.ready()
        words = f"{status or 'no answer'} {body.get('status', '')}".strip()
        held = {one["state"] for one in body.get("senders", []) if "reason" in one}
        self.states[words + (f" ({', '.join(sorted(held))})" if held else "")] += 1
        now = self.gateway.metrics()
        for name, value in now.items():
            before = self.before.get(name, 0)
            if TOLD.match(name) and value != before:
                self.changed[name] = max(value, self.changed.get(name, 0))
        count = now.get("signalbox_commit_seconds_count", 0) - self.before.get("signalbox_commit_seconds_count", 0)
        if count > 0:
            took = now["signalbox_commit_seconds_sum"] - self.before.get("signalbox_commit_seconds_sum", 0)
            self.commit_ms = max(self.commit_ms, 1000 * took / count)

    def end(self):
        self.is_over.set()
        self.thread.join()

    def lines(self):
        """Messages of the log above `info`, with how often each came."""
        out = collections.Counter()
        for line in self.gateway.log_after(self.place).splitlines():
            words = line.split(" ")
            if len(words) > 2 and words[1] in ("NOTICE", "WARNING", "ERROR", "CRITICAL"):
                out[re.split(r" [a-z_.]+=", " ".join(words[2:]))[0]] += 1
            elif not re.match(r"\d{4}-", line) and re.search(r"crashed|[Ff]atal|abort|bad_alloc|memory", line):
                # A crash, told by Swift's runtime or a library.
                out[line.strip()[:70]] += 1
        return out

    def said(self):
        """The cells of a row: log, metrics, /readyz."""
        log = "; ".join(f"{text} ({count})" for text, count in self.lines().most_common(2) if text)
        metrics = ", ".join(name.removeprefix("signalbox_") + f" {value:.0f}" for name, value in sorted(self.changed.items()))
        if self.commit_ms > SLOW_MS:
            metrics += f"{', ' if metrics else ''}commit_seconds {self.commit_ms / 1000:.1f}"
        ready = ", ".join(words for words, _ in self.states.most_common(3))
        return [cell(log), cell(metrics), cell(ready)]

    def is_silent(self):
        is_calm = all(one.startswith("200 ready") for one in self.states)
        return is_calm and not self.lines() and not self.changed and self.commit_ms <= SLOW_MS


def cell(text):
    text = text.replace("|", "/").strip() or "nothing"
    return text if len(text) <= 120 else text[:117] + "..."
