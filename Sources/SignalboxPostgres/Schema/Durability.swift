/// What the database's settings mean for events that were answered 2xx.
extension Opening {
    func durability() throws(PostgresFault) -> [PostgresNotice] {
        var out: [PostgresNotice] = []
        for (name, fix) in [
            ("fsync", "turn it on"), ("full_page_writes", "turn it on"),
            ("synchronous_commit", "ALTER ROLE or ALTER DATABASE ... SET synchronous_commit = on"),
        ] {
            guard let value = try setting(name), value == "off" || value == "local" else {
                continue
            }
            out.append(
                .warning(
                    "the database \(place) has \(name) = \(value): events that were answered can be lost "
                        + "when it fails; \(fix)"))
        }
        guard let names = try setting("synchronous_standby_names"), let standbys = try standbys()
        else { return out }
        switch (names.isEmpty, standbys.all, standbys.synchronous) {
        case (true, 0, _):
            out.append(
                .info(
                    "the database \(place) has no standby: what was answered is safe as long as its disk is"
                ))
        case (true, _, _):
            out.append(
                .warning(
                    "the database \(place) has \(standbys.all) standbys, and none is synchronous: when one takes "
                        + "over, events that were answered can be lost; set synchronous_standby_names"
                ))
        case (false, 0, _):
            out.append(
                .warning(
                    "the database \(place) has synchronous_standby_names = \(names), and no standby is connected: "
                        + "no event is stored until one is"))
        case (false, _, 0):
            out.append(
                .warning(
                    "the database \(place) has synchronous_standby_names = \(names), and none of its "
                        + "\(standbys.all) standbys is one of these: no event is stored until one is"
                ))
        default: break
        }
        return out
    }

    /// Nil: this database has no such setting.
    private func setting(_ name: String) throws(PostgresFault) -> String? {
        try optional("SELECT current_setting('\(name)')")?.text(0, 0)
    }

    /// Nil: this user may not know. Whoever may not sees the rows of others without their contents.
    private func standbys() throws(PostgresFault) -> (all: Int64, synchronous: Int64)? {
        let rows = try optional(
            """
            SELECT count(*), count(*) FILTER (WHERE sync_state IN ('sync', 'quorum')),
              count(*) FILTER (WHERE sync_state IS NULL) FROM pg_stat_replication
            """)
        guard let rows, rows.number(0, 2) == 0 else { return nil }
        return (rows.number(0, 0), rows.number(0, 1))
    }

    private func optional(_ sql: String) throws(PostgresFault) -> Rows? {
        do throws(PostgresFault) {
            return try run(sql)
        } catch {
            guard error.kind == .refused else { throw error }
            return nil
        }
    }
}
