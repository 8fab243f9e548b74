"""A fleet under steady load: sizes, memory and latency over time, as CSV and as a picture.

    scripts/chaos/run.sh soak [--minutes N] [--rate WEBHOOKS_PER_SECOND] [--output FOLDER]

From a sixth of the time to five sixths another session keeps a transaction open, as a forgotten report or a backup does:
PostgreSQL then removes no dead row. The status is 1 if a webhook was refused or a delivery is left over.
"""
import argparse, csv, os, signal, subprocess, sys, time
from database import binaries, wait
from picture import draw
from rig import ROOT, Fleet

SIZES = ("SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0), coalesce(sum(pg_stat_get_dead_tuples(c.oid)), 0) "
         "FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = 'signalbox' AND c.relkind = 'r'")
TABLES = ("SELECT c.relname, pg_total_relation_size(c.oid), pg_stat_get_dead_tuples(c.oid), pg_stat_get_live_tuples(c.oid) "
          "FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace "
          "WHERE n.nspname = 'signalbox' AND c.relkind = 'r' ORDER BY 2 DESC LIMIT 12")


def memory(pid):
    """Resident memory in MB."""
    with open(f"/proc/{pid}/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE") / 1e6


def percentile(sorted_times, part):
    return sorted_times[min(len(sorted_times) - 1, int(len(sorted_times) * part))] if sorted_times else 0.0


class Snapshot:
    """A session with a transaction that has seen the database and does not end."""

    def __init__(self, node):
        self.process = subprocess.Popen(
            [f"{binaries()}/psql", "-X", "-q", f"host=127.0.0.1 port={node.port} user=postgres dbname=signalbox"],
            env=dict(os.environ, PGPASSWORD="super"), stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
        self.process.stdin.write("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM pg_class;\n")
        self.process.stdin.flush()

    def end(self):
        self.process.stdin.close()
        self.process.wait()


def sample(fleet, began):
    bytes_used, dead = (float(x) for x in fleet.database.sql(SIZES, "signalbox").split("|"))
    times = sorted(fleet.ledger.take_times())
    row = {
        "minute": (time.monotonic() - began) / 60, "webhooks": len(times),
        "p50_ms": percentile(times, 0.5) * 1e3, "p99_ms": percentile(times, 0.99) * 1e3,
        "tables_mb": bytes_used / 1e6, "dead_rows": dead,
        "waiting": max(one.metric("signalbox_deliveries_waiting") for one in fleet.gateways)}
    for one in fleet.gateways:
        row[f"{one.name}_mb"] = memory(one.process.pid)
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--signalbox", default=f"{ROOT}/.build/release/signalbox")
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--rate", type=float, default=300)
    parser.add_argument("--output", default=".")
    arguments = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    os.makedirs(arguments.output, exist_ok=True)
    fleet = Fleet(arguments.signalbox)
    fleet.simulators.order({"order": "delay", "ms": 20})
    ledger = fleet.ledger
    ledger.pause = ledger.posters / arguments.rate
    began, rows, snapshot = time.monotonic(), [], None
    ledger.begin()
    next_at = began
    with open(f"{arguments.output}/soak.csv", "w", newline="") as file:
        table = None
        while (share := (time.monotonic() - began) / 60 / arguments.minutes) < 1:
            if snapshot is None and 1 / 6 <= share < 5 / 6:
                snapshot = Snapshot(fleet.database.leader())
            elif snapshot and share >= 5 / 6:
                if snapshot.process.poll() is None:
                    print_tables(fleet, "before the long transaction ends")
                    snapshot.end()
            next_at += 10
            time.sleep(max(0, next_at - time.monotonic()))
            # The simulators keep what they received, which is not what is measured.
            fleet.simulators.forget()
            row = sample(fleet, began)
            rows.append(row)
            table = table or csv.DictWriter(file, row.keys())
            if len(rows) == 1:
                table.writeheader()
            table.writerow(row)
            file.flush()
    ledger.end()
    wait(lambda: max(one.metric("signalbox_deliveries_waiting") for one in fleet.gateways) == 0, 60, "the last deliveries")
    print_tables(fleet, "at the end")
    delivered = sum(one.metric('signalbox_deliveries_total{[^}]*result="delivered"[^}]*}') for one in fleet.gateways)
    posted = len(ledger.promised)
    refused = sum(ledger.refused.values())
    print(f"soak: {arguments.minutes:.0f} minutes, {posted} pushes promised, {delivered:.0f} delivered, {refused} webhooks refused "
          f"{dict(ledger.refused)}")
    marks = [(arguments.minutes / 6, "transaction opened"), (arguments.minutes * 5 / 6, "and ended")]
    with open(f"{arguments.output}/soak.svg", "w") as file:
        file.write(draw([
            ("Answer to a webhook, ms", rows, {"p50": "p50_ms", "p99": "p99_ms"}),
            ("Memory of each gateway, MB", rows, {one.name: f"{one.name}_mb" for one in fleet.gateways}),
            ("Tables and indexes in the database, MB", rows, {"size": "tables_mb"}),
            ("Deliveries that wait", rows, {"waiting": "waiting"})], marks))
    if refused or delivered < posted:
        sys.exit(1)


def print_tables(fleet, when):
    print(f"soak: table, bytes, dead and live rows {when}:")
    for line in fleet.database.sql(TABLES, "signalbox").splitlines():
        print("  " + line.replace("|", "  "), flush=True)


main()
