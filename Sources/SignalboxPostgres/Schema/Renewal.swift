/// A gateway that was fenced and goes on.
extension Opening {
    /// On a connection that exists.
    init(_ link: PostgresLink, _ options: PostgresOptions) {
        self.link = link
        place = options.address.place
        steps = SchemaSteps.all
        locks = LockWait(maxMs: 0)
    }

    /// Begins another life, unless a gateway of this name has shown itself lately; nil then.
    func renew(_ owner: String, _ version: String) throws(PostgresFault) -> Life? {
        var values = Parameters()
        values.add(owner)
        let living = try run(
            """
            SELECT 1 FROM signalbox.gateway WHERE name = $1::text
              AND \(ClockSQL.isLive)
            """, values)
        guard living.count == 0 else { return nil }
        return try retrying { () throws(PostgresFault) in try start(owner, version).0 }
    }
}
