"""Three gateways behind HAProxy, on PostgreSQL with a synchronous standby: what was answered 2xx must arrive.

    scripts/chaos/run.sh fleet [--rounds N] [--seed N] [--only FAULT,...] [--newer SIGNALBOX]

Each round posts webhooks, does one harm, waits until everything that was promised has arrived, and prints a line of the
ledger. The last lines are a sum. The status is 1 if a push is missing or has two ids, if more were doubled than were in
flight, if work was taken over later than the lease and 2 s, or if a rolling restart refused a webhook.
"""
import argparse, collections, random, shutil, signal, sys, time
from database import wait
from rig import ROOT, Fleet

LEASE = 20.0
# To find what was left, and to count that nothing is.
SOON = 2.0
# Streams of one gateway to two providers.
IN_FLIGHT = 2 * 1000


class Rounds(Fleet):
    def __init__(self, arguments):
        super().__init__(arguments.signalbox)
        self.newer, self.random = arguments.newer, random.Random(arguments.seed)
        self.times = collections.defaultdict(list)

    # The harms. Each takes a gateway, and returns how long the others took until nothing was left, if they had to take
    # something over.

    def kill(self, one):
        began = time.monotonic()
        one.send(signal.SIGKILL)
        one.end()
        self.hurry()
        self.ledger.end()
        return self.wait_empty(one, began)

    def pause(self, one):
        """Longer than the lease, so that others have its work when it goes on."""
        began = time.monotonic()
        one.send(signal.SIGSTOP)
        self.hurry()
        time.sleep(1)
        self.ledger.end()
        took = self.wait_empty(one, began)
        time.sleep(max(0, began + LEASE + 5 - time.monotonic()))
        one.send(signal.SIGCONT)
        time.sleep(2)
        return took

    def cut(self, one):
        self.set(one, "cut")
        time.sleep(self.random.uniform(1, 6))
        self.set(one, "pass")
        time.sleep(2)

    def stall(self, one):
        self.set(one, "stall")
        time.sleep(self.random.uniform(3, LEASE + 10))
        self.set(one, "pass")
        time.sleep(2)

    def failover(self, one):
        leader = self.database.leader()
        leader.kill()
        wait(self.database.leader, 90, "the standby to take over")
        time.sleep(3)
        leader.start()

    def full(self, one):
        leader = self.database.leader()
        leader.fill()
        time.sleep(self.random.uniform(5, 10))
        leader.free()
        wait(self.database.leader, 90, "a database that takes writes")
        time.sleep(3)

    def rolling(self, one):
        for gateway in self.gateways:
            gateway.send(signal.SIGTERM)
            gateway.end()
            gateway.start(self.newer)
            gateway.wait_ready()
            # HAProxy asks every half a second.
            time.sleep(1)

    def wait_empty(self, one, began):
        """How long after the harm the other gateways had nothing left to do."""
        others = [gateway for gateway in self.gateways if gateway is not one]
        # They count what waits every second or so.
        wait(lambda: all(other.metric("signalbox_deliveries_waiting") == 0 for other in others), 120, "the others")
        return time.monotonic() - began

    def hurry(self):
        """The provider answers soon: what is late now waits for a lease, not for its place in a line."""
        self.simulators.order({"order": "delay", "ms": 15})

    def set(self, one, mode):
        for proxy in one.proxies:
            proxy.set(mode)

    def round(self, number, name):
        # So slow that a gateway always has pushes under way when something happens to it.
        self.simulators.order({"order": "delay", "ms": 500})
        ledger = self.ledger
        ledger.begin()
        time.sleep(self.random.uniform(1, 2))
        one, began = self.random.choice(self.gateways), time.monotonic()
        took_over = getattr(self, name)(one)
        ledger.end()
        self.hurry()
        promised = ledger.tokens()
        settled = self.wait_for(promised, began, 150)
        # What was sent and is not settled may be sent again.
        self.wait_empty(None, began)
        arrived = self.simulators.arrivals()
        missing = [token for token in promised if token not in arrived]
        doubled = [token for token in arrived if len(arrived[token]) > 1]
        two_ids = [token for token in doubled if len(set(arrived[token])) > 1]
        faults = []
        if missing:
            faults.append(f"missing {missing[:3]}")
        if two_ids:
            faults.append(f"two ids {two_ids[:3]}")
        if len(doubled) > IN_FLIGHT:
            faults.append("more doubled than were in flight")
        if name == "rolling" and ledger.refused:
            faults.append("a rolling restart refused webhooks")
        if took_over is not None and took_over > LEASE + SOON:
            faults.append(f"taken over later than {LEASE + SOON:.0f} s")
        over = "" if took_over is None else f" taken_over={took_over:.1f}s"
        print(f"{number:3} {name:8} {one.name} promised={len(promised)} missing={len(missing)} doubled={len(doubled)} "
              f"two_ids={len(two_ids)}{over} settled={settled:.1f}s slowest_answer={ledger.longest:.1f}s "
              f"refused={dict(ledger.refused)}{' FAULT: ' + '; '.join(faults) if faults else ''}", flush=True)
        for gateway in self.gateways:
            if not gateway.is_running():
                gateway.start()
            gateway.wait_ready()
        self.database.wait_whole()
        self.simulators.forget()
        self.times[name].append((took_over, ledger.longest))
        return collections.Counter(
            promised=len(promised), missing=len(missing), doubled=len(doubled), two_ids=len(two_ids), faults=len(faults),
            refused_rolling=sum(ledger.refused.values()) if name == "rolling" else 0)

    def wait_for(self, tokens, began, seconds=90):
        """How long after the harm all of these had arrived."""
        left = set(tokens)
        while left and time.monotonic() < began + seconds:
            asked = time.monotonic()
            left -= self.simulators.arrivals().keys()
            time.sleep(max(0.1, time.monotonic() - asked))
        return time.monotonic() - began


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--signalbox", default=f"{ROOT}/.build/release/signalbox")
    parser.add_argument("--newer", help="the program that a rolling restart starts instead")
    parser.add_argument("--rounds", type=int, default=50)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
    parser.add_argument("--only", default="kill,pause,cut,stall,failover,full,rolling")
    arguments = parser.parse_args()
    arguments.newer = arguments.newer or arguments.signalbox
    # Whatever ends this, what it started ends with it.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    harms = arguments.only.split(",")
    print(f"chaos-fleet: seed {arguments.seed}, {arguments.rounds} rounds", flush=True)
    fleet, total = Rounds(arguments), collections.Counter()
    print(f"chaos-fleet: logs in {fleet.folder}", flush=True)
    for number in range(1, arguments.rounds + 1):
        # Each harm comes as often as the others, in a random order.
        name = harms[number % len(harms)] if number <= len(harms) else fleet.random.choice(harms)
        total += fleet.round(number, name)
    print("chaos-fleet: " + " ".join(f"{key}={value}" for key, value in total.items()))
    for name, times in sorted(fleet.times.items()):
        over = [one for one, _ in times if one is not None]
        words = f", taken over after at most {max(over):.1f} s" if over else ""
        print(f"  {name}: {len(times)} rounds, slowest answer {max(one for _, one in times):.1f} s{words}")
    if total["faults"]:
        sys.exit(1)
    shutil.rmtree(fleet.folder, ignore_errors=True)


main()
