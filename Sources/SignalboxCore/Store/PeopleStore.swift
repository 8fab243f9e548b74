/// What a store knows about one user, apart from devices and dead letters: for a request to see or erase it.
///
/// An empty app means all apps. A call looks at a part, so that other work does not wait.
public protocol PeopleStore: Sendable {
    /// The user's badge counters.
    func badges(of user: UserKey) async throws -> [UserKey: Int32]
    /// Looks for unsettled deliveries to the user, leased or not, in a part of the queue.
    ///
    /// `after`: where the previous part ended; empty for the first. A delivery that moves meanwhile may be found twice.
    func waiting(of user: UserKey, after place: String) async throws -> WaitingPart
    /// Changes rows of history that one step of a search finds: nil removes a row, the same row stays as it is.
    ///
    /// Returns where the next step continues; nil if there is nothing older.
    func changeHistory(
        _ search: HistorySearch, _ change: @escaping @Sendable (HistoryRow) -> HistoryRow?
    ) async throws -> UInt64?
}

/// Deliveries that were found in a part of the queue.
public struct WaitingPart: Sendable {
    /// The deliveries.
    public var found: [StoredDelivery]
    /// Where the next part begins; nil if this was the last.
    public var next: String?

    /// Makes a part.
    public init(found: [StoredDelivery] = [], next: String? = nil) {
        self.found = found
        self.next = next
    }
}

extension UserKey {
    /// Whether a device is this user's; an empty app means any app.
    public func owns(_ device: Device) -> Bool {
        device.user.hasSameBytes(as: user) && (app.isEmpty || device.app == app)
    }
}
