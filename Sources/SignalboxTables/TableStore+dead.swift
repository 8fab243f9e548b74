public import SignalboxCore

/// The dead letters.
extension TableStore {
    /// Dead letters with ids from `fromID` on.
    public func deadLetters(
        _ filter: DeadFilter, fromID: UInt64, limit: Int
    ) async throws -> [DeadLetter] {
        try await read(.bulk) { try DeadTable.list(filter, fromID: fromID, limit: limit, $0) }
    }

    /// How many there are.
    public func deadCount(_ filter: DeadFilter) async throws -> Int {
        try await read(.bulk) { try DeadTable.count(filter, $0) }
    }

    /// Removes a part of them.
    public func purge(_ filter: DeadFilter, fromID: UInt64, limit: Int) async throws -> DeadPart {
        try await write(.bulk) { try DeadTable.purge(filter, fromID: fromID, limit: limit, $0) }
    }

    /// Removes what is too old or too much.
    public func trimDead(_ limits: DeadLimits, max: Int) async throws -> DeadTrim {
        try await write(.bulk) {
            try DeadTable.trim(limits, max: max, nowUnixMs: self.tableNowMs, $0)
        }
    }
}
