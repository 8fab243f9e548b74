public import SignalboxCore
internal import SignalboxThreads

extension PostgresStore: FleetStore {
    /// The gateways of the database, and the backlog of each lane.
    public func fleet() async throws -> Fleet {
        try await look { link, deadline throws(PostgresFault) in
            try FleetTables.read(link, byNs: deadline)
        }
    }

    /// Says which configuration this gateway has. Each heartbeat repeats it.
    public func setConfiguration(_ digest: String) {
        shared.configuration = digest
        let life = life
        change(
            { transaction in
                let values = Parameters(life.number, digest)
                transaction.send(FleetTables.configure, values)
            }, done: { _ in })
    }

    /// The same without a gateway: nothing in the database is changed.
    public static func fleet(
        of address: PostgresAddress, usesNames: Bool
    ) throws(StoreError) -> Fleet {
        let locks = LockWait(maxMs: LockWait.lookMs)
        return try Opening(address, usesNames: usesNames, locks: locks).fleet()
    }
}

extension Opening {
    fileprivate func fleet() throws(StoreError) -> Fleet {
        try requireTables()
        return try reporting { () throws(PostgresFault) in
            try FleetTables.read(link, byNs: SystemClock.monotonicNs + Session.statementsMaxNs)
        }
    }
}
