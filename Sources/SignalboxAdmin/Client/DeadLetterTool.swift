internal import SignalboxConfig
internal import SignalboxCore
package import SignalboxGateway
internal import SignalboxStore

/// Dead letters for operators: through the admin listener of a running gateway, or else directly from the database.
package final class DeadLetterTool: Sendable {
    private enum Way {
        case store(SQLiteStore)
        case admin(AdminClient)
    }

    private static let partMax = 1_000
    private let way: Way
    /// Names in the configuration; nil without one, or if the gateway checks names.
    private let names: KnownNames?
    /// The user who runs the command, for the audit.
    private let by: String

    /// Opens the dead letters of the gateway with that configuration; with a data folder in the options, those in the
    /// folder, and with an admin listener, those of its gateway. Creates nothing.
    package static func open(_ options: GatewayOptions) async throws -> DeadLetterTool {
        let config = options.dataFolder == nil ? try options.readableConfig() : nil
        // A shared database is accessed through one of its gateways.
        if let config, options.admin != nil || config.gateway.store != nil {
            return DeadLetterTool(.admin(try AdminClient(config, options)), options)
        }
        do throws(StoreError) {
            return DeadLetterTool(
                .store(try options.existingStore(config)), options, config.map { KnownNames($0) })
        } catch {
            guard error.code == "store-in-use", let config else { throw error }
            return DeadLetterTool(.admin(try AdminClient(config, options)), options)
        }
    }

    private init(_ way: Way, _ options: GatewayOptions, _ names: KnownNames? = nil) {
        (self.way, self.names, by) = (way, names, options.operatorName)
    }

    /// Throws if a named sender or route does not exist; a running gateway checks this itself.
    private func check(_ chosen: AdminInput) async throws {
        guard case .store(let store) = way else { return }
        if let fault = try await names?.fault(of: DeadFilter(chosen), in: store) {
            throw AdminFault(description: fault)
        }
    }

    /// Closes the tool.
    package func close() async {
        switch way {
        case .store(let store): await store.close()
        case .admin(let client): await client.close()
        }
    }

    /// Dead letters as lines of text or of JSON, oldest id first.
    package func list(
        _ chosen: AdminInput, limit: Int, asJSON isJSON: Bool
    ) async throws -> [String] {
        var out: [String] = []
        try await read(chosen, limit: limit) { letters in
            out += letters.map { isJSON ? $0.withTimes.text : Self.line($0) }
        }
        return out
    }

    private static func line(_ letter: JSONValue) -> String {
        func text(_ key: String) -> String { letter[key]?.string ?? "" }
        let parts = [
            TimeText.utc(UInt64(clamping: letter["unix_ms"]?.integer ?? 0)),
            "\(letter["id"]?.integer ?? 0)", text("sender"), text("route"), text("app"),
            text("user"), text("reason"),
        ]
        return parts.map { part in
            part.isEmpty ? "-" : String(part.map { $0.isNewline || $0 == "\u{1B}" ? " " : $0 })
        }.joined(separator: "  ")
    }

    /// Counts by sender and reason, the largest first.
    package func counts(
        _ chosen: AdminInput
    ) async throws -> [(count: Int, sender: String, reason: String)] {
        var counts: [[String]: Int] = [:]
        try await read(chosen, limit: .max) { letters in
            for letter in letters {
                let key = [letter["sender"]?.string ?? "", letter["reason"]?.string ?? ""]
                counts[key, default: 0] += 1
            }
        }
        return counts.map { (count: $0.value, sender: $0.key[0], reason: $0.key[1]) }
            .sorted { ($1.count, $0.sender, $0.reason) < ($0.count, $1.sender, $1.reason) }
    }

    /// Reads dead letters in batches, oldest id first.
    private func read(
        _ chosen: AdminInput, limit: Int, _ body: ([JSONValue]) -> Void
    ) async throws {
        try await check(chosen)
        var left = limit
        var from: UInt64? = 0
        while let start = from, left > 0 {
            let part = min(Self.partMax, left)
            switch way {
            case .store(let store):
                let letters = try await store.deadLetters(
                    DeadFilter(chosen), fromID: start, limit: part)
                body(letters.map(\.json))
                left -= letters.count
                from = letters.count < part ? nil : letters.last.map { $0.id + 1 }
            case .admin(let client):
                let json = try await client.ask(
                    .deadList, chosen.adding(["from": start, "limit": UInt64(part)]))
                if case .array(let items) = json["dead"] {
                    body(items)
                    left -= items.count
                }
                from = json["next"]?.integer.map { UInt64(clamping: $0) }
            }
        }
    }

    /// The number of dead letters.
    package func count(_ chosen: AdminInput) async throws -> Int {
        try await check(chosen)
        switch way {
        case .store(let store): return try await store.deadCount(DeadFilter(chosen))
        case .admin(let client):
            let json = try await client.ask(.deadList, chosen.adding(["limit": 1 as UInt64]))
            return Int(json["count"]?.integer ?? 0)
        }
    }

    /// One dead letter as JSON text, or nil.
    package func show(_ id: UInt64) async throws -> String? {
        if case .admin(let client) = way {
            do {
                return try await client.ask(.deadLetter, suffix: "\(id)").withTimes.text
            } catch let fault as AdminFault where fault.status == 404 {
                return nil
            }
        }
        return try await list(["ids": [id]], limit: 1, asJSON: true).first
    }

    /// Sends them again; returns how many.
    package func replay(
        _ chosen: AdminInput, progress: (Int) -> Void
    ) async throws -> Int {
        try await inParts(chosen, .replay, progress) { store, from in
            try await store.replay(DeadFilter(chosen), fromID: from, limit: Self.partMax)
        }
    }

    /// Deletes them; returns how many.
    package func purge(
        _ chosen: AdminInput, progress: (Int) -> Void
    ) async throws -> Int {
        try await inParts(chosen, .purge, progress) { store, from in
            try await store.purge(DeadFilter(chosen), fromID: from, limit: Self.partMax)
        }
    }

    private func inParts(
        _ chosen: AdminInput, _ call: AdminCall, _ progress: (Int) -> Void,
        _ direct: (SQLiteStore, UInt64) async throws -> DeadPart
    ) async throws -> Int {
        var done = 0
        var from: UInt64? = 0
        while let start = from {
            switch way {
            case .store(let store):
                let part = try await direct(store, start)
                done += part.count
                from = part.nextID
            case .admin(let client):
                let json = try await client.ask(
                    call,
                    chosen.adding(["from": start, "limit": UInt64(Self.partMax), "by": by]))
                done &+= Int(clamping: json["count"]?.integer ?? 0)
                from = json["next"]?.integer.map { UInt64(clamping: $0) }
            }
            progress(done)
        }
        return done
    }
}
