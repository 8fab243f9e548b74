internal import SignalboxConfig
package import SignalboxCore
internal import SignalboxGateway
internal import SignalboxPostgres
internal import SignalboxStore
internal import SignalboxThreads

/// Operators' commands for a whole store: show its status, create its tables, copy it.
///
/// A store is named by a data folder, by the address of a database, or by a gateway.yaml that names one.
package enum StoreTool {
    /// How far a copy has come.
    package struct Progress: Sendable {
        /// What is being copied.
        package var words: String
        /// How many are copied.
        package var done: Int
        /// How many there are.
        package var total: Int
        /// Whether all are copied.
        package var isLast: Bool
    }

    /// What a copy did.
    package struct Copied: Sendable {
        /// One line for each kind of record.
        package var lines: [String]
        /// Deliveries of the source that could not be read.
        package var damaged: Int
        /// Deliveries that wait in both stores.
        package var waiting: Int
        /// The source; contains no password.
        package var source: String
        /// Whether an earlier copy was complete, so that nothing was left to do.
        package var wasFinished: Bool
    }

    /// Why a command failed.
    package struct Fault: Error, Sendable, CustomStringConvertible {
        /// Names the store, the fault and the fix.
        package let description: String
        /// Whether the same command may succeed later.
        package let isTemporary: Bool

        package init(_ error: StoreError) {
            description = error.message
            isTemporary = StoreError.temporaryCodes.contains(error.code)
        }

        package init(_ words: String) {
            description = words
            isTemporary = false
        }
    }

    /// What is in a store, as text for people or as JSON.
    package static func status(_ store: String, asJSON isJSON: Bool) async throws -> String {
        try await aside {
            let status =
                switch try StorePlace(store, as: "STORE") {
                case .folder(let folder): try SQLiteContents.status(folder: folder)
                case .database(let address): try PostgresContents.status(address)
                }
            return isJSON ? status.json.text : status.text
        }
    }

    /// Creates the tables of a store if they are missing. Returns what it did; `waiting` is told what it waits for.
    package static func migrate(
        _ store: String, waiting: @escaping @Sendable (String) -> Void
    ) async throws -> String {
        try await aside {
            let place = try StorePlace(store, as: "STORE")
            let isNew =
                switch place {
                case .folder(let folder): try SQLiteContents.migrate(folder: folder)
                case .database(let address): try PostgresContents.migrate(address, waiting: waiting)
                }
            return "\(place.words): "
                + (isNew ? "the tables were made" : "the tables are up to date")
        }
    }

    /// Copies everything from one store to another, or resumes an unfinished copy.
    package static func copy(
        from: String, to: String, waiting: @escaping @Sendable (String) -> Void,
        progress: @escaping @Sendable (Progress) -> Void
    ) async throws -> Copied {
        try await aside {
            let source = try StorePlace(from, as: "--from")
            let target = try StorePlace(to, as: "--to")
            guard source.words != target.words else {
                throw Fault("\(source.words) cannot be copied to itself; --to names another store")
            }
            let reader = try source.open(.source, waiting)
            defer { reader.close() }
            let writer = try target.open(.target, waiting)
            defer { writer.close() }
            let result = try StoreCopy(from: reader, to: writer).run {
                progress(
                    Progress(
                        words: $0.kind.words, done: $0.done, total: $0.total, isLast: $0.isLast))
            }
            let lines = StoredKind.allCases.compactMap { kind in
                result.counts[kind].flatMap { $0 == 0 ? nil : "\($0) \(kind.words)" }
            }
            return Copied(
                lines: lines, damaged: result.damaged, waiting: result.counts[.waiting] ?? 0,
                source: source.words, wasFinished: result.wasFinished)
        }
    }

    private static func aside<Value: Sendable>(
        _ body: @escaping @Sendable () throws -> Value
    ) async throws -> Value {
        let result = await SystemThread.value { Result { try body() } }
        do {
            return try result.get()
        } catch let error as StoreError {
            throw Fault(error)
        }
    }
}
