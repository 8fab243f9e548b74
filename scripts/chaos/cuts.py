"""Power cuts: SIGKILL at a random moment, and the files as the disk had them. Everything promised must arrive afterwards."""
import collections, errno, os, random, time
from gateway import Gateway
from ledger import Ledger
from power import Disk
from shim import DATABASE, LOG, Shim

KINDS = ["synced", "torn", "any"]


def cut_power(root, library, simulators, rounds, seed):
    """One gateway whose power is cut again and again; prints a row for each kind, and returns whether all is in order."""
    folder, chance = f"{root}/power", random.Random(seed)
    data = f"{folder}/data"
    os.makedirs(data, mode=0o700)
    os.symlink(f"{root}/secrets", f"{folder}/secrets")
    journal, sums, gateway, is_well = f"{folder}/journal", {}, None, True
    for number in range(rounds):
        kind = KINDS[number % 3]
        # Every other group of three: a sync fails once before the cut, and must not be believed afterwards.
        fails = number // 3 % 2 == 1
        shim = Shim(library, f"{folder}/control", data, journal)
        if os.path.exists(journal):
            os.remove(journal)
        disk = Disk(data)
        for provider in ("apns", "fcm"):
            simulators.call("POST", f"/{provider}/orders", {"order": "delay", "ms": chance.choice([0, 300])})
        variables = {**simulators.variables, **shim.variables}
        if gateway:
            gateway.environment.update(variables)
            gateway.start()
        else:
            gateway = Gateway(folder, variables)
        ledger = Ledger(gateway.port)
        ledger.pause = 0.01
        ledger.number = number * 1_000_000
        ledger.begin()
        if fails:
            time.sleep(chance.uniform(0.3, 1))
            shim.set(sync_errors=chance.randint(1, 3), sync_name=chance.choice([LOG, DATABASE]), sync_errno=errno.EIO)
        time.sleep(chance.uniform(0.1, 3))
        gateway.kill()
        ledger.end()
        disk.replay(journal)
        unsynced = disk.write(kind, chance)
        # Without the journal: this start is not cut.
        place, began = gateway.log_size(), time.monotonic()
        for name in ("SIGNALBOX_CHAOS_JOURNAL", "SIGNALBOX_CHAOS_CONTROL"):
            gateway.environment.pop(name, None)
        gateway.start()
        promised, missing = ledger.tokens(), None
        while missing is None or (missing and time.monotonic() < began + 60):
            if missing:
                time.sleep(0.2)
            times = simulators.times("apns")
            times.update(simulators.times("fcm"))
            missing = [token for token in promised if token not in times]
        took = time.monotonic() - began
        doubled = sum(len(times[token]) - 1 for token in promised if token in times)
        damage = gateway.log_after(place).count("damaged")
        one = sums.setdefault((fails, kind), collections.Counter())
        one.update(rounds=1, accepted=len(promised), missing=len(missing), doubled=doubled, unsynced=unsynced, damage=damage,
                   hits=shim.get("hits"))
        one["longest"] = max(one["longest"], took)
        if missing or damage:
            is_well = False
            print(f"round {number} (seed {seed}), {kind}: {len(missing)} missing, the log tells of damage {damage} times; "
                  f"see {folder}/log and {folder}-{number}", flush=True)
            os.system(f"cp -r {data} {folder}-{number}; cp {journal} {folder}-{number}/")
        # In good order: what the next round cuts is its own.
        gateway.stop()
        simulators.forget()
    words = {"synced": "what was synced is left", "torn": "a torn write is left", "any": "any sectors are left"}
    print("\n| cut | rounds | accepted | sent | doubled | missing | longest until all was there | changes not synced | failed syncs |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    for (fails, kind), one in sorted(sums.items()):
        before = ", an fsync failed before" if fails else ""
        print(f"| {words[kind]}{before} | {one['rounds']} | {one['accepted']} | {one['accepted'] - one['missing']} | {one['doubled']} "
              f"| {one['missing']} | {one['longest']:.1f} s | {one['unsynced']} | {one['hits']} |", flush=True)
    return is_well
