#!/usr/bin/env python3
"""Faults of the host under a running gateway: disk, clock, power, descriptors, threads, memory.

  scripts/chaos/run.sh host [--only PART,...] [--rounds N] [--seed N]

Each fault has a gateway of its own on SQLite, with the shipped gateway.yaml, under load. Afterwards every push that was
promised (webhook answered 2xx) must have arrived at APNs and FCM. Prints a row of the ledger per fault. Power is cut N
times (24). Exits 1 if a push is missing, if the gateway does not come back by itself, or if nothing told of a fault.
"""
import argparse, os, random, sys, tempfile, time
from cuts import cut_power
from gateway import SIGNALBOX, Gateway
from host_faults import faults
from ledger import Ledger, Simulators
from shim import Shim, build
from watch import Watch, cell

BACK_MAX = 90


class Trial:
    """One fault: a gateway, its shim, its providers, and the load on it."""

    def __init__(self, root, library, name, simulators, share_clock=False, disk_mb=0):
        self.folder = tempfile.mkdtemp(prefix="fault-", dir=root)
        self.data, self.is_mounted = f"{self.folder}/data", False
        os.makedirs(self.data, mode=0o700)
        if disk_mb:
            self.is_mounted = os.getuid() == 0 and not os.system(
                f"mount -t tmpfs -o size={disk_mb}m,mode=0700 signalbox-chaos {self.data} 2>/dev/null")
        self.shim = Shim(library, f"{self.folder}/control", self.data)
        if share_clock:
            # Providers of its own, whose clock is the gateway's.
            simulators = Simulators(SIGNALBOX, f"{self.folder}/providers", self.shim.variables)
            os.symlink(f"{self.folder}/providers", f"{self.folder}/secrets")
        else:
            os.symlink(f"{root}/secrets", f"{self.folder}/secrets")
        self.simulators, self.owns_simulators = simulators, share_clock
        self.gateway = Gateway(self.folder, {**simulators.variables, **self.shim.variables})
        self.ledger = Ledger(self.gateway.port)
        # 4 posters: at most 200 a second.
        self.ledger.pause = 0.02
        self.remarks = []

    def arrived(self):
        times = self.simulators.times("apns")
        times.update(self.simulators.times("fcm"))
        return times

    def wait_arrived(self, tokens, seconds):
        """Waits until all of them are there; when that was, or None."""
        deadline = time.monotonic() + seconds
        while True:
            times = self.arrived()
            if all(token in times for token in tokens):
                return time.monotonic()
            if time.monotonic() > deadline:
                return None
            time.sleep(0.25)

    def close(self):
        self.ledger.end()
        self.gateway.kill()
        if self.owns_simulators:
            self.simulators.process.kill()
        else:
            self.simulators.call("POST", "/fcm/orders", {"order": "clear"})
            self.simulators.forget()
        if self.is_mounted:
            os.system(f"umount -l {self.data}")


def until(condition, seconds, step=0.05):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(step)
    return False


def run(fault, trial):
    """The row of one fault, and whether it is in order."""
    gateway, ledger = trial.gateway, trial.ledger
    ledger.begin()
    # Warm: connections, tokens, and some thousand pages.
    until(lambda: len(ledger.tokens()) > 400, 30)
    watch = Watch(gateway)
    fault.begin(trial)
    watch.begin()
    fault.during(trial)
    watch.end()
    promised = ledger.tokens()
    hits = trial.shim.get("hits")
    fault.end(trial)
    ended = time.monotonic()
    ledger.mark()
    ok = True
    if not gateway.is_running():
        trial.remarks.append(f"ended with status {gateway.process.returncode}, started again")
        ok = fault.may_end
        ended = time.monotonic()
        gateway.start()
    if fault.verdict():
        trial.remarks.append(fault.verdict())
        ok = False
    if not until(lambda: ledger.accepted_again, BACK_MAX):
        trial.remarks.append(f"no webhook accepted {BACK_MAX} s after the end")
        ok = False
    there = trial.wait_arrived(promised, BACK_MAX)
    time.sleep(0.5)
    ledger.end()
    promised = ledger.tokens()
    trial.wait_arrived(promised, BACK_MAX if there else 1)
    if not until(lambda: gateway.ready()[1].get("status") == "ready", 30):
        trial.remarks.append(f"/readyz says {gateway.ready()[1].get('status')} 30 s later")
        ok = False
    times = trial.arrived()
    missing = sum(token not in times for token in promised)
    doubled = sum(len(times[token]) - 1 for token in promised if token in times)
    well = f"{max(there, ledger.accepted_again or 1e9) - ended:.1f} s" if there else "never"
    refused = ", ".join(f"{what}: {count}" for what, count in sorted(ledger.refused.items())) or "0"
    silent = watch.is_silent() and fault.must_show
    if silent:
        trial.remarks.append("SILENT")
    if fault.by_shim and not hits:
        trial.remarks.append("the shim met no call")
        ok = False
    row = [fault.name, len(promised), cell(refused), len(promised) - missing, doubled, missing, well, *watch.said()]
    return row, ok and not missing and not silent


def print_row(row, remarks):
    print("| " + " | ".join(str(one) for one in row) + " |" + "".join(f"  <- {one}" for one in remarks), flush=True)


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--only", default="", help="parts of names, with commas")
    options.add_argument("--rounds", type=int, default=24, help="power cuts")
    options.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    options = options.parse_args()
    root = tempfile.mkdtemp(prefix="signalbox-host-")
    library = build(root)
    simulators = Simulators(SIGNALBOX, f"{root}/secrets")
    only = [part.strip() for part in options.only.split(",") if part.strip()]
    print("| fault | accepted | refused | sent | doubled | missing | well after | log | metrics | /readyz |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |", flush=True)
    is_well = True
    for fault in faults():
        if only and not any(part in fault.name for part in only):
            continue
        trial = Trial(root, library, fault.name, simulators, fault.share_clock, fault.disk_mb)
        try:
            row, ok = run(fault, trial)
        finally:
            trial.close()
        print_row(row, trial.remarks + ([] if ok else [f"see {trial.folder}/log"]))
        is_well &= ok
    if not only or any(part in "power is cut" for part in only):
        is_well &= cut_power(root, library, simulators, options.rounds, options.seed)
    return 0 if is_well else 1


if __name__ == "__main__":
    sys.exit(main())
