/// The table that exists while a copy into the database is not finished.
enum CopyTable {
    static let isThere = "SELECT to_regclass('signalbox.copy') IS NOT NULL"
}
