"""The fleet: PostgreSQL with a standby, three gateways, HAProxy, and simulators of the providers."""
import os, tempfile
from database import Cluster
from gateways import Balancer, Gateway
from ledger import Ledger, Simulators
from proxy import Proxy

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


class Fleet:
    """All servers, started on free ports; they end with this process."""

    def __init__(self, signalbox):
        self.folder = tempfile.mkdtemp(prefix="signalbox-fleet-")
        self.simulators = Simulators(signalbox, f"{self.folder}/secrets")
        self.database = Cluster(self.folder)
        self.database.start()
        self.gateways = [
            Gateway(f"gateway-{n}", self.folder, signalbox, f"{ROOT}/gateway.yaml", self.simulators.variables,
                    [Proxy(one.port) for one in self.database.nodes]) for n in (1, 2, 3)]
        for one in self.gateways:
            # The shipped configuration names its secrets below its own folder.
            os.symlink(f"{self.folder}/secrets", f"{one.folder}/secrets")
            one.start()
        for one in self.gateways:
            one.wait_ready()
        self.balancer = Balancer(self.folder, f"{ROOT}/deploy/haproxy.cfg", self.gateways)
        self.ledger = Ledger(self.balancer.port)
