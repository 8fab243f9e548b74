internal import SignalboxGateway

extension Gateway {
    /// Applies the current configuration file, or `text` if given.
    ///
    /// Unchanged parts keep running. If the configuration has a fault, this throws and nothing changes. Reloads run one
    /// at a time; each returns when the replaced instances have ended.
    @discardableResult
    public func reload(text: String? = nil) async throws -> ReloadReport {
        try await reloader.reload(text: text, by: "program")
    }

    /// What a reload would change; throws what it would throw, as far as that shows without starting an instance.
    public func reloadCheck(text: String? = nil) async throws -> ReloadReport {
        try await reloader.reload(text: text, isCheck: true)
    }
}
